"""Duplicates by idempotency key and by order, stored earlier and within one batch."""

from __future__ import annotations

import psycopg
import pytest

from tests.support.pipeline import Stage, event


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id)


def buy(**values: object) -> object:
    return event(trk_token="t1", **values)


@pytest.mark.parametrize("in_two_batches", [True, False])
@pytest.mark.parametrize("key", ["idempotency_key", "order_id"])
def test_it_works(stage: Stage, key: str, *, in_two_batches: bool) -> None:
    first, second = stage.put(buy(**{key: "1"}), buy(**{key: "1"}))
    stage.process(limit=1 if in_two_batches else 10)
    assert stage.values("events", "id") == [first]
    assert stage.rows("duplicates", "id", "reason", "event_id") == [(second, key, first)]
    assert stage.values("inbox", "id") == []


def test_the_same_key_under_another_name_is_another_event(stage: Stage) -> None:
    stage.run(
        buy(idempotency_key="1", order_id="1"),
        buy(idempotency_key="1", order_id="1", event_name="lead_generated"),
    )
    assert len(stage.values("events", "id")) == 2


@pytest.mark.parametrize("in_two_batches", [True, False])
def test_upsells_neither_are_dropped_by_order_nor_cause_drops(stage: Stage, *, in_two_batches: bool) -> None:
    stage.put(
        buy(order_id="1", is_upsell=True),
        buy(order_id="1"),
        buy(order_id="1", is_upsell=True),
        buy(order_id="1", event_name="upsell_purchase"),
        buy(order_id="1", event_name="upsell_purchase"),
    )
    stage.process(limit=1 if in_two_batches else 10)
    assert len(stage.values("events", "id")) == 5


def test_a_duplicate_contributes_nothing(stage: Stage) -> None:
    stage.run(buy(idempotency_key="1"))
    before = stage.dump()
    stage.run(
        buy(idempotency_key="1", order_id="7", email="a@acme.com", phone="1", trk_source="sms",
            profile_fields={1: "x"})
    )  # fmt: skip
    after = stage.dump()
    assert len(after.pop("duplicates")) == 1
    assert before.pop("duplicates") == []
    assert before == after
    stage.run(buy(order_id="7"))
    assert len(stage.values("events", "id")) == 2
