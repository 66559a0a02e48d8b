"""Calls that fail for some of their events: the others are still sent."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

from tests.deliveries.staging import PLATFORM, Sending, ids_sent
from tests.support.destinations import change_platform
from tests.support.fake_platform import Answer, FakePlatform, ReceivedRequest
from tests.support.waiting import wait_until


def all_or_nothing(*bad: str) -> Any:
    """Return a platform that accepts or refuses a whole call without giving a reason."""

    def step(request: ReceivedRequest) -> Answer:
        refused_ids = {item["id"] for item in request.json()["data"]} & set(bad)
        return Answer(400, {"some_bad": True, "error": "invalid"}) if refused_ids else Answer()

    return step


def test_one_bad_event_does_not_sink_99(sending: Sending) -> None:
    destination = sending.destination()
    deliveries = sending.deliveries(destination, 100)
    bad = deliveries[61]
    with FakePlatform(default=all_or_nothing(f"id-{sending.read_delivery(bad, 'event_id')}")) as platform:
        sending.urls["meta"] = platform.url
        sending.run()
        assert len(platform.requests) == 15  # 100, then two calls of each size down to one
    assert sending.statuses(destination) == {"delivered": 99, "failed": 1}
    assert sending.read_delivery(bad, "status", "error", "attempts") == ("failed", "invalid", 1)


def test_the_others_are_sent_without_the_named_one(sending: Sending, platform: FakePlatform) -> None:
    platform.append(Answer(400, {"bad": [0, 2], "error": "too old"}))
    destination = sending.destination()
    deliveries = sending.deliveries(destination, 4)
    sending.run()
    assert [sending.read_delivery(delivery, "status") for delivery in deliveries] == [
        "failed", "delivered", "failed", "delivered",
    ]  # fmt: skip
    assert [len(call) for call in ids_sent(platform.bodies)] == [4, 2]


def test_a_fault_of_ours_sinks_one(sending: Sending, platform: FakePlatform) -> None:
    destination = sending.destination()
    bad = sending.delivery(destination, sending.event(order_id="explodes"))
    good = sending.delivery(destination)
    sending.run()
    assert sending.read_delivery(bad, "status", "error") == (
        "failed", "Internal error: the event could not be prepared.",
    )  # fmt: skip
    assert sending.read_delivery(good, "status") == "delivered"
    assert len(platform.requests) == 1


def test_a_fault_in_making_a_call_sinks_one(sending: Sending, platform: FakePlatform) -> None:
    def request(parts: Any, destination: Any) -> Any:
        if any(item["amount"] == "13.0000" for item in parts):
            raise ValueError("a fault of the platform's code")
        return PLATFORM.request(parts, destination)

    sending.platform = change_platform(PLATFORM, request=request)
    destination = sending.destination()
    sending.deliveries(destination, 5)
    bad = sending.delivery(destination, sending.event(amount=13))
    sending.run()
    assert sending.statuses(destination) == {"delivered": 5, "failed": 1}
    assert sending.read_delivery(bad, "status") == "failed"
    assert len({number for call in ids_sent(platform.bodies) for number in call}) == 5


def test_a_fault_of_ours_stops_no_other_destination(sending: Sending, platform: FakePlatform) -> None:
    """The destination at fault is tried again later, not in a tight loop."""
    attempts: list[int] = []

    def count_fitting(parts: Sequence[dict[str, Any]]) -> int:
        if parts[0]["email"] == "bad@example.com":
            attempts.append(1)
            raise ValueError("a fault of the platform's code")
        return len(parts)

    sending.platform = change_platform(PLATFORM, count_fitting=count_fitting)
    bad_destination, destination = sending.destination(), sending.destination()
    sending.delivery(bad_destination, sending.event("bad@example.com"))

    def has_delivered(number: int) -> bool:
        return sending.statuses(destination) == {"delivered": number}

    async def run() -> None:
        stopping = asyncio.Event()
        async with sending.open_forwarder(stopping) as forwarder:
            task = asyncio.create_task(forwarder.run())
            for number in (1, 2):  # the second is found by a later poll
                sending.delivery(destination)
                await asyncio.to_thread(wait_until, partial(has_delivered, number))
            stopping.set()
            await task

    asyncio.run(run())
    assert len(attempts) == 1
    assert sending.statuses(bad_destination) == {"queued": 1}
    assert len(platform.requests) == 2


def test_what_cannot_be_redacted_is_written_down_without_it(sending: Sending, platform: FakePlatform) -> None:
    def redact(_: Any) -> Any:
        raise ValueError("a fault of the platform's code")

    sending.platform = change_platform(PLATFORM, redact=redact)
    delivery = sending.delivery(sending.destination())
    sending.run()
    assert sending.read_delivery(delivery, "status", "request") == ("delivered", None)
    assert len(platform.requests) == 1


def test_an_answer_nobody_has_thought_of(sending: Sending, platform: FakePlatform) -> None:
    platform.append(Answer(200, b"[1]"))
    delivery = sending.delivery(sending.destination())
    sending.run()
    assert sending.read_delivery(delivery, "status", "error") == (
        "retrying", "Test sent an unexpected response.",
    )  # fmt: skip
