"""Platforms that are away for long, and what the others notice of it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace
from psycopg.types.json import Jsonb

from headwater.forwarding.models import Call, Destination
from headwater.forwarding.platforms.platform import Limits
from tests.forwarding.fake_platform import Answer, FakePlatform, Silence
from tests.forwarding.staging import PLATFORM, Stage, ids_sent, taking
from tests.support.waiting import PATIENCE_SECONDS, wait_until


def test_it_works(stage: Stage, platform: FakePlatform) -> None:
    """A day's outage: nothing is lost, and every event keeps its one id."""
    stage.random = random.Random(7).random
    destination = stage.destination()
    deliveries = stage.deliveries(destination, 30)
    down = FakePlatform(otherwise=Answer(503))
    with down:
        stage.urls["meta"] = down.url
        stage.run(24 * 6, 600)
        stage.advance(600)
        deliveries += stage.deliveries(destination, 3)
        assert not stage.statuses(destination).get("expired")
        assert not stage.statuses(destination).get("failed")
        # One event at a time finds out whether it is over.
        assert [len(call) for call in ids_sent(down.bodies)[1:]] == [1] * (len(down.requests) - 1)
    stage.urls["meta"] = platform.url
    stage.run(6, 600)
    assert stage.statuses(destination) == {"delivered": 33}
    told = ids_sent(platform.bodies)
    assert [len(call) for call in told] == [1, 2, 4, 8, 16, 2]
    assert len({number for call in told for number in call}) == 33
    ids = {stage.of(each, "event_id"): stage.of(each, "dedup_id") for each in deliveries}
    assert {number for call in told for number in call} == set(ids.values())
    assert len(set(ids.values())) == len(ids)


def test_it_ends_after_three_days(stage: Stage) -> None:
    destination = stage.destination()
    delivery = stage.delivery(destination)
    with FakePlatform(otherwise=Answer(500, {"error": "down"})) as platform:
        stage.urls["meta"] = platform.url
        stage.run(80, 3600)
        status, attempts, error = stage.of(delivery, "status", "attempts", "error")
        assert (status, error) == ("expired", "down")
        assert attempts == len(platform.requests) == len(stage.attempts(delivery))
        assert len(platform.requests) >= 5


def test_an_event_that_makes_the_platform_fail_stops_no_other(stage: Stage) -> None:
    destination = stage.destination()
    deliveries = stage.deliveries(destination, 20)
    poison = f"id-{stage.of(deliveries[3], 'event_id')}"

    def step(request: object) -> Answer:
        return Answer(500 if poison in str(getattr(request, "body", "")) else 200)

    with FakePlatform(otherwise=step) as platform:
        stage.urls["meta"] = platform.url
        stage.run(20, 30)
    assert stage.statuses(destination) == {"delivered": 19, "retrying": 1}
    assert stage.of(deliveries[3], "status") == "retrying"


def test_a_dead_destination_does_not_keep_a_healthy_one_waiting(
    stage: Stage, platform: FakePlatform
) -> None:
    """While calls to nine destinations hang, the tenth gets all that is its."""
    stage.seconds = 20
    stage.platform = taking(PLATFORM, request=_to_the_destinations_own)
    with FakePlatform(otherwise=Silence()) as dead:
        hanging = [stage.destination(settings=Jsonb({"pixel": dead.url})) for _ in range(9)]
        healthy = stage.destination(settings=Jsonb({"pixel": platform.url}))
        for destination in hanging:
            stage.deliveries(destination, 3)

        async def run() -> None:
            stopping = asyncio.Event()
            async with stage.opened(stopping) as forwarder:
                running = asyncio.create_task(forwarder.run())
                await asyncio.to_thread(dead.wait_for, 9)
                stage.deliveries(healthy, 5)
                await asyncio.to_thread(
                    wait_until, lambda: stage.statuses(healthy) == {"delivered": 5}
                )
                assert [stage.statuses(each) for each in hanging] == [{"queued": 3}] * 9
                dead.__exit__()
                stopping.set()
                await running

        asyncio.run(run())


def _to_the_destinations_own(parts: Sequence[dict[str, Any]], destination: Destination) -> Call:
    return PLATFORM.request(parts, replace(destination, url=destination.settings.pixel))


def test_two_forwarders_share_destinations_out(stage: Stage, platform: FakePlatform) -> None:
    stage.platform = taking(PLATFORM, limits=Limits(batch=5, age=1e6))
    destinations = [stage.destination() for _ in range(6)]
    for destination in destinations:
        stage.deliveries(destination, 12)

    async def run() -> None:
        async with stage.opened() as first, stage.opened() as second:
            await asyncio.gather(first.drain(), second.drain())

    asyncio.run(run())
    assert [stage.statuses(each) for each in destinations] == [{"delivered": 12}] * 6
    told = [number for call in ids_sent(platform.bodies) for number in call]
    assert len(told) == len(set(told)) == 72


def test_a_lease_that_was_lost_writes_nothing(stage: Stage, platform: FakePlatform) -> None:
    destination = stage.destination()
    delivery = stage.delivery(destination)

    def stolen(_: object) -> Answer:
        stage.connection.execute(
            "UPDATE destinations SET lease = gen_random_uuid(),"
            " leased_until = now() + interval '30 seconds' WHERE id = %s", (destination,),
        )  # fmt: skip
        return Answer()

    platform.then(stolen)
    stage.run()
    assert stage.of(delivery, "status", "attempts") == ("queued", 0)
    assert stage.state(destination, "lease") is not None
    stage.run()
    assert len(platform.requests) == 1


def test_a_lease_that_ran_out_is_taken_over(stage: Stage, platform: FakePlatform) -> None:
    destination = stage.destination()
    delivery = stage.delivery(destination)
    for left, calls in (("30 seconds", 0), ("-1 second", 1)):
        stage.connection.execute(
            "UPDATE destinations SET lease = gen_random_uuid(),"
            " leased_until = now() + %s::interval WHERE id = %s", (left, destination),
        )  # fmt: skip
        stage.run()
        assert len(platform.requests) == calls
    assert stage.of(delivery, "status") == "delivered"


def test_a_lease_of_a_clock_that_was_put_back_is_taken_over(
    stage: Stage, platform: FakePlatform
) -> None:
    destination = stage.destination()
    delivery = stage.delivery(destination)
    stage.connection.execute(
        "UPDATE destinations SET lease = gen_random_uuid(),"
        " leased_until = now() + interval '1 hour 30 seconds' WHERE id = %s", (destination,),
    )  # fmt: skip
    stage.run()
    assert len(platform.requests) == 1
    assert stage.of(delivery, "status") == "delivered"


def test_it_stops_in_order(stage: Stage, platform: FakePlatform) -> None:
    """A call under way is finished and written down."""
    destination = stage.destination()
    delivery = stage.delivery(destination)

    async def run() -> None:
        stopping = asyncio.Event()
        loop = asyncio.get_running_loop()

        def step(_: object) -> Answer:
            loop.call_soon_threadsafe(stopping.set)
            return Answer(delay=0.1)

        platform.then(step)
        async with stage.opened(stopping) as forwarder:
            await forwarder.run()

    asyncio.run(run())
    assert stage.of(delivery, "status") == "delivered"


def test_a_forwarder_without_work_ends(stage: Stage) -> None:
    async def run() -> None:
        async with stage.opened() as forwarder:
            forwarder._linger = 0.1
            await forwarder.run()

    asyncio.run(asyncio.wait_for(run(), PATIENCE_SECONDS))


@pytest.mark.parametrize("status", ["paused", "held", "removed"])
def test_only_active_destinations_are_sent_to(
    stage: Stage, platform: FakePlatform, status: str
) -> None:
    destination = stage.destination(status=status)
    stage.delivery(destination)
    stage.run()
    assert not platform.requests
    assert stage.statuses(destination) == {"queued": 1}
