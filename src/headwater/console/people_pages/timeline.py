"""Timelines, newest first. A page's cost is bounded by its length, not the timeline's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from msgspec import Struct
from psycopg import AsyncConnection
from psycopg.rows import dict_row
from psycopg.sql import SQL, Identifier

from headwater.console.people_pages.credits import ad_levels, exclusions_in
from headwater.database.queries import Queries, fetch_all
from headwater.events.space_amounts import show_amounts
from headwater.http.inputs.pagination import Page, Position, from_key, make_page, to_key
from headwater.http.inputs.timerange import EVER
from headwater.intake.merging.merge_log import CAUSES
from headwater.sources.exclusions import Exclusions
from headwater.sources.reasons import explain_rule, list_findings
from headwater.sources.titles import format_title
from headwater.spaces.models import Space

queries = Queries(__name__, "timeline.sql")

PER_PAGE = 50
MOST_MEMBERS = 1000
"""Maximum merged contacts whose merges are listed."""

_NEWEST_FIRST, _OLDEST_FIRST = SQL("DESC"), SQL("ASC")
_UNION = SQL(" UNION ALL ")
_BEYOND_ALL = 2**63 - 1
_RANKS = range(4)
"""Ranks of items at the same time: touchpoints, page views, merges, events."""
_OF_CONTACT = ("events", "merges", "page_views", "touchpoints")
_OF_COMPANY = ("events", "touchpoints")


class Timeline(Struct, frozen=True):
    items: list[dict[str, Any]]
    """Items with `kind, at` and the fields of their kind. Consecutive page views of a visit are one item of
    kind `visit`.
    """
    next: Position | None
    previous: Position | None


async def list_contact_timeline(
    connection: AsyncConnection, space: Space, contact_id: int, position: Position | None
) -> Timeline:
    """Include deliveries to ad platforms."""
    values = {"space_id": space.id, "contact_id": contact_id, "most": MOST_MEMBERS}
    members = [row[0] for row in await fetch_all(connection, queries["members"], values)]
    bound = {
        "space_id": space.id,
        "owner_id": contact_id,
        "members": members,
        "source_names": list(space.sources.by_number),
    }
    page = await _page(connection, _OF_CONTACT, "contact_id", bound, position)
    return await _timeline(connection, space, page)


async def list_company_timeline(
    connection: AsyncConnection, space: Space, company_id: int, position: Position | None
) -> Timeline:
    bound = {"space_id": space.id, "owner_id": company_id, "source_names": list(space.sources.by_number)}
    page = await _page(connection, _OF_COMPANY, "company_id", bound, position)
    return await _timeline(connection, space, page)


async def _page(
    connection: AsyncConnection,
    parts: Sequence[str],
    owner: str,
    bound: Mapping[str, Any],
    position: Position | None,
) -> Page:
    order = _OLDEST_FIRST if position is not None and position.backward else _NEWEST_FIRST
    selects = [queries[row].format(owner=Identifier(owner), order=order) for row in parts]
    union = _UNION.join(SQL("({})").format(select) for select in selects)
    values = {**bound, **_places(position), "limit": PER_PAGE + 1}
    # Not prepared: a generic plan, without the limit and position, may not stop early.
    cursor = await connection.execute(queries["page"].format(parts=union, order=order), values, prepare=False)
    return make_page(await cursor.fetchall(), PER_PAGE, position, to_key)


def _places(position: Position | None) -> dict[str, Any]:
    """Return parameters that bound a page in (time, rank, id) order. At the position's time they select items
    of its rank beyond its id, and all or no items of other ranks.
    """
    values: dict[str, Any] = {"after_time": EVER.start, "before_time": EVER.end}
    for rank in _RANKS:
        values |= {f"after_{rank}": 0, f"before_{rank}": 0}
    if position is None:
        return values
    moment, own_rank, number = from_key(position.key[:1])[0], position.key[1], position.key[2]
    side = "after" if position.backward else "before"
    values[f"{side}_time"] = moment
    for rank in _RANKS:
        other_rank = _BEYOND_ALL if rank < own_rank else 0
        values[f"{side}_{rank}"] = number if rank == own_rank else other_rank
    return values


async def _timeline(connection: AsyncConnection, space: Space, page: Page) -> Timeline:
    items: list[dict[str, Any]] = []
    exclusions = exclusions_in(space)
    for line in page.lines:
        item = json.loads(line)
        _READERS[item["kind"]](item, exclusions)
        last = items[-1] if items else None
        if item["kind"] != "page_view":
            items.append(item)
        elif last is not None and last["kind"] == "visit" and last["id"] == item["visit_id"]:
            last["page_views"].append(item)
        else:
            items.append(_visit(item))
    events = {item["id"]: item for item in items if item["kind"] == "event"}
    if events:
        await _add_amounts(connection, space.id, events)
        await _add_deliveries(connection, space.id, events)
    return Timeline(items, page.next, page.previous)


def _visit(page_view: dict[str, Any]) -> dict[str, Any]:
    return {
        "kind": "visit",
        "id": page_view["visit_id"],
        "at": page_view["at"],
        "page_views": [page_view],
        "device": ", ".join(
            page_view[name] for name in ("browser", "os", "device_type", "country") if page_view[name]
        ),
    }


def _read_event(item: dict[str, Any], _: Exclusions) -> None:
    item["amount"] = None if item["amount"] is None else Decimal(item["amount"])
    item["deliveries"] = []


def _read_touchpoint(item: dict[str, Any], exclusions: Exclusions) -> None:
    item["title"] = format_title(item["source"])
    rule, url, referrer = item["source_rule"], item["url"], item["referrer_host"]
    item["reason"] = explain_rule(rule, url, referrer)
    item["findings"] = list_findings(url, referrer, exclusions) if rule == "direct" else []
    item["ad"] = ad_levels(item)


def _read_merge(item: dict[str, Any], _: Exclusions) -> None:
    item["why"] = CAUSES.get(item["cause"], item["cause"])


def _read_page_view(_item: dict[str, Any], _: Exclusions) -> None:
    """Leave a page view unchanged."""


_READERS = {
    "event": _read_event,
    "touchpoint": _read_touchpoint,
    "merge": _read_merge,
    "page_view": _read_page_view,
}


async def _add_amounts(
    connection: AsyncConnection, space_id: int, events: Mapping[int, dict[str, Any]]
) -> None:
    amounts = await show_amounts(connection, space_id, list(events))
    for event_id, item in events.items():
        item.update(amounts[event_id]._asdict())


async def _add_deliveries(
    connection: AsyncConnection, space_id: int, events: Mapping[int, dict[str, Any]]
) -> None:
    values = {"space_id": space_id, "event_ids": list(events)}
    cursor = connection.cursor(row_factory=dict_row)
    for row in await fetch_all(cursor, queries["deliveries"], values):
        events[row["event_id"]]["deliveries"].append(row)
