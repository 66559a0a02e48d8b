"""Orders are found by their number, with their upsells and refunds, each in its own currency."""

from __future__ import annotations

from typing import Any

import pytest

from tests.mcp.assistants import Assistant
from tests.support.factories import Stage, make_stage


def find_events(assistant: Assistant, number: str | int) -> list[int]:
    answer = assistant.call("find_order", number=number)
    assert answer["has_more"] is False
    return [int(event["id"]) for event in answer["events"]]


def test_it_works(assistant: Assistant, stage: Stage) -> None:
    contact_id = stage.contact()
    sale = stage.event(contact_id, order_id="8201", order_name="#1001", amount=50, currency="USD")
    upsell = stage.event(contact_id, order_id="8201", amount=5, is_upsell=True)
    refunds = [
        stage.event(contact_id, order_name="#1001", amount=-10),
        stage.event(contact_id, order_name="8201", amount=-5),
        stage.event(contact_id, order_id="8201-refund-1", amount=-1),
    ]
    stage.event(contact_id, order_id="82011", amount=7)
    stage.event(contact_id, order_id="82", order_name="#100", amount=7)
    for number in (8201, "8201", "#1001", "1001", " 1001 ", "#8201"):
        assert find_events(assistant, number) == [sale, upsell, *refunds], number
    (event, *_) = assistant.call("find_order", number="1001")["events"]
    assert (event["amount"], event["currency"], event["order_name"]) == (50, "USD", "#1001")
    assert event["event_time"].startswith(event["event_time_utc"][:16])


@pytest.mark.parametrize("number", ["9999", "%", "_", "8201%", "820", "#", "' OR 1=1", "82011"])
def test_other_numbers_find_nothing(assistant: Assistant, stage: Stage, number: str) -> None:
    stage.event(stage.contact(), order_id="8201", order_name="#1001")
    assert find_events(assistant, number) == []


@pytest.mark.parametrize("number", ["", "  ", "x" * 256, 5.5, [], None, True])
def test_no_number_is_refused(assistant: Assistant, number: Any) -> None:
    assert "number" in assistant.refusal("find_order", number=number)


def test_orders_of_other_spaces_are_not_found(assistant: Assistant, stage: Stage) -> None:
    other_stage = make_stage(stage.connection)
    other_stage.event(other_stage.contact(), order_id="8201", order_name="#1001")
    assert find_events(assistant, "8201") == find_events(assistant, "1001") == []


def test_a_long_list_is_cut(assistant: Assistant, stage: Stage) -> None:
    contact_id = stage.contact()
    events = [stage.event(contact_id, order_name="Order", amount=1) for _ in range(52)]
    answer = assistant.call("find_order", number="Order")
    assert answer["has_more"] is True
    assert [int(event["id"]) for event in answer["events"]] == events[:50]
