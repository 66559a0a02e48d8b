"""Calls that fail for some of their events: the others are sent nonetheless."""

from __future__ import annotations

from typing import Any

from tests.forwarding.fake_platform import (
    Answer,
    FakePlatform,
    Received,
)
from tests.forwarding.staging import PLATFORM, Stage, ids_sent, taking


def all_or_nothing(*bad: str) -> Any:
    """A platform that takes a call whole or not at all, and does not say why."""

    def step(request: Received) -> Answer:
        some = {part["id"] for part in request.json()["data"]} & set(bad)
        return Answer(400, {"some_bad": True, "error": "invalid"}) if some else Answer()

    return step


def test_one_bad_event_does_not_sink_99(stage: Stage) -> None:
    destination = stage.destination()
    deliveries = stage.deliveries(destination, 100)
    bad = deliveries[61]
    with FakePlatform(otherwise=all_or_nothing(f"id-{stage.of(bad, 'event_id')}")) as platform:
        stage.urls["meta"] = platform.url
        stage.run()
        assert len(platform.requests) == 15  # 100, and two of each size down to one
    assert stage.statuses(destination) == {"delivered": 99, "failed": 1}
    assert stage.of(bad, "status", "error", "attempts") == ("failed", "invalid", 1)


def test_the_others_are_sent_without_the_named_one(stage: Stage, platform: FakePlatform) -> None:
    platform.then(Answer(400, {"bad": [0, 2], "error": "too old"}))
    destination = stage.destination()
    deliveries = stage.deliveries(destination, 4)
    stage.run()
    assert [stage.of(each, "status") for each in deliveries] == [
        "failed", "delivered", "failed", "delivered",
    ]  # fmt: skip
    assert [len(call) for call in ids_sent(platform.bodies)] == [4, 2]


def test_a_fault_of_ours_sinks_one(stage: Stage, platform: FakePlatform) -> None:
    destination = stage.destination()
    bad = stage.delivery(destination, stage.event(order_id="explodes"))
    good = stage.delivery(destination)
    stage.run()
    assert stage.of(bad, "status", "error") == (
        "failed", "An internal error: its part of the call could not be made.",
    )  # fmt: skip
    assert stage.of(good, "status") == "delivered"
    assert len(platform.requests) == 1


def test_a_fault_in_making_a_call_sinks_one(stage: Stage, platform: FakePlatform) -> None:
    def request(parts: Any, destination: Any) -> Any:
        if any(part["amount"] == "13.0000" for part in parts):
            raise ValueError("a fault of the platform's code")
        return PLATFORM.request(parts, destination)

    stage.platform = taking(PLATFORM, request=request)
    destination = stage.destination()
    stage.deliveries(destination, 5)
    bad = stage.delivery(destination, stage.event(amount=13))
    stage.run()
    assert stage.statuses(destination) == {"delivered": 5, "failed": 1}
    assert stage.of(bad, "status") == "failed"
    assert len({number for call in ids_sent(platform.bodies) for number in call}) == 5


def test_what_cannot_be_redacted_is_written_down_without_it(
    stage: Stage, platform: FakePlatform
) -> None:
    def redact(_: Any) -> Any:
        raise ValueError("a fault of the platform's code")

    stage.platform = taking(PLATFORM, redact=redact)
    delivery = stage.delivery(stage.destination())
    stage.run()
    assert stage.of(delivery, "status", "request") == ("delivered", None)
    assert len(platform.requests) == 1


def test_an_answer_nobody_has_thought_of(stage: Stage, platform: FakePlatform) -> None:
    platform.then(Answer(200, b"[1]"))
    delivery = stage.delivery(stage.destination())
    stage.run()
    assert stage.of(delivery, "status", "error") == (
        "retrying", "Test gave an answer that is not understood.",
    )  # fmt: skip
