"""List and replay deliveries."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import AsyncConnection, Connection
from psycopg.sql import SQL, Composable

from headwater.database.queries import Queries, fetch_all, fetch_one, fetch_optional
from headwater.forwarding.deliveries.answers import ReplayResult
from headwater.forwarding.deliveries.reasons import VERDICT_REASONS
from headwater.forwarding.destinations.destinations import fetch_destination
from headwater.forwarding.platforms import registry
from headwater.forwarding.platforms.models import SkipReason
from headwater.http.errors import require_any, require_found
from headwater.http.inputs.pagination import Page, Position, make_page, to_key

queries = Queries(__name__, "delivery_log.sql")
_FETCH = queries["fetch"].format(columns=queries["columns"])

FINISHED = ("failed", "refused", "expired", "skipped")
"""Statuses that can be replayed."""
NEVER_AGAIN = (SkipReason.DO_NOT_CAPI, SkipReason.DELETED, SkipReason.ERASED)
"""Skip reasons that no change of settings removes."""
REPLAYABLE = (*(str(reason) for reason in SkipReason if reason not in NEVER_AGAIN), *VERDICT_REASONS)
MOST_REPLAYED = 10_000
"""Per request."""
NOT_QUEUED = "not_queued"
"""The status of an event without a delivery, such as one from before the destination."""
POLL_SECONDS = 0.05

_NEWEST_FIRST, _OLDEST_FIRST = SQL("DESC"), SQL("ASC")
_BEYOND_ALL = 2**63 - 1
_CONDITIONS = {
    "destination_id": SQL("d.destination_id = %(destination_id)s"),
    "event_id": SQL("d.event_id = %(event_id)s"),
    "status": SQL("d.status = %(status)s"),
    "reason": SQL("d.reason = %(reason)s"),
    "platform": SQL(
        "d.destination_id IN (SELECT t.id FROM destinations t"
        " WHERE t.space_id = %(space_id)s AND t.platform = %(platform)s)"
    ),
    "start": SQL("d.created_at >= %(start)s"),
    "end": SQL("d.created_at < %(end)s"),
    "first_id": SQL("d.id >= %(first_id)s"),
    "last_id": SQL("d.id <= %(last_id)s"),
}
_AND = SQL(" AND ")


@dataclass(frozen=True)
class DeliveryFilter:
    """None means no condition."""

    destination_id: int | None = None
    event_id: int | None = None
    status: str | None = None
    reason: str | None = None
    platform: str | None = None
    start: datetime | None = None
    end: datetime | None = None
    """The creation period; `end` is exclusive."""
    first_id: int | None = None
    last_id: int | None = None
    """Bounds from `delivery_counts.find_span`."""

    def conditions(self) -> Composable:
        conditions = [text for name, text in _CONDITIONS.items() if getattr(self, name) is not None]
        return _AND.join(conditions) if conditions else SQL("true")


@dataclass(frozen=True)
class ReplayRequest:
    """The finished deliveries to send again."""

    statuses: tuple[str, ...] = ("failed", "refused", "expired")
    """Some of FINISHED."""
    reasons: tuple[str, ...] = REPLAYABLE
    """Reasons of skipped and refused ones to include; some of REPLAYABLE."""
    ids: tuple[int, ...] | None = None
    """None for all."""

    def conditions(self) -> Composable:
        conditions = [
            SQL("d.status = ANY(%(statuses)s)"),
            SQL("(d.status NOT IN ('skipped', 'refused') OR d.reason = ANY(%(reasons)s))"),
        ]
        if self.ids is not None:
            conditions.append(SQL("d.id = ANY(%(ids)s)"))
        return _AND.join(conditions)


async def list_deliveries(
    connection: AsyncConnection,
    space_id: int,
    delivery_filter: DeliveryFilter,
    per_page: int,
    position: Position | None,
) -> Page:
    """Return the newest first."""
    is_backward = position is not None and position.backward
    bound: dict[str, Any] = {"space_id": space_id, "limit": per_page + 1, **vars(delivery_filter)}
    bound |= {"after": position.key[0] if position and is_backward else 0}
    bound |= {"before": position.key[0] if position and not is_backward else _BEYOND_ALL}
    statement = queries["page"].format(
        columns=queries["columns"],
        only=delivery_filter.conditions(),
        order=_OLDEST_FIRST if is_backward else _NEWEST_FIRST,
    )
    # A generic plan, without limit and rare values, may not stop early.
    cursor = await connection.execute(statement, bound, prepare=False)
    return make_page(await cursor.fetchall(), per_page, position, to_key)


async def count_deliveries(
    connection: AsyncConnection, space_id: int, delivery_filter: DeliveryFilter, limit: int
) -> dict[str, int]:
    """Count at most the latest `limit`."""
    statement = queries["count"].format(only=delivery_filter.conditions())
    bound = {"space_id": space_id, "most": limit, **vars(delivery_filter)}
    cursor = await connection.execute(statement, bound, prepare=False)
    return dict(await cursor.fetchall())


async def count_by_status(
    connection: AsyncConnection, space_id: int, platform: str, event_ids: Sequence[int]
) -> dict[str, int]:
    """Count events by the status of their best delivery to a platform, NOT_QUEUED without one."""
    values = {"space_id": space_id, "platform": platform, "event_ids": list(event_ids)}
    counts = dict(await fetch_all(connection, queries["count_by_status"], values))
    missing_count = len(event_ids) - sum(counts.values())
    return counts | ({NOT_QUEUED: missing_count} if missing_count else {})


async def list_event_deliveries(connection: AsyncConnection, space_id: int, event_id: int) -> list[str]:
    """Return JSON. Raises NotFound if the event never existed."""
    values = {"space_id": space_id, "event_id": event_id}
    row = await fetch_one(connection, queries["knows_event"], values)
    require_any(row[0], "Event")
    event_filter = DeliveryFilter(event_id=event_id)
    return (await list_deliveries(connection, space_id, event_filter, _BEYOND_ALL - 1, None)).lines


async def fetch_delivery(connection: AsyncConnection, space_id: int, delivery_id: int) -> str:
    """Return JSON with the attempts. Raises NotFound."""
    values = {"space_id": space_id, "delivery_id": delivery_id}
    return require_found(await fetch_optional(connection, _FETCH, values), "Delivery")[0]


async def replay(
    connection: AsyncConnection, space_id: int, destination_id: int, request: ReplayRequest
) -> ReplayResult:
    """Requeue up to MOST_REPLAYED finished deliveries, same ids. Eligibility is decided again. Raises
    NotFound.
    """
    destination = await fetch_destination(connection, space_id, destination_id)
    age = registry.PLATFORMS[destination.platform].limits.age
    bound: dict[str, Any] = {
        "space_id": space_id,
        "destination_id": destination_id,
        "age": age,
        "limit": MOST_REPLAYED,
        "statuses": list(request.statuses),
        "reasons": list(request.reasons),
        "ids": None if request.ids is None else list(request.ids),
    }
    conditions = request.conditions()
    (too_old,) = await fetch_one(connection, queries["too_old"].format(only=conditions), bound)
    replayed = await connection.execute(queries["replay"].format(only=conditions), bound)
    return ReplayResult(replayed.rowcount, too_old, more=replayed.rowcount == MOST_REPLAYED)


def wait_until_sent(connection: Connection[Any], space_id: int, timeout: float) -> bool:
    """Wait up to `timeout` seconds. Return whether nothing is due at active destinations. Needs an autocommit
    connection.
    """
    deadline = time.monotonic() + timeout
    while True:
        row = connection.execute(queries["any_due"], {"space_id": space_id}).fetchone()
        if row is not None and not row[0]:
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_SECONDS)
