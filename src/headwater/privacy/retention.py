"""Delete what a Space keeps for a limited time: contacts without conversions, requests to ad platforms, logs.
Page views are deleted beside them (events/browsing/old_views.py).

A pass a day over each kind, in batches under the Space's lock. A batch and the progress of its pass are one
transaction, so a killed worker continues where it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

import structlog
from psycopg import Connection
from psycopg.errors import QueryCanceled
from psycopg.sql import Identifier

from headwater.attribution.history.revisions import DRAW_REVISION, ChangeCause, keep_events, keep_touchpoints
from headwater.attribution.paths.changes import note_events
from headwater.base.failpoints import failpoint
from headwater.database.jobs.connection import TRANSIENT_ERRORS
from headwater.database.jobs.duties import Duty
from headwater.database.queries import Queries, fetch_row
from headwater.events.accepted import STEP_EVENTS
from headwater.events.browsing.old_views import expired_rows
from headwater.privacy.scrub import delete_tag_sets, fill_in_personal_columns
from headwater.privacy.scrub import queries as scrub_queries
from headwater.spaces.locks import try_lock

queries = Queries(__name__, "retention.sql")

POLL_SECONDS = 600.0
"""Between polls for due Spaces. A locked Space waits for the next poll."""
PASS_INTERVAL = timedelta(days=1)
BATCH_ROWS = 500
"""Small because the Space is locked meanwhile."""
TURN_SECONDS = 0.05
STATEMENT_TIMEOUT = "20s"

log = structlog.get_logger()


class RetentionKind(StrEnum):
    CONTACTS = "contacts"
    DELIVERIES = "deliveries"
    LOGS = "logs"


class _Pass(NamedTuple):
    """The next batch of a pass. `before` is the time before which rows are deleted."""

    kind: RetentionKind
    after_id: int
    before: datetime


class _Result(NamedTuple):
    rows: int
    """Deleted or cleared."""
    after_id: int
    """The last row that was read; 0 at the end of the pass."""


def make_retention_duty(seconds: float = POLL_SECONDS) -> Duty:

    def attend(connection: Connection[Any], space_id: int) -> bool:
        try:
            return delete_expired(connection, space_id)
        except TRANSIENT_ERRORS:
            raise
        except Exception as error:  # noqa: BLE001 - stored data must not stop the worker
            log.warning("expired rows left alone", space_id=space_id, error=type(error).__name__)
            return False

    return Duty(_find_due_spaces, attend, TURN_SECONDS, seconds, "retention")


def _find_due_spaces(connection: Connection[Any]) -> list[int]:
    """Return Spaces with a setting and without a pass of each kind today; kinds without a setting count as
    done once the Space was attended.
    """
    spaces = {space_id for (space_id,) in connection.execute(queries["spaces_with_settings"])}
    if not spaces:
        return []
    current_time = datetime.now(UTC)
    values = {"since": current_time - PASS_INTERVAL, "now": current_time}
    ended_kinds: dict[int, set[str]] = {}
    for space_id, kind in connection.execute(queries["ended_passes"], values):
        ended_kinds.setdefault(space_id, set()).add(kind)
    return [
        space_id for space_id in sorted(spaces) if len(ended_kinds.get(space_id, ())) < len(RetentionKind)
    ]


def delete_expired(
    connection: Connection[Any], space_id: int, limit: int = BATCH_ROWS, current_time: datetime | None = None
) -> bool:
    """Process one batch. Return whether more may be left; False if the Space is locked.

    Needs an autocommit connection.
    """
    moment = current_time or datetime.now(UTC)
    with connection.transaction():
        connection.execute(queries["bound_statements"], {"patience": STATEMENT_TIMEOUT})
        if not try_lock(connection, space_id):
            return False
        due_pass = _find_due_pass(connection, space_id, moment)
        if due_pass is None:
            return False
        values = {
            "space_id": space_id,
            "after_id": due_pass.after_id,
            "before": due_pass.before,
            "most": limit,
        }
        result = _DELETIONS[due_pass.kind](connection, values)
        progress = {
            "kind": due_pass.kind,
            "after_id": result.after_id,
            "deleted_before": due_pass.before if result.rows else None,
            "ended_at": None if result.after_id else moment,
        }
        connection.execute(queries["note"], {"space_id": space_id, **progress})
        failpoint("retention_before_commit")
    if result.rows:
        expired_rows.labels(due_pass.kind).inc(result.rows)
        log.debug("expired rows deleted", space_id=space_id, kind=due_pass.kind, rows=result.rows)
    return True


def _find_due_pass(connection: Connection[Any], space_id: int, moment: datetime) -> _Pass | None:
    """Return the next batch of the first due kind. Passes over kinds without a setting end immediately."""
    row = fetch_row(connection, queries["settings"], {"space_id": space_id})
    *days_by_kind, waiting_since = row
    # Rows in the inbox belong to a time before they are processed.
    as_of = min(moment, waiting_since or moment)
    rows = connection.execute(queries["passes"], {"space_id": space_id}).fetchall()
    passes: Mapping[str, tuple[int, datetime | None]] = {
        kind: (after, ended_at) for kind, after, ended_at in rows
    }
    for kind, days in zip(RetentionKind, days_by_kind, strict=True):
        after_id, ended_at = passes.get(kind, (0, None))
        if ended_at is not None and moment - PASS_INTERVAL < ended_at <= moment:
            continue  # a later end was before the clock was set back
        if days is not None:
            return _Pass(kind, after_id, as_of - timedelta(days=days))
        progress = {"kind": kind, "after_id": 0, "deleted_before": None, "ended_at": moment}
        connection.execute(queries["note"], {"space_id": space_id, **progress})
    return None


def _delete_contacts(connection: Connection[Any], values: dict[str, Any]) -> _Result:
    space_id = values["space_id"]
    values = values | {"steps": list(STEP_EVENTS)}
    walked_rows = connection.execute(queries["walk_contacts"], values).fetchall()
    inactive = {contact_id for contact_id, is_inactive in walked_rows if is_inactive}
    erased_ids: list[int] = []
    if inactive:
        inactive_ids = {"space_id": space_id, "ids": sorted(inactive)}
        for contact_id, is_waiting, has_rows in connection.execute(
            queries["erased"], inactive_ids
        ).fetchall():
            erased_ids.append(contact_id)
            if is_waiting or not has_rows:
                inactive.discard(contact_id)
    if inactive:
        _delete_group(connection, space_id, sorted(inactive), erased_ids)
    if len(walked_rows) == values["most"]:
        return _Result(len(inactive), walked_rows[-1][0])
    _delete_unused_tag_sets(connection, space_id)
    return _Result(len(inactive), 0)


def _delete_unused_tag_sets(connection: Connection[Any], space_id: int) -> None:
    """In a Space that is too large for the time limit they stay, and the pass ends without them."""
    try:
        with connection.transaction():
            unused_rows = connection.execute(queries["unused_tag_sets"], {"space_id": space_id}).fetchall()
            delete_tag_sets(connection, space_id, [tag_set_id for (tag_set_id,) in unused_rows])
    except QueryCanceled:
        log.warning("unused tag sets left alone", space_id=space_id)


def _delete_group(connection: Connection[Any], space_id: int, inactive: list[int], erased: list[int]) -> None:
    """Delete contacts and those merged into them, with everything of them. The keys of their events stay
    duplicates, and reports can explain what has changed.
    """

    def fetch_ids(statement: str, **values: Any) -> list[int]:
        rows = connection.execute(queries[statement], {"space_id": space_id, **values})
        return [row_id for (row_id,) in rows]

    group = fetch_ids("groups", ids=inactive)
    events, touchpoints = fetch_ids("events", group=group), fetch_ids("touchpoints", group=group)
    connection.execute(DRAW_REVISION, {"space_id": space_id})
    keep_events(connection, space_id, events, ChangeCause.DELETIONS)
    keep_touchpoints(connection, space_id, touchpoints, ChangeCause.WITHDRAWN_TOUCHES)
    note_events(connection, space_id, list({*events, *fetch_ids("colleagues_events", group=group)}))
    values = {"space_id": space_id, "group": group, "event_ids": events, "erased": erased}
    for statement in _DELETIONS_OF_GROUP:
        connection.execute(statement, values)
    connection.execute(queries["delete_contacts"], values)


_DELETIONS_OF_GROUP = [
    queries["remember_keys"],
    queries["delete_attempts_of_events"],
    queries["delete_deliveries_of_events"],
    scrub_queries["delete_clicks"],
    *(
        scrub_queries["delete_rows"].format(table=Identifier(table))
        for table in ("events", "touchpoints", "hits", "visits", "unsigned_joins", "contact_identifiers")
    ),
]


def _clear_deliveries(connection: Connection[Any], values: dict[str, Any]) -> _Result:
    """Clear what finished deliveries sent and what was answered. The rows stay: nothing is sent again."""
    walked_rows = connection.execute(queries["walk_deliveries"], values).fetchall()
    old_ids = [delivery_id for delivery_id, is_old in walked_rows if is_old]
    old_deliveries = {"space_id": values["space_id"], "ids": old_ids}
    cleared_count = connection.execute(_CLEAR_DELIVERIES, old_deliveries).rowcount
    connection.execute(queries["delete_attempts"], old_deliveries)
    return _Result(cleared_count, walked_rows[-1][0] if len(walked_rows) == values["most"] else 0)


_CLEAR_DELIVERIES = fill_in_personal_columns(queries["clear_deliveries"], "d", "deliveries")


def _delete_logs(connection: Connection[Any], values: dict[str, Any]) -> _Result:
    """Every statement deletes a batch of its table; the pass ends when none is full."""
    deleted_counts = [connection.execute(statement, values).rowcount for statement in _LOG_DELETIONS]
    is_full = max(deleted_counts) >= values["most"]
    return _Result(sum(deleted_counts), values["after_id"] + 1 if is_full else 0)


_LOG_DELETIONS = [
    queries["delete_ignored_names"],
    queries["delete_site_refusals"],
    *(
        queries["delete_batch"].format(table=Identifier(table), time=Identifier(time))
        for table, time in (
            ("webhook_deliveries", "received_at"),
            ("rejected", "rejected_at"),
            ("alerts", "ended_at"),
        )
    ),
]
_DELETIONS = {
    RetentionKind.CONTACTS: _delete_contacts,
    RetentionKind.DELIVERIES: _clear_deliveries,
    RetentionKind.LOGS: _delete_logs,
}
