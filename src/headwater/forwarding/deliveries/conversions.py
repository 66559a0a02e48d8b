"""Load events, current data of the person, and the credited click."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import dict_row
from psycopg.sql import SQL

from headwater.attribution.query import Attribution, credited_rows
from headwater.database.queries import Queries, fetch_all
from headwater.forwarding.deliveries.eligibility import PendingDelivery
from headwater.forwarding.deliveries.id_forms import can_be, sendable
from headwater.forwarding.deliveries.outbox import make_dedup_id
from headwater.forwarding.platforms.identifiers import read_phone
from headwater.forwarding.platforms.models import AdConsent, Click, Conversion, ConvertedPerson
from headwater.people.contacts.names import split_name
from headwater.sources.catalogue import PAID_IDS, listed_name
from headwater.sources.clicks import CLICK_IDS
from headwater.sources.parameters import read_parameters

queries = Queries(__name__, "conversions.sql")

CREDIT = Attribution("last_platform_touch", 30, tuple(PAID_IDS))
"""The last paid touch in the 30 days before the event."""

_CLICKS = queries["clicks"].format(credited=credited_rows(CREDIT, SQL("e.id = ANY(%(event_ids)s::bigint[])")))


async def load_waiting(
    connection: AsyncConnection, space_id: int, destination_id: int, ids: Collection[int]
) -> list[PendingDelivery]:
    """Return those still waiting, in two round trips."""
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
    cursor = connection.cursor(row_factory=dict_row)
    rows = await fetch_all(cursor, queries["pending"].format(deliveries=deliveries), values)
    event_ids = [row["event_id"] for row in rows if row["event_id"] is not None]
    clicks = await _load_clicks(connection, values["space_id"], event_ids) if event_ids else {}
    for row in rows:
        row["dedup_id"] = row["dedup_id"] or make_dedup_id(values["space_id"], row["event_id"])
    return [_make_pending(row, clicks.get(row["event_id"])) for row in rows]


async def _load_clicks(connection: AsyncConnection, space_id: int, event_ids: list[int]) -> dict[int, Click]:
    values = {"space_id": space_id, "event_ids": event_ids, **CREDIT.parameters()}
    cursor: AsyncCursor[tuple[Any, ...]] = await connection.execute(_CLICKS, values)
    return {
        event_id: Click(
            touchpoint_id=touchpoint_id,
            occurred_at=occurred_at,
            source=listed_name(int(source_id)),
            ids=sendable(click_ids(url)),
            cookies=sendable(cookies or {}),
            left_out=_left_out(click_ids(url), cookies or {}),
        )
        async for event_id, touchpoint_id, occurred_at, source_id, url, cookies in cursor
    }


def _make_pending(row: dict[str, Any], click: Click | None) -> PendingDelivery:
    return PendingDelivery(
        id=row["id"],
        attempts=row["attempts"],
        queued_at=row["queued_at"],
        conversion=None if row["event_id"] is None else _make_conversion(row, click),
        do_not_capi=row["do_not_capi"],
        erased=row["erased"],
    )


def _make_conversion(row: dict[str, Any], click: Click | None) -> Conversion:
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
        click=click,
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


def click_ids(url: str | None) -> dict[str, str]:
    """Return unchanged ids by lower-case parameter."""
    return read_parameters(url, CLICK_IDS, CLICK_IDS) if url else {}
