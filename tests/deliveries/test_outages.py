"""Long platform outages, and their effect on other destinations."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import pytest
from msgspec.structs import replace
from psycopg.types.json import Jsonb

from headwater.base.egress.models import EgressRequest
from headwater.forwarding.platforms.models import Destination
from headwater.forwarding.platforms.platform import Limits
from tests.deliveries.staging import PLATFORM, Sending, ids_sent
from tests.support.destinations import change_platform
from tests.support.fake_platform import Answer, FakePlatform, Silence
from tests.support.waiting import PATIENCE_SECONDS, wait_until


def test_it_works(sending: Sending, platform: FakePlatform) -> None:
    """In a day's outage nothing is lost, and every event keeps its id."""
    sending.random = random.Random(7).random
    destination = sending.destination()
    deliveries = sending.deliveries(destination, 30)
    down = FakePlatform(default=Answer(503))
    with down:
        sending.urls["meta"] = down.url
        sending.run(24 * 6, 600)
        sending.advance(600)
        deliveries += sending.deliveries(destination, 3)
        assert not sending.statuses(destination).get("expired")
        assert not sending.statuses(destination).get("failed")
        # One event at a time tests whether the outage is over.
        assert [len(call) for call in ids_sent(down.bodies)[1:]] == [1] * (len(down.requests) - 1)
    sending.urls["meta"] = platform.url
    sending.run(6, 600)
    assert sending.statuses(destination) == {"delivered": 33}
    batches = ids_sent(platform.bodies)
    assert [len(call) for call in batches] == [1, 2, 4, 8, 16, 2]
    assert len({number for call in batches for number in call}) == 33
    ids = {
        sending.read_delivery(delivery, "event_id"): sending.read_delivery(delivery, "dedup_id")
        for delivery in deliveries
    }
    assert {number for call in batches for number in call} == set(ids.values())
    assert len(set(ids.values())) == len(ids)


def test_it_ends_after_three_days(sending: Sending) -> None:
    destination = sending.destination()
    delivery = sending.delivery(destination)
    with FakePlatform(default=Answer(500, {"error": "down"})) as platform:
        sending.urls["meta"] = platform.url
        sending.run(80, 3600)
        status, attempts, error = sending.read_delivery(delivery, "status", "attempts", "error")
        assert (status, error) == ("expired", "down")
        assert attempts == len(platform.requests) == len(sending.attempts(delivery))
        assert len(platform.requests) >= 5


def test_an_event_that_makes_the_platform_fail_stops_no_other(sending: Sending) -> None:
    destination = sending.destination()
    deliveries = sending.deliveries(destination, 20)
    poison = f"id-{sending.read_delivery(deliveries[3], 'event_id')}"

    def step(request: object) -> Answer:
        return Answer(500 if poison in str(getattr(request, "body", "")) else 200)

    with FakePlatform(default=step) as platform:
        sending.urls["meta"] = platform.url
        sending.run(20, 30)
    assert sending.statuses(destination) == {"delivered": 19, "retrying": 1}
    assert sending.read_delivery(deliveries[3], "status") == "retrying"


def test_a_dead_destination_does_not_keep_a_healthy_one_waiting(
    sending: Sending, platform: FakePlatform
) -> None:
    """While calls to nine destinations hang, the tenth gets all its events."""
    sending.seconds = 20
    sending.platform = change_platform(PLATFORM, request=_request_pixel_url)
    with FakePlatform(default=Silence()) as dead:
        dead_destinations = [sending.destination(settings=Jsonb({"pixel": dead.url})) for _ in range(9)]
        healthy = sending.destination(settings=Jsonb({"pixel": platform.url}))
        for destination in dead_destinations:
            sending.deliveries(destination, 3)

        async def run() -> None:
            stop_event = asyncio.Event()
            async with sending.open_forwarder(stop_event) as forwarder:
                running = asyncio.create_task(forwarder.run())
                await asyncio.to_thread(dead.wait_for, 9)
                sending.deliveries(healthy, 5)
                await asyncio.to_thread(wait_until, lambda: sending.statuses(healthy) == {"delivered": 5})
                assert [sending.statuses(destination) for destination in dead_destinations] == [
                    {"queued": 3}
                ] * 9
                dead.__exit__()
                stop_event.set()
                await running

        asyncio.run(run())


def _request_pixel_url(parts: Sequence[dict[str, Any]], destination: Destination) -> EgressRequest:
    return PLATFORM.request(parts, replace(destination, url=destination.settings.pixel))


def test_two_forwarders_share_destinations_out(sending: Sending, platform: FakePlatform) -> None:
    sending.platform = change_platform(PLATFORM, limits=Limits(batch=5, age=1e6))
    destinations = [sending.destination() for _ in range(6)]
    for destination in destinations:
        sending.deliveries(destination, 12)

    async def run() -> None:
        async with sending.open_forwarder() as first, sending.open_forwarder() as second:
            await asyncio.gather(first.drain(), second.drain())

    asyncio.run(run())
    assert [sending.statuses(destination) for destination in destinations] == [{"delivered": 12}] * 6
    numbers = [number for call in ids_sent(platform.bodies) for number in call]
    assert len(numbers) == len(set(numbers)) == 72


def test_a_lease_that_was_lost_writes_nothing(sending: Sending, platform: FakePlatform) -> None:
    destination = sending.destination()
    delivery = sending.delivery(destination)

    def stolen(_: object) -> Answer:
        sending.connection.execute(
            "UPDATE destinations SET lease = %s,"
            " leased_until = now() + interval '30 seconds' WHERE id = %s", (uuid4(), destination),
        )  # fmt: skip
        return Answer()

    platform.append(stolen)
    sending.run()
    assert sending.read_delivery(delivery, "status", "attempts") == ("queued", 0)
    assert sending.state(destination, "lease") is not None
    sending.run()
    assert len(platform.requests) == 1


def test_a_lease_that_ran_out_is_taken_over(sending: Sending, platform: FakePlatform) -> None:
    destination = sending.destination()
    delivery = sending.delivery(destination)
    for remaining, calls in (("30 seconds", 0), ("-1 second", 1)):
        sending.connection.execute(
            "UPDATE destinations SET lease = %s,"
            " leased_until = now() + %s::interval WHERE id = %s", (uuid4(), remaining, destination),
        )  # fmt: skip
        sending.run()
        assert len(platform.requests) == calls
    assert sending.read_delivery(delivery, "status") == "delivered"


def test_a_lease_of_a_clock_that_was_put_back_is_taken_over(sending: Sending, platform: FakePlatform) -> None:
    destination = sending.destination()
    delivery = sending.delivery(destination)
    sending.connection.execute(
        "UPDATE destinations SET lease = %s,"
        " leased_until = now() + interval '1 hour 30 seconds' WHERE id = %s",
        (uuid4(), destination),
    )  # fmt: skip
    sending.run()
    assert len(platform.requests) == 1
    assert sending.read_delivery(delivery, "status") == "delivered"


def test_it_stops_in_order(sending: Sending, platform: FakePlatform) -> None:
    """A call in progress is finished and recorded."""
    destination = sending.destination()
    delivery = sending.delivery(destination)

    async def run() -> None:
        stop_event = asyncio.Event()
        loop = asyncio.get_running_loop()

        def step(_: object) -> Answer:
            loop.call_soon_threadsafe(stop_event.set)
            return Answer(delay=0.1)

        platform.append(step)
        async with sending.open_forwarder(stop_event) as forwarder:
            await forwarder.run()

    asyncio.run(run())
    assert sending.read_delivery(delivery, "status") == "delivered"


def test_a_forwarder_without_work_ends(sending: Sending) -> None:
    async def run() -> None:
        async with sending.open_forwarder() as forwarder:
            forwarder._linger = 0.1
            await forwarder.run()

    asyncio.run(asyncio.wait_for(run(), PATIENCE_SECONDS))


@pytest.mark.parametrize("status", ["paused", "held", "removed"])
def test_only_active_destinations_are_sent_to(sending: Sending, platform: FakePlatform, status: str) -> None:
    destination = sending.destination(status=status)
    sending.delivery(destination)
    sending.run()
    assert not platform.requests
    assert sending.statuses(destination) == {"queued": 1}
