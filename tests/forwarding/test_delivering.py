"""Deliveries over real HTTP to a platform that does what a script says."""

from __future__ import annotations

import time

import pytest
from psycopg.types.json import Jsonb
from structlog.testing import capture_logs

from headwater.forwarding.platforms.platform import Limits
from tests.forwarding.fake_platform import (
    Answer,
    CutShort,
    Drip,
    EndlessHeaders,
    FakePlatform,
    GzipBomb,
    Huge,
    Raw,
    Received,
    Redirect,
    ResetRead,
    ResetUnread,
    Silence,
    Step,
)
from tests.forwarding.staging import PLATFORM, Stage, ids_sent, taking


def test_it_works(stage: Stage, platform: FakePlatform) -> None:
    destination = stage.destination()
    event = stage.event("anna@example.com", amount=12, order_id="o1")
    delivery = stage.delivery(destination, event, dedup_id="key")
    stage.run()
    (request,) = platform.requests
    assert (request.method, request.target) == ("POST", "/events")
    assert request.headers["token"] == f"geheim-{destination}"
    part = {"id": "key", "email": "anna@example.com", "click": None, "amount": "12.0000"}
    assert request.json() == {"data": [part]}
    assert stage.of(delivery, "status", "attempts", "http_status", "error", "answer") == (
        "delivered", 1, 200, None, "{}",
    )  # fmt: skip
    assert stage.of(delivery, "request") == {"id": "key", "click": None, "amount": "12.0000"}
    assert stage.of(delivery, "finished_at").timestamp() == pytest.approx(stage.clock.at)
    assert stage.attempts(delivery) == [("delivered", 200, None)]
    assert stage.state(destination, "lease", "leased_until", "failures") == (None, None, 0)
    stage.run()
    assert len(platform.requests) == 1


def test_calls_hold_what_the_platform_takes(stage: Stage, platform: FakePlatform) -> None:
    stage.platform = taking(PLATFORM, limits=Limits(batch=4, age=1e6))
    destination = stage.destination()
    stage.deliveries(destination, 10)
    stage.run()
    assert [len(call) for call in ids_sent(platform.bodies)] == [4, 4, 2]
    assert stage.statuses(destination) == {"delivered": 10}


def test_a_platform_that_takes_fewer_of_some(stage: Stage, platform: FakePlatform) -> None:
    stage.platform = taking(PLATFORM, fits=lambda parts: min(len(parts), 3))
    destination = stage.destination()
    stage.deliveries(destination, 7)
    stage.run()
    assert [len(call) for call in ids_sent(platform.bodies)] == [3, 3, 1]
    assert stage.statuses(destination) == {"delivered": 7}


@pytest.mark.parametrize("status", [408 + 21, 500, 502, 503, 504])
def test_statuses_that_pass(stage: Stage, platform: FakePlatform, status: int) -> None:
    platform.then(Answer(status, {"error": "overloaded, says anna@example.com"}))
    destination = stage.destination()
    first, second = stage.deliveries(destination, 2)
    stage.run()
    assert len(platform.requests) == 1
    for delivery in (first, second):
        assert stage.of(delivery, "status", "attempts", "http_status", "error") == (
            "retrying", 1, status, "overloaded, says [masked]",
        )  # fmt: skip
        assert stage.attempts(delivery) == [("retrying", status, "overloaded, says [masked]")]
        assert stage.of(delivery, "answer") == '{"error":"overloaded, says [masked]"}'
    assert stage.waits(destination) == pytest.approx(10, abs=0.01)
    stage.advance(9)
    stage.run()
    assert len(platform.requests) == 1
    stage.advance(2)
    stage.run()
    assert ids_sent(platform.bodies)[1:] == [[f"id-{stage.of(first, 'event_id')}"],
                                             [f"id-{stage.of(second, 'event_id')}"]]  # fmt: skip
    assert stage.statuses(destination) == {"delivered": 2}
    assert stage.state(destination, "failures") == 0


@pytest.mark.parametrize("status", [400, 404, 410, 422])
def test_statuses_that_do_not_pass(stage: Stage, platform: FakePlatform, status: int) -> None:
    platform.then(Answer(status, {"error": "no such pixel"}))
    destination = stage.destination()
    delivery = stage.delivery(destination)
    stage.run()
    stage.advance(1e5)
    stage.run()
    assert len(platform.requests) == 1
    assert stage.of(delivery, "status", "attempts", "error") == ("failed", 1, "no such pixel")
    assert stage.attempts(delivery) == [("failed", status, "no such pixel")]


@pytest.mark.parametrize("status", [401, 403])
def test_held_and_resumed(stage: Stage, platform: FakePlatform, status: int) -> None:
    destination = stage.destination()
    platform.then(Answer(status, {"error": f"the token geheim-{destination} has expired"}))
    deliveries = stage.deliveries(destination, 3)
    stage.run()
    assert stage.state(destination, "status", "status_reason") == (
        "held", "the token [masked] has expired",
    )  # fmt: skip
    assert stage.statuses(destination) == {"queued": 3}
    assert stage.of(deliveries[0], "attempts", "http_status", "finished_at") == (0, status, None)
    assert stage.attempts(deliveries[0]) == [("held", status, "the token [masked] has expired")]
    later = stage.delivery(destination)
    stage.advance(3 * 86_400)
    stage.run()
    assert len(platform.requests) == 1
    stage.connection.execute(
        "UPDATE destinations SET status = 'active', status_reason = NULL WHERE id = %s",
        (destination,),
    )
    stage.run()
    assert stage.statuses(destination) == {"delivered": 4}
    assert stage.of(later, "status") == "delivered"


def test_the_log_tells_when_it_is_held_and_when_it_works_again(
    stage: Stage, platform: FakePlatform
) -> None:
    destination = stage.destination()
    platform.then(Answer(401, {"error": f"the token geheim-{destination} has expired"}))
    stage.deliveries(destination, 3)
    with capture_logs() as lines:
        stage.run()
    ((event, level, reason),) = [
        (line["event"], line["log_level"], line["reason"]) for line in lines
        if line.get("id") == destination
    ]  # fmt: skip
    assert (event, level) == ("destination held", "warning")
    assert reason == "the token [masked] has expired"
    assert stage.state(destination, "held_since") is not None
    stage.connection.execute(
        "UPDATE destinations SET status = 'active', status_reason = NULL WHERE id = %s",
        (destination,),
    )
    with capture_logs() as lines:
        stage.run()
        stage.deliveries(destination, 1)
        stage.run()
    told = [line["event"] for line in lines if line.get("id") == destination]
    assert told == ["destination recovered"]
    assert stage.state(destination, "held_since") is None


@pytest.mark.parametrize(
    "step",
    [
        ResetUnread(), ResetRead(), CutShort(20), CutShort(99, Answer(body=b"x" * 999)),
        EndlessHeaders(), Raw(b"220 mail.example ESMTP\r\n"),
    ],
)  # fmt: skip
def test_no_answer(stage: Stage, platform: FakePlatform, step: Step) -> None:
    platform.then(step)
    destination = stage.destination()
    delivery = stage.delivery(destination)
    stage.run()
    assert stage.of(delivery, "status", "attempts", "http_status") == ("retrying", 1, None)
    assert "127.0.0.1" in stage.of(delivery, "error")
    stage.advance(11)
    stage.run()
    assert stage.of(delivery, "status", "attempts") == ("delivered", 2)
    assert len({part for (part,) in ids_sent(platform.bodies)}) == 1


@pytest.mark.parametrize("step", [Silence(), Drip(interval=0.02)])
def test_an_answer_that_takes_too_long(stage: Stage, platform: FakePlatform, step: Step) -> None:
    platform.then(step)
    stage.seconds = 0.3
    destination = stage.destination()
    delivery = stage.delivery(destination)
    began = time.monotonic()
    stage.run()
    assert time.monotonic() - began < 3
    assert stage.of(delivery, "status", "error") == (
        "retrying", "127.0.0.1 did not answer in time.",
    )  # fmt: skip


def test_nobody_is_there(stage: Stage) -> None:
    with FakePlatform() as gone:
        stage.urls["meta"] = gone.url
    destination = stage.destination()
    delivery = stage.delivery(destination)
    stage.run()
    assert stage.of(delivery, "status") == "retrying"
    assert "refuses connections" in stage.of(delivery, "error")


@pytest.mark.parametrize("step", [Huge(status=400), Huge(declared=False, status=400)])
def test_a_huge_answer(stage: Stage, platform: FakePlatform, step: Step) -> None:
    platform.then(step)
    delivery = stage.delivery(stage.destination())
    stage.run()
    status, answer = stage.of(delivery, "status", "answer")
    assert (status, len(answer)) == ("failed", 4096)


def test_a_packed_huge_answer(stage: Stage, platform: FakePlatform) -> None:
    platform.then(GzipBomb(1 << 26, status=503))
    delivery = stage.delivery(stage.destination())
    stage.run()
    assert stage.of(delivery, "status", "http_status") == ("retrying", 503)


def test_a_redirect_is_not_followed(stage: Stage, platform: FakePlatform) -> None:
    with FakePlatform() as other:
        platform.then(Redirect(other.url))
        delivery = stage.delivery(stage.destination())
        stage.run()
        assert other.connections == 0
    assert stage.of(delivery, "status", "http_status") == ("failed", 307)


def test_an_error_in_a_success(stage: Stage, platform: FakePlatform) -> None:
    platform.then(Answer(200, {"error": "invalid pixel"}))
    delivery = stage.delivery(stage.destination())
    stage.run()
    assert stage.of(delivery, "status", "error") == ("failed", "invalid pixel")


def test_some_are_refused_and_the_others_taken(stage: Stage, platform: FakePlatform) -> None:
    platform.then(Answer(200, {"bad": [1], "taken": True, "again": [2], "error": "no value"}))
    destination = stage.destination()
    deliveries = stage.deliveries(destination, 4)
    stage.run()
    assert [stage.of(each, "status", "error") for each in deliveries] == [
        ("delivered", None), ("failed", "no value"), ("retrying", "no value"), ("delivered", None),
    ]  # fmt: skip
    stage.advance(11)
    stage.run()
    assert stage.statuses(destination) == {"delivered": 3, "failed": 1}
    assert len(platform.requests) == 2


@pytest.mark.parametrize(("header", "waits"), [
    ("120", 120), ("0", 10), ("-5", 10), ("abc", 10), ("99999999", 7210), (None, 10),
])  # fmt: skip
def test_the_whole_destination_waits_as_long_as_asked(
    stage: Stage, platform: FakePlatform, header: str | None, waits: float
) -> None:
    platform.then(Answer(429, {}, {"Retry-After": header} if header else {}))
    destination = stage.destination()
    stage.delivery(destination)
    stage.run()
    stage.delivery(destination)
    assert stage.waits(destination) == pytest.approx(waits, abs=0.01)
    stage.advance(waits - 0.1)
    stage.run()
    assert len(platform.requests) == 1
    stage.advance(0.2)
    stage.run()
    assert stage.statuses(destination) == {"delivered": 2}


def test_a_pause_stops_it_before_the_next_call(stage: Stage, platform: FakePlatform) -> None:
    stage.platform = taking(PLATFORM, limits=Limits(batch=1, age=1e6))
    destination = stage.destination()
    stage.deliveries(destination, 3)

    def pausing(_: Received) -> Answer:
        stage.connection.execute(
            "UPDATE destinations SET status = 'paused' WHERE id = %s", (destination,)
        )
        return Answer()

    platform.then(pausing)
    stage.run()
    assert stage.statuses(destination) == {"delivered": 1, "queued": 2}
    assert stage.state(destination, "status", "lease") == ("paused", None)


def test_settings_that_cannot_be_opened(stage: Stage, platform: FakePlatform) -> None:
    destination = stage.destination()
    stage.connection.execute(
        "UPDATE destinations SET secrets = %s WHERE id = %s", (b"x" * 40, destination)
    )
    stage.delivery(destination)
    stage.run()
    status, reason = stage.state(destination, "status", "status_reason")
    assert status == "held"
    assert "given anew" in reason
    assert not platform.requests


def test_mapped_names_and_settings_are_those_of_now(stage: Stage, platform: FakePlatform) -> None:
    destination = stage.destination(event_names=Jsonb({"purchase": None}))
    delivery = stage.delivery(destination)
    stage.run()
    assert stage.of(delivery, "status", "reason") == ("skipped", "no_mapping")
    assert not platform.requests
