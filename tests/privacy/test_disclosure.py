"""Everything stored about a person, for their request: what an erasure would find, and nothing of others."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import psycopg
import pytest

from headwater.privacy.disclosure import disclose
from headwater.spaces.spaces import fetch_space
from tests.privacy.shop import Shop, live
from tests.support.canaries import Person, places
from tests.support.factories import Stage
from tests.support.reading_fixtures import Api


@pytest.fixture
def shop(api: Api, stage: Stage, database_url: str) -> Shop:
    return Shop(api, stage, database_url)


def read_lines(shop: Shop, contact_id: int, most: int | None = None) -> list[dict[str, Any]]:
    async def read() -> bytes:
        async with await psycopg.AsyncConnection.connect(shop.url) as connection:
            space = await fetch_space(connection, shop.stage.space_id)
            batches = [lines async for lines in disclose(connection, space, contact_id, most)]
        return b"".join(line for lines in batches for line in lines)

    return [json.loads(line, parse_float=str) for line in asyncio.run(read()).splitlines()]


def test_it_works(shop: Shop) -> None:
    ada, twin = Person(shop.stage), Person(shop.stage)
    live(shop, ada, twin)
    shop.process()
    text = json.dumps(read_lines(shop, ada.contact_id), ensure_ascii=False).lower()
    stored_values = places(shop.stage, [*ada.personal, *ada.kept_values])
    assert {value: columns for value, columns in stored_values.items() if value not in text} == {}
    assert [value for value in (*twin.personal, *twin.kept_values) if value in text] == []


def test_rows_are_readable(shop: Shop) -> None:
    stage = shop.stage
    contact_id = stage.contact(email="ann@ash.example", profile_field_1="Pro")
    stage.label_field("profile_field_1", "Plan")
    stage.touchpoint(contact_id, "google_ads", source_rule="gclid", campaign_name="Spring")
    stage.event(contact_id, amount="123456789012345.67", order_id="A-1")
    space, contact, event, touchpoint = read_lines(shop, contact_id)
    assert space["labels"]["profile_fields"] == {"profile_field_1": "Plan"}
    assert (contact["record"], contact["profile_field_1"]) == ("contact", "Pro")
    assert (touchpoint["source"], touchpoint["campaign_name"]) == ("google_ads", "Spring")
    assert (event["order_id"], event["amount"]) == ("A-1", "123456789012345.6700")
    assert None not in contact.values()


def test_a_record_is_no_column(shop: Shop) -> None:
    contact_id = shop.stage.contact()
    shop.stage.identifier(contact_id, "email", "ann@ash.example")
    (identifier,) = [line for line in read_lines(shop, contact_id) if line["record"] == "identifier"]
    assert identifier["kind"] == "email"


def test_others_are_left_out(shop: Shop) -> None:
    contact_id, other_id = shop.stage.contact(), shop.stage.contact()
    for owner in (contact_id, other_id):
        shop.stage.event(owner)
        shop.stage.hit(owner, shop.stage.visit(owner))
    ids = {line.get("contact_id", contact_id) for line in read_lines(shop, contact_id)}
    assert ids == {contact_id}


def test_a_limit_is_for_each_record(shop: Shop) -> None:
    contact_id = shop.stage.contact()
    for _ in range(3):
        shop.stage.event(contact_id)
        shop.stage.touchpoint(contact_id, "direct")
    records = [line["record"] for line in read_lines(shop, contact_id, 2)]
    assert records == ["space", "contact", "event", "event", "touchpoint", "touchpoint"]


def test_merges_say_why_contacts_are_one(shop: Shop) -> None:
    """Not one that was undone: the other contact is another person."""
    stage = shop.stage
    contact_id, other_id = stage.contact(), stage.contact()
    merged_id = stage.contact(merged_into=contact_id)
    for merged, undone_at in ((merged_id, None), (other_id, "2026-05-01")):
        stage.connection.execute(
            "INSERT INTO merges (space_id, merged_id, survivor_id, cause, undone_at)"
            " VALUES (%s, %s, %s, 'tracking_id', %s)",
            (stage.space_id, merged, contact_id, undone_at),
        )
    (merge,) = [line for line in read_lines(shop, merged_id) if line["record"] == "merge"]
    assert (merge["merged_id"], merge["survivor_id"], merge["cause"]) == (
        merged_id,
        contact_id,
        "tracking_id",
    )
