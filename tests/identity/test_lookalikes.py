"""Identical browsers behind one address (two phones of the same model behind one router) are two people, for
any order of their items. Each purchase is credited to its own buyer's touches.
"""

from __future__ import annotations

import random
from typing import Any

import msgspec
import psycopg

from headwater.people.identity.directory import Directory
from headwater.people.identity.joins import Joins
from headwater.people.identity.resolution import ItemIdentity, identify
from headwater.people.identity.senders import Sender
from headwater.sources.catalogue import SOURCE_IDS
from tests.support.factories import Stage as ApiStage
from tests.support.pipeline import (
    KINDS,
    MINUTE,
    T0,
    Item,
    Sent,
    Stage,
    event,
    hit,
    page,
    person,
    usual_sender,
)
from tests.support.reading_fixtures import Api

ORDERS = 1_000
ADS = {
    "anna": "https://shop.example/?gclid=Click-{}",
    "ben": "https://shop.example/?utm_source=fb&utm_medium=paid&fbclid=Click-{}",
}
SOURCE = {"anna": "google_ads", "ben": "facebook_ads"}


def make_identity(name: str, number: int, time: int, **fields: Any) -> ItemIdentity:
    return ItemIdentity(number, time, time, trk_token=name, fingerprint="f|10.0.0.1", **fields)


def test_it_works() -> None:
    """None of 1,000 random orders of two identical browsers' items merges them."""
    for seed in range(ORDERS):
        items = [
            make_identity(name, number, seed + number, sender=Sender.BROWSER, email=email)
            for name in ("anna", "ben")
            for number, email in enumerate((None, None, f"{name}@b.org", None, f"{name}@b.org"))
        ]
        items += [make_identity(name, 9, 9, email=f"{name}@b.org") for name in ("anna", "ben")]
        random.Random(seed).shuffle(items)
        directory = Directory(0, 0)
        pairs = [(item.trk_token, identify(directory, item, Joins())[0]) for item in items]
        homes = {token: {contact.final() for owner, contact in pairs if owner == token}
                 for token in ("anna", "ben")}  # fmt: skip
        assert [len(home) for home in homes.values()] == [1, 1], seed
        assert not homes["anna"] & homes["ben"], seed


def make_items(name: str, pair: int) -> list[Item | Sent]:
    """Return the items of a visitor who clicks an ad, browses, identifies and buys."""
    browser = {"trk_token": f"{name}-{pair}", "fingerprint": "same", "ip": f"10.0.{pair // 256}."
               f"{pair % 256}"}  # fmt: skip
    email = f"{name}-{pair}@gmail.com"
    return [
        hit(**browser, url=ADS[name].format(pair), occurred_at=T0),
        hit(**browser, url="https://shop.example/cart", referrer="https://shop.example/",
            occurred_at=T0 + MINUTE),
        page(person(**browser, email=email, occurred_at=T0 + 2 * MINUTE)),
        event(email=email, trk_token=browser["trk_token"], amount="100", order_id=f"{name}-{pair}",
              event_time=T0 + 3 * MINUTE),
    ]  # fmt: skip


def put_all(stage: Stage, items: list[Item | Sent]) -> None:
    """Insert all rows in one statement, because there are thousands."""
    entries = [item if isinstance(item, Sent) else Sent(item, None) for item in items]
    stage.connection.execute(
        "INSERT INTO inbox (space_id, kind, sender, received_at, payload)"
        " SELECT %s, kind, sender, now(), payload"
        " FROM unnest(%s::text[], %s::text[], %s::text[]) WITH ORDINALITY"
        " AS given (kind, sender, payload, position) ORDER BY position",
        (
            stage.space_id,
            [KINDS[type(entry.item)] for entry in entries],
            [entry.sender or usual_sender(KINDS[type(entry.item)]) for entry in entries],
            [msgspec.json.encode(entry.item).decode() for entry in entries],
        ),
    )


def test_credit_is_right_in_a_thousand_orders(
    connection: psycopg.Connection, stage: ApiStage, api: Api
) -> None:
    queue, randomly = Stage(connection, stage.space_id), random.Random(7)
    items: list[Item | Sent] = []
    for pair in range(ORDERS):
        pair_items = [*make_items("anna", pair), *make_items("ben", pair)]
        randomly.shuffle(pair_items)
        items += pair_items
    put_all(queue, items)
    queue.process()
    homes = dict(queue.rows("events", "order_id", "contact_id"))
    assert len(homes) == len(set(homes.values())) == 2 * ORDERS
    rows = [
        row
        for source in SOURCE.values()
        for row in api.rows(
            sources=source, attribution_model="linear", attribution_window=30, per_page=1000,
            start_date="2025-01-01 00:00:00", fields=["order_id", "source", "amount"],
        )
    ]  # fmt: skip
    assert len(rows) == 2 * ORDERS
    for row in rows:
        assert row["source"] == SOURCE[row["order_id"].partition("-")[0]]
        assert row["amount"] == 100
    assert {row[0] for row in queue.rows("touchpoints", "source_id")} == {
        SOURCE_IDS[name] for name in SOURCE.values()
    }


def test_who_comes_second_takes_nothing_over(
    connection: psycopg.Connection, stage: ApiStage, api: Api
) -> None:
    """Anna is already known when Ben's identical phone appears."""
    queue = Stage(connection, stage.space_id)
    for name in ("anna", "ben"):
        queue.run(*make_items(name, 1))
    rows = api.rows(
        sources="facebook_ads", attribution_model="linear", attribution_window=30,
        start_date="2025-01-01 00:00:00", fields=["order_id", "source", "amount"],
    )  # fmt: skip
    assert [(row["order_id"], row["amount"]) for row in rows] == [("ben-1", 100)]
