"""Deliveries that the pipeline stores in the same transaction as their events."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.base.failpoints import failpoint
from headwater.events.accepted import EVENT_NAMES
from headwater.events.batch_store import StoredEvent
from headwater.forwarding.deliveries.outbox import (
    NAMESPACE,
    OutboxDestination,
    make_dedup_id,
    make_deliveries,
    queue_deliveries,
    skip_reason,
)
from headwater.forwarding.platforms import registry
from headwater.forwarding.platforms.models import SkipReason
from headwater.intake.pipeline import batch_writer
from tests.support.destinations import NAME, PROBE, Forwarder
from tests.support.pipeline import add_sender, event, new_stage, page, touch
from tests.support.reading_fixtures import Api


def test_it_works(forwarder: Forwarder) -> None:
    active_id, held_id, paused_id = (forwarder.make(status=status) for status in ("active", "held", "paused"))
    forwarder.make(status="removed")
    (event_with_key, event_without_key) = forwarder.queue().run(
        event(email="ada@example.com", idempotency_key="order-7"),
        event(email="ada@example.com", event_name="lead_generated"),
    )
    rows = forwarder.deliveries("event_id", "destination_id", "dedup_id", "status", "reason",
                                "finished_at IS NOT NULL")  # fmt: skip
    assert len(rows) == 6
    derived_key = make_dedup_id(forwarder.stage.space_id, event_without_key)
    for event_id, dedup_id in ((event_with_key, "order-7"), (event_without_key, derived_key)):
        assert {row[1:] for row in rows if row[0] == event_id} == {
            (active_id, dedup_id, "queued", None, False),
            (held_id, dedup_id, "queued", None, False),
            (paused_id, dedup_id, "skipped", "paused", True),
        }


def test_what_is_certain_not_to_be_sent(forwarder: Forwarder) -> None:
    forwarder.make(event_names={"purchase": None, "custom_event_1": "Demo"})
    forwarder.queue().run(
        event(email="ada@example.com", event_name="lead_generated", do_not_capi=True),
        event(email="ada@example.com", event_name="purchase"),
        event(email="ada@example.com", event_name="view_content"),
        event(email="ada@example.com", event_name="custom_event_1"),
        event(email="ada@example.com", event_name="custom_event_2"),
    )
    assert forwarder.deliveries("reason") == [
        "do_not_capi", "no_mapping", "no_mapping", None, "no_mapping",
    ]  # fmt: skip


def test_what_is_no_event_is_not_forwarded(forwarder: Forwarder) -> None:
    forwarder.make()
    queue = forwarder.queue()
    queue.run(touch(email="ada@example.com"), event(email="ada@example.com", order_id="7"))
    queue.run(event(email="ada@example.com", order_id="7"))  # a duplicate
    queue.put_row("event", '{"event_name": "purchase", "event_time": 0, "amount": "none"}')
    queue.process()
    assert len(queue.values("rejected", "id")) == 1
    assert forwarder.deliveries("event_id") == queue.values("events", "id")


def test_other_spaces_have_their_own(forwarder: Forwarder) -> None:
    forwarder.make()
    other_stage = new_stage(forwarder.stage.connection)
    other_stage.run(event(email="ada@example.com"))
    count = "SELECT count(*) FROM deliveries WHERE space_id = %s"
    assert forwarder.stage.connection.execute(count, (other_stage.space_id,)).fetchone() == (0,)
    assert forwarder.deliveries("id") == []


def test_a_space_without_destinations_asks_nothing() -> None:
    connection = Mock()
    queue_deliveries(connection, 1, [make_event()], [])
    queue_deliveries(connection, 1, [], [target()])
    connection.execute.assert_not_called()


def test_neither_is_there_without_the_other(forwarder: Forwarder, monkeypatch: pytest.MonkeyPatch) -> None:
    forwarder.make()

    def stop(name: str) -> None:
        failpoint(name)
        if name == "worker_after_events":
            raise MemoryError

    monkeypatch.setattr(batch_writer, "failpoint", stop)
    queue = forwarder.queue()
    queue.put(event(email="ada@example.com"))
    with pytest.raises(MemoryError):
        queue.process()
    assert (queue.values("events", "id"), forwarder.deliveries("id")) == ([], [])
    monkeypatch.undo()
    monkeypatch.setitem(registry.PLATFORMS, NAME, PROBE)
    queue.process()
    assert forwarder.deliveries("event_id") == queue.values("events", "id") != []


def test_a_deleted_event_is_not_sent(forwarder: Forwarder, api: Api) -> None:
    destination_id = forwarder.make()
    event_id = forwarder.stage.event(forwarder.stage.contact())
    kept_delivery = forwarder.delivery(destination_id)
    columns = {"request": "{}", "answer": "a", "error": "e"}
    skipped_deliveries = [
        forwarder.delivery(forwarder.make(), event_id=event_id, status=status, **columns)
        for status in ("queued", "retrying", "delivered")
    ]
    attempt = forwarder.stage.attempt(skipped_deliveries[1], error="no")
    forwarder.stage.attempt(kept_delivery, error="no")
    assert api.send("DELETE", f"/events/{event_id}").status_code == 200
    rows = forwarder.deliveries("id", "status", "reason", "num_nonnulls(request, answer, error)",
                                "finished_at IS NULL")  # fmt: skip
    assert rows == [
        (kept_delivery, "queued", None, 0, True),
        (skipped_deliveries[0], "skipped", "deleted", 0, False),
        (skipped_deliveries[1], "skipped", "deleted", 0, False),
        (skipped_deliveries[2], "delivered", None, 0, False),
    ]
    errors = forwarder.stage.connection.execute(
        "SELECT error FROM delivery_attempts WHERE space_id = %s ORDER BY id = %s DESC",
        (forwarder.stage.space_id, attempt),
    ).fetchall()
    assert errors == [(None,), ("no",)]


@pytest.mark.parametrize("first_status", ["delivered", "skipped"])
def test_what_follows_a_conversion_goes_with_it(forwarder: Forwarder, first_status: str) -> None:
    """The credit of a replaced event is sent in full, and so is its correction, which may be under way."""
    destination = forwarder.make()
    order = event(email="ada@example.com", order_id="7", amount="40")
    (replaced,) = forwarder.queue().run(page(order))
    forwarder.execute(
        "UPDATE deliveries SET status = %(status)s, finished_at = now() WHERE space_id = %(space_id)s",
        status=first_status,
    )
    for kind, number, status in (
        ("credit", 1, "delivered"),
        ("credit", 2, "retrying"),
        ("correction", 1, "queued"),
    ):
        forwarder.delivery(destination, event_id=replaced, kind=kind, number=number, status=status)
    (replacement,) = forwarder.queue().run(add_sender("webhook", order))
    assert forwarder.deliveries("event_id", "kind", "status")[1:4] == [
        (replacement, "credit", "delivered"),
        (replacement, "credit", "retrying"),
        (replacement, "correction", "queued"),
    ]


def make_event(**values: Any) -> StoredEvent:
    columns = {"id": 7, "contact_id": 1, "event_name": "purchase", "event_time": 0,
               "received_at": 0, "source_mask": 0, **values}  # fmt: skip
    return StoredEvent(**columns)


def target(**values: Any) -> OutboxDestination:
    return OutboxDestination(**{"id": 1, "platform": NAME, "status": "active", "event_names": {}, **values})


def test_an_id_is_the_same_for_ever() -> None:
    """If ids were made differently, platforms would count events again."""
    assert str(NAMESPACE) == "58445d59-2e22-4960-acea-3073ed606a85"
    assert make_dedup_id(1, 7) == make_dedup_id(1, 7) == "9611a93b-7a99-5f1c-8650-add869648360"
    assert len({make_dedup_id(1, 17), make_dedup_id(11, 7), make_dedup_id(7, 11), make_dedup_id(1, 7)}) == 4
    assert UUID(make_dedup_id(1, 7)).version == 5


@given(
    name=st.sampled_from(EVENT_NAMES),
    do_not_capi=st.booleans(),
    status=st.sampled_from(["active", "held", "paused"]),
    event_names=st.dictionaries(st.sampled_from(EVENT_NAMES), st.sampled_from([None, "", "Own"])),
)
def test_one_reason_at_most(
    name: str, do_not_capi: bool, status: Any, event_names: dict[str, str | None]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry.PLATFORMS, NAME, PROBE)
        reason = skip_reason(
            make_event(event_name=name, do_not_capi=do_not_capi),
            target(status=status, event_names=event_names),
        )
    platform_name = event_names[name] if name in event_names else PROBE.event_names.get(name)
    if do_not_capi:
        assert reason is SkipReason.DO_NOT_CAPI
    elif status == "paused":
        assert reason is SkipReason.PAUSED
    else:
        assert reason is (None if platform_name else SkipReason.NO_MAPPING)


def test_a_platform_that_is_no_more_takes_nothing() -> None:
    (delivery,) = make_deliveries(1, [make_event()], [target(platform="gone")])
    assert delivery.reason is SkipReason.NO_MAPPING
