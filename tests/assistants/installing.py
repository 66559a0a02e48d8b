"""Puts the shop into a Space by the product's own pipeline, and makes an assistant's token for it."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from typing import Any

import psycopg

from headwater.assistants.mcp.context import CALLING
from tests.assistants.shop import AD_NAMES, COMPANIES, FIELD_LABELS, LABELS, Sale, Shop, Visit
from tests.support.pipeline import Accepted, Stage, event, hit, new_stage, touch

MINUTE = timedelta(minutes=1)


def install(connection: psycopg.Connection, shop: Shop) -> Stage:
    """Return a new Space with the whole shop in it."""
    stage = new_stage(
        connection, timezone="Europe/Berlin", currency="EUR", company_identity_mode="external_id"
    )
    for table, column, names in (
        ("event_labels", "event_name", LABELS), ("field_labels", "field", FIELD_LABELS),
    ):  # fmt: skip
        for name, label in names.items():
            connection.execute(
                f"INSERT INTO {table} (space_id, {column}, label) VALUES (%s, %s, %s)",
                (stage.space_id, name, label),
            )
    for (kind, identity), name in AD_NAMES.items():
        connection.execute(
            "INSERT INTO ad_names (space_id, kind, id, name) VALUES (%s, %s, %s, %s)",
            (stage.space_id, kind, identity, name),
        )
    stage.put(*list_items(shop))
    result = stage.process()
    assert (result.rejected, result.duplicates, result.merges) == (0, 0, 0)
    return stage


def list_items(shop: Shop) -> list[Accepted]:
    """Return the items that the shop sends, in order of time."""
    timed = [(visit.time, _visit(visit)) for visit in shop.visits]
    timed += [(sale.time, _sale(sale, index)) for index, sale in enumerate(shop.sales)]
    person_numbers: set[int] = set()
    for visit in shop.visits:
        if visit.person.country is not None and visit.person.number not in person_numbers:
            # A page view right after the visit's start gives the country, and belongs to the same visit.
            person_numbers.add(visit.person.number)
            timed.append((visit.time + MINUTE, _hit(visit)))
    timed.sort(key=lambda pair: pair[0])
    return [item for _, item in timed]


def _ms(moment: Any) -> int:
    return round(moment.timestamp() * 1000)


def _visit(visit: Visit) -> Accepted:
    tags = {name: value for name in TAG_NAMES if (value := getattr(visit.tags, name)) is not None}
    return touch(
        email=visit.person.email, trk_token=visit.person.token, occurred_at=_ms(visit.time),
        source=visit.source, url=visit.url, **tags,
    )  # fmt: skip


TAG_NAMES = (
    "campaign_id", "campaign_name", "adset_id", "adset_name", "ad_id", "ad_name", "keyword",
)  # fmt: skip


def _hit(visit: Visit) -> Accepted:
    return hit(
        trk_token=visit.person.token, occurred_at=_ms(visit.time + MINUTE),
        url="https://pine.example/", country=visit.person.country,
    )  # fmt: skip


def _sale(sale: Sale, index: int) -> Accepted:
    person = sale.person
    values: dict[str, Any] = {"email": person.email, "full_name": person.name}
    if person.company is not None:
        name = COMPANIES[person.company]
        values |= {"company_external_id": name.split()[0].lower(), "company_name": name}
        values["profile_fields"] = {1: str(person.plan), 16: str(person.seats)}
    return event(
        **values, event_name=sale.name, event_time=_ms(sale.time), idempotency_key=f"sale-{index}",
        amount=None if sale.amount is None else str(sale.amount),
        is_upsell=sale.name == "upsell_purchase",
    )  # fmt: skip


def make_token(connection: psycopg.Connection, space_id: int) -> str:
    """Return a token for an assistant of the Space's owner, without a practical rate limit."""
    connection.execute(
        "INSERT INTO space_limits (space_id, bucket, per_minute) VALUES (%s, %s, 1000000)",
        (space_id, CALLING.bucket),
    )
    row = connection.execute(
        "INSERT INTO users (email) VALUES (%s) RETURNING id", (f"{secrets.token_hex(6)}@people.example",)
    ).fetchone()
    assert row is not None
    connection.execute(
        "INSERT INTO memberships (space_id, user_id, role) VALUES (%s, %s, 'owner')", (space_id, row[0])
    )
    token = "trk_mcp_" + secrets.token_urlsafe(32)
    connection.execute(
        "INSERT INTO mcp_tokens (space_id, user_id, kind, name, token_hash, hint)"
        " VALUES (%s, %s, 'personal', 'questions', %s, %s)",
        (space_id, row[0], hashlib.sha256(token.encode()).digest(), token[-4:]),
    )
    return token
