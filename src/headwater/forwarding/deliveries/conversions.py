"""Load events, current data of the person, and the credited click."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec
from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import dict_row
from psycopg.sql import SQL

from headwater.attribution.query import Attribution, credited_rows
from headwater.database.queries import Queries, fetch_all
from headwater.forwarding.deliveries.corrections import load_corrections
from headwater.forwarding.deliveries.credits import load_credits
from headwater.forwarding.deliveries.eligibility import PendingDelivery
from headwater.forwarding.deliveries.id_forms import can_be, click_ids, sendable
from headwater.forwarding.deliveries.outbox import make_dedup_id
from headwater.forwarding.platforms.identifiers import read_phone
from headwater.forwarding.platforms.models import AdConsent, Click, Conversion, ConvertedPerson, FirstAttempt
from headwater.people.contacts.names import split_name
from headwater.sources.catalogue import PAID_IDS, listed_name

queries = Queries(__name__, "conversions.sql")

CREDIT = Attribution("last_platform_touch", 30, tuple(PAID_IDS))
"""The last paid touch in the 30 days before the event."""

_CLICKS = queries["clicks"].format(credited=credited_rows(CREDIT, SQL("e.id = ANY(%(event_ids)s::bigint[])")))


async def load_waiting(
    connection: AsyncConnection, space_id: int, destination_id: int, ids: Collection[int]
) -> list[PendingDelivery]:
    """Return those still waiting, in two round trips; corrections, credit and repetitions need up to three
    more.
    """
    values = {"space_id": space_id, "destination_id": destination_id, "ids": list(ids)}
    return await _load(connection, queries["waiting"], values)


async def load_events(
    connection: AsyncConnection, space_id: int, destination_id: int, event_ids: Collection[int]
) -> list[PendingDelivery]:
    """Return events as if they were queued now, by event id. Missing ones are left out."""
    values = {"space_id": space_id, "destination_id": destination_id, "ids": list(event_ids)}
    return await _load(connection, queries["imagined"], values)


async def _load(
    connection: AsyncConnection, deliveries: SQL, values: dict[str, Any]
) -> list[PendingDelivery]:
    cursor, space_id = connection.cursor(row_factory=dict_row), values["space_id"]
    rows = await fetch_all(cursor, queries["pending"].format(deliveries=deliveries), values)
    for row in rows:
        row["dedup_id"] = row["dedup_id"] or make_dedup_id(space_id, row["event_id"])
    pending = [_make_pending(row) for row in rows]
    event_rows = [row for row in rows if row["event_id"] is not None]
    events = {row["event_id"]: row["id"] for row in event_rows if _is_undecided(row)}
    sent_touches = {row["id"]: row["touchpoint_id"] for row in event_rows if not _is_undecided(row)}
    later_ids = [row["id"] for row in event_rows if row["kind"] != "conversion"]
    clicks: dict[int, Click] = {}
    if events:
        credited = await _load_clicks(connection, space_id, list(events))
        clicks |= {events[event_id]: click for event_id, click in credited.items()}
    if sent_touches:
        sent_clicks = await _load_sent_clicks(connection, space_id, sent_touches.values())
        clicks |= {
            number: sent_clicks[touch] for number, touch in sent_touches.items() if touch in sent_clicks
        }
    if not later_ids:
        return [_add_click(delivery, clicks) for delivery in pending]
    corrections = await load_corrections(connection, space_id, later_ids)
    model_credits = await load_credits(connection, space_id, later_ids)
    return [
        msgspec.structs.replace(
            _add_click(delivery, clicks),
            correction=corrections.get(delivery.id),
            credit=model_credits.get(delivery.id),
        )
        for delivery in pending
    ]


def _is_undecided(row: Mapping[str, Any]) -> bool:
    """Whether the click is the one that is credited now."""
    return row["kind"] == "conversion" and row["first_attempt"] is None


def _add_click(delivery: PendingDelivery, clicks: Mapping[int, Click]) -> PendingDelivery:
    """Return the delivery with its click, if it has one."""
    click, conversion = clicks.get(delivery.id), delivery.conversion
    if click is None or conversion is None:
        return delivery
    return msgspec.structs.replace(delivery, conversion=msgspec.structs.replace(conversion, click=click))


async def _load_clicks(connection: AsyncConnection, space_id: int, event_ids: list[int]) -> dict[int, Click]:
    values = {"space_id": space_id, "event_ids": event_ids, **CREDIT.parameters()}
    return await _read_clicks(await connection.execute(_CLICKS, values))


async def _load_sent_clicks(
    connection: AsyncConnection, space_id: int, touchpoint_ids: Iterable[int | None]
) -> dict[int, Click]:
    known_ids = [number for number in touchpoint_ids if number is not None]
    values = {"space_id": space_id, "touchpoint_ids": known_ids}
    return await _read_clicks(await connection.execute(queries["sent_clicks"], values))


async def _read_clicks(cursor: AsyncCursor[tuple[Any, ...]]) -> dict[int, Click]:
    """Return clicks by the number that each row begins with."""
    return {
        number: Click(
            touchpoint_id=touchpoint_id,
            occurred_at=occurred_at,
            source=listed_name(int(source_id)),
            ids=sendable(click_ids(url)),
            cookies=sendable(cookies or {}),
            left_out=_left_out(click_ids(url), cookies or {}),
        )
        async for number, touchpoint_id, occurred_at, source_id, url, cookies in cursor
    }


def _make_pending(row: dict[str, Any]) -> PendingDelivery:
    return PendingDelivery(
        id=row["id"],
        kind=row["kind"],
        attempts=row["attempts"],
        queued_at=row["queued_at"],
        conversion=None if row["event_id"] is None else _make_conversion(row),
        do_not_capi=row["do_not_capi"],
        erased=row["erased"],
        first_attempt=msgspec.json.decode(row["first_attempt"] or "null", type=FirstAttempt | None),
    )


def _make_conversion(row: dict[str, Any]) -> Conversion:
    return Conversion(
        event_id=row["event_id"],
        dedup_id=row["dedup_id"],
        event_name=row["event_name"],
        configured_name=row["configured_name"],
        event_time=row["event_time"],
        person=_make_person(row),
        amount=row["amount"],
        currency=row["currency"],
        order_id=row["order_id"],
        url=row["url"],
        ip=row["ip"],
        user_agent=row["user_agent"],
        consent=AdConsent(row["ad_user_data"], row["ad_personalization"]),
        cookies=sendable(row["cookies"] or {}),
        url_click_ids=sendable(click_ids(row["url"])),
        left_out=_left_out(click_ids(row["url"]), row["cookies"] or {}),
    )


def _make_person(row: dict[str, Any]) -> ConvertedPerson:
    phone, country = row["phone"], row["country"]
    first_name, last_name = row["first_name"], row["last_name"]
    if first_name is None and last_name is None and row["name"]:
        first_name, last_name = split_name(row["name"])
    return ConvertedPerson(
        email=row["email"],
        phone=read_phone(phone, row["phone_region"]) if phone else None,
        first_name=first_name,
        last_name=last_name,
        external_id=row["external_id"],
        city=row["city"],
        state=row["state"],
        country=country if country and len(country) == 2 else None,
    )


def _left_out(*groups: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(value for group in groups for name, value in group.items() if not can_be(name, value))
