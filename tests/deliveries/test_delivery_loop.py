"""Deliveries over real HTTP to a scripted platform."""

from __future__ import annotations

import time
from typing import cast

import pytest
from psycopg.types.json import Jsonb
from structlog.testing import capture_logs

from headwater.forwarding.deliveries import forwarder
from headwater.forwarding.deliveries.forwarder import DatabaseClock
from headwater.forwarding.platforms.platform import Limits
from tests.deliveries.staging import PLATFORM, Clock, Sending, ids_sent
from tests.support.destinations import change_platform
from tests.support.fake_platform import (
    Answer,
    CutShort,
    Drip,
    EndlessHeaders,
    FakePlatform,
    GzipBomb,
    Huge,
    Raw,
    ReceivedRequest,
    Redirect,
    ResetRead,
    ResetUnread,
    Silence,
    Step,
)


def test_it_works(sending: Sending, platform: FakePlatform) -> None:
    destination = sending.destination()
    event = sending.event("anna@example.com", amount=12, order_id="o1")
    delivery = sending.delivery(destination, event, dedup_id="key")
    sending.run()
    (request,) = platform.requests
    assert (request.method, request.target) == ("POST", "/events")
    assert request.headers["token"] == f"geheim-{destination}"
    item = {"id": "key", "email": "anna@example.com", "click": None, "amount": "12.0000"}
    assert request.json() == {"data": [item]}
    assert sending.read_delivery(delivery, "status", "attempts", "http_status", "error", "answer") == (
        "delivered", 1, 200, None, "{}",
    )  # fmt: skip
    assert sending.read_delivery(delivery, "request") == {"id": "key", "click": None, "amount": "12.0000"}
    assert sending.read_delivery(delivery, "finished_at").timestamp() == pytest.approx(sending.clock.time)
    assert sending.attempts(delivery) == [("delivered", 200, None)]
    assert sending.state(destination, "lease", "leased_until", "failures") == (None, None, 0)
    sending.run()
    assert len(platform.requests) == 1


def test_calls_hold_what_the_platform_takes(sending: Sending, platform: FakePlatform) -> None:
    sending.platform = change_platform(PLATFORM, limits=Limits(batch=4, age=1e6))
    destination = sending.destination()
    sending.deliveries(destination, 10)
    sending.run()
    assert [len(call) for call in ids_sent(platform.bodies)] == [4, 4, 2]
    assert sending.statuses(destination) == {"delivered": 10}


def test_what_is_due_longest_goes_first(sending: Sending, platform: FakePlatform) -> None:
    """Deliveries are sent in order of their due time. They are sorted by attempts only after a platform
    failure.
    """
    sending.platform = change_platform(PLATFORM, limits=Limits(batch=1, age=1e6))
    destination = sending.destination()
    fresh = sending.delivery(destination, due_at=sending.moment(-10))
    retried_delivery = sending.delivery(
        destination, due_at=sending.moment(-20), status="retrying", attempts=1
    )
    oldest = sending.delivery(destination, due_at=sending.moment(-30))
    sending.run()
    expected = [
        [sending.read_delivery(delivery, "dedup_id")] for delivery in (oldest, retried_delivery, fresh)
    ]
    assert ids_sent(platform.bodies) == expected


def test_a_platform_that_takes_fewer_of_some(sending: Sending, platform: FakePlatform) -> None:
    sending.platform = change_platform(PLATFORM, count_fitting=lambda parts: min(len(parts), 3))
    destination = sending.destination()
    sending.deliveries(destination, 7)
    sending.run()
    assert [len(call) for call in ids_sent(platform.bodies)] == [3, 3, 1]
    assert sending.statuses(destination) == {"delivered": 7}


@pytest.mark.parametrize("status", [408 + 21, 500, 502, 503, 504])
def test_statuses_that_pass(sending: Sending, platform: FakePlatform, status: int) -> None:
    platform.append(Answer(status, {"error": "overloaded, says anna@example.com"}))
    destination = sending.destination()
    first, second = sending.deliveries(destination, 2)
    sending.run()
    assert len(platform.requests) == 1
    for delivery in (first, second):
        assert sending.read_delivery(delivery, "status", "attempts", "http_status", "error") == (
            "retrying", 1, status, "overloaded, says [masked]",
        )  # fmt: skip
        assert sending.attempts(delivery) == [("retrying", status, "overloaded, says [masked]")]
        assert sending.read_delivery(delivery, "answer") == '{"error":"overloaded, says [masked]"}'
    assert sending.seconds_to_wait(destination) == pytest.approx(10, abs=0.01)
    sending.advance(9)
    sending.run()
    assert len(platform.requests) == 1
    sending.advance(2)
    sending.run()
    assert ids_sent(platform.bodies)[1:] == [[f"id-{sending.read_delivery(first, 'event_id')}"],
                                             [f"id-{sending.read_delivery(second, 'event_id')}"]]  # fmt: skip
    assert sending.statuses(destination) == {"delivered": 2}
    assert sending.state(destination, "failures") == 0


@pytest.mark.parametrize("status", [400, 404, 410, 422])
def test_statuses_that_do_not_pass(sending: Sending, platform: FakePlatform, status: int) -> None:
    platform.append(Answer(status, {"error": "no such pixel"}))
    destination = sending.destination()
    delivery = sending.delivery(destination)
    sending.run()
    sending.advance(1e5)
    sending.run()
    assert len(platform.requests) == 1
    assert sending.read_delivery(delivery, "status", "attempts", "error") == ("failed", 1, "no such pixel")
    assert sending.attempts(delivery) == [("failed", status, "no such pixel")]


@pytest.mark.parametrize("status", [401, 403])
def test_held_and_resumed(sending: Sending, platform: FakePlatform, status: int) -> None:
    destination = sending.destination()
    platform.append(Answer(status, {"error": f"the token geheim-{destination} has expired"}))
    deliveries = sending.deliveries(destination, 3)
    sending.run()
    assert sending.state(destination, "status", "status_reason") == (
        "held", "the token [masked] has expired",
    )  # fmt: skip
    assert sending.statuses(destination) == {"queued": 3}
    assert sending.read_delivery(deliveries[0], "attempts", "http_status", "finished_at") == (0, status, None)
    assert sending.attempts(deliveries[0]) == [("held", status, "the token [masked] has expired")]
    later = sending.delivery(destination)
    sending.advance(3 * 86_400)
    sending.run()
    assert len(platform.requests) == 1
    sending.connection.execute(
        "UPDATE destinations SET status = 'active', status_reason = NULL WHERE id = %s", (destination,)
    )
    sending.run()
    assert sending.statuses(destination) == {"delivered": 4}
    assert sending.read_delivery(later, "status") == "delivered"


def test_a_token_replaced_during_a_call_is_tried(sending: Sending, platform: FakePlatform) -> None:
    destination = sending.destination()

    def refuse(_: ReceivedRequest) -> Answer:
        sending.replace_secrets(destination, "replaced")
        return Answer(401, {"error": "the token has expired"})

    platform.append(refuse)
    delivery = sending.delivery(destination)
    sending.run()
    assert sending.state(destination, "status") == "active"
    sending.run()
    assert [request.headers["token"] for request in platform.requests] == [
        f"geheim-{destination}",
        "replaced",
    ]
    assert sending.read_delivery(delivery, "status") == "delivered"


def test_the_log_tells_when_it_is_held_and_when_it_works_again(
    sending: Sending, platform: FakePlatform
) -> None:
    destination = sending.destination()
    platform.append(Answer(401, {"error": f"the token geheim-{destination} has expired"}))
    sending.deliveries(destination, 3)
    with capture_logs() as lines:
        sending.run()
    ((event, level, reason),) = [
        (line["event"], line["log_level"], line["reason"]) for line in lines
        if line.get("id") == destination
    ]  # fmt: skip
    assert (event, level) == ("destination held", "warning")
    assert reason == "the token [masked] has expired"
    assert sending.state(destination, "held_since") is not None
    sending.connection.execute(
        "UPDATE destinations SET status = 'active', status_reason = NULL WHERE id = %s", (destination,)
    )
    with capture_logs() as lines:
        sending.run()
        sending.deliveries(destination, 1)
        sending.run()
    log_events = [line["event"] for line in lines if line.get("id") == destination]
    assert log_events == ["destination recovered"]
    assert sending.state(destination, "held_since") is None


@pytest.mark.parametrize(
    "step",
    [
        ResetUnread(), ResetRead(), CutShort(20), CutShort(99, Answer(body=b"x" * 999)),
        EndlessHeaders(), Raw(b"220 mail.example ESMTP\r\n"),
    ],
)  # fmt: skip
def test_no_answer(sending: Sending, platform: FakePlatform, step: Step) -> None:
    platform.append(step)
    destination = sending.destination()
    delivery = sending.delivery(destination)
    sending.run()
    assert sending.read_delivery(delivery, "status", "attempts", "http_status") == ("retrying", 1, None)
    assert "127.0.0.1" in sending.read_delivery(delivery, "error")
    sending.advance(11)
    sending.run()
    assert sending.read_delivery(delivery, "status", "attempts") == ("delivered", 2)
    assert len({item_id for (item_id,) in ids_sent(platform.bodies)}) == 1


@pytest.mark.parametrize("step", [Silence(), Drip(interval=0.02)])
def test_an_answer_that_takes_too_long(sending: Sending, platform: FakePlatform, step: Step) -> None:
    platform.append(step)
    sending.seconds = 1.0
    destination = sending.destination()
    delivery = sending.delivery(destination)
    start_time = time.monotonic()
    sending.run()
    assert time.monotonic() - start_time < 3
    assert sending.read_delivery(delivery, "status", "error") == (
        "retrying", "127.0.0.1 did not answer in time.",
    )  # fmt: skip


def test_an_unreachable_platform_is_retried(sending: Sending) -> None:
    with FakePlatform() as stopped_platform:
        sending.urls["meta"] = stopped_platform.url
    destination = sending.destination()
    delivery = sending.delivery(destination)
    sending.run()
    assert sending.read_delivery(delivery, "status") == "retrying"
    assert "refuses connections" in sending.read_delivery(delivery, "error")


@pytest.mark.parametrize("step", [Huge(status=400), Huge(has_length=False, status=400)])
def test_a_huge_answer(sending: Sending, platform: FakePlatform, step: Step) -> None:
    platform.append(step)
    delivery = sending.delivery(sending.destination())
    sending.run()
    status, answer = sending.read_delivery(delivery, "status", "answer")
    assert (status, len(answer)) == ("failed", 4096)


def test_a_packed_huge_answer(sending: Sending, platform: FakePlatform) -> None:
    platform.append(GzipBomb(1 << 26, status=503))
    delivery = sending.delivery(sending.destination())
    sending.run()
    assert sending.read_delivery(delivery, "status", "http_status") == ("retrying", 503)


def test_a_redirect_is_not_followed(sending: Sending, platform: FakePlatform) -> None:
    with FakePlatform() as other_platform:
        platform.append(Redirect(other_platform.url))
        delivery = sending.delivery(sending.destination())
        sending.run()
        assert other_platform.connections == 0
    assert sending.read_delivery(delivery, "status", "http_status") == ("failed", 307)


def test_an_error_in_a_success(sending: Sending, platform: FakePlatform) -> None:
    platform.append(Answer(200, {"error": "invalid pixel"}))
    delivery = sending.delivery(sending.destination())
    sending.run()
    assert sending.read_delivery(delivery, "status", "error") == ("failed", "invalid pixel")


def test_some_are_refused_and_the_others_taken(sending: Sending, platform: FakePlatform) -> None:
    platform.append(Answer(200, {"bad": [1], "taken": True, "again": [2], "error": "no value"}))
    destination = sending.destination()
    deliveries = sending.deliveries(destination, 4)
    sending.run()
    assert [sending.read_delivery(delivery, "status", "error") for delivery in deliveries] == [
        ("delivered", None), ("failed", "no value"), ("retrying", "no value"), ("delivered", None),
    ]  # fmt: skip
    sending.advance(11)
    sending.run()
    assert sending.statuses(destination) == {"delivered": 3, "failed": 1}
    assert len(platform.requests) == 2


@pytest.mark.parametrize(("header", "waits"), [
    ("120", 120), ("0", 10), ("-5", 10), ("abc", 10), ("99999999", 7210), (None, 10),
])  # fmt: skip
def test_the_whole_destination_waits_as_long_as_asked(
    sending: Sending, platform: FakePlatform, header: str | None, waits: float
) -> None:
    platform.append(Answer(429, {}, {"Retry-After": header} if header else {}))
    destination = sending.destination()
    sending.delivery(destination)
    sending.run()
    sending.delivery(destination)
    assert sending.seconds_to_wait(destination) == pytest.approx(waits, abs=0.01)
    sending.advance(waits - 0.1)
    sending.run()
    assert len(platform.requests) == 1
    sending.advance(0.2)
    sending.run()
    assert sending.statuses(destination) == {"delivered": 2}


def test_a_pause_stops_it_before_the_next_call(sending: Sending, platform: FakePlatform) -> None:
    sending.platform = change_platform(PLATFORM, limits=Limits(batch=1, age=1e6))
    destination = sending.destination()
    sending.deliveries(destination, 3)

    def pause_destination(_: ReceivedRequest) -> Answer:
        sending.connection.execute("UPDATE destinations SET status = 'paused' WHERE id = %s", (destination,))
        return Answer()

    platform.append(pause_destination)
    sending.run()
    assert sending.statuses(destination) == {"delivered": 1, "queued": 2}
    assert sending.state(destination, "status", "lease") == ("paused", None)


def test_settings_that_cannot_be_opened(sending: Sending, platform: FakePlatform) -> None:
    destination = sending.destination()
    sending.connection.execute("UPDATE destinations SET secrets = %s WHERE id = %s", (b"x" * 40, destination))
    sending.delivery(destination)
    sending.run()
    status, reason = sending.state(destination, "status", "status_reason")
    assert status == "held"
    assert "Enter the tokens again" in reason
    assert not platform.requests


def test_a_platform_of_a_newer_version(sending: Sending, platform: FakePlatform) -> None:
    """Its deliveries wait for that version."""
    destination = sending.destination(platform="tiktok")
    sending.delivery(destination)
    sending.run()
    status, reason = sending.state(destination, "status", "status_reason")
    assert status == "held"
    assert "does not know the platform" in reason
    assert sending.statuses(destination) == {"queued": 1}
    assert not platform.requests


def test_the_time_is_read_from_the_database_again(
    sending: Sending, platform: FakePlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time of a process stands still while its computer sleeps."""
    destination = sending.destination()
    sending.delivery(destination, due_at=sending.moment(-60))
    sending.clock = cast("Clock", DatabaseClock(0))
    sending.run()
    assert not platform.requests
    monkeypatch.setattr(forwarder, "CLOCK_SECONDS", -1)
    sending.run()
    assert sending.statuses(destination) == {"delivered": 1}


def test_a_value_that_is_no_address(sending: Sending, platform: FakePlatform) -> None:
    """Personal values are collected after the call: a failure would send the event again and again."""
    destination = sending.destination()
    delivery = sending.delivery(destination, sending.event(email="//[a@example.com"))
    platform.append(Answer(400, {"error": "//[a@example.com is bad"}))
    sending.run()
    assert sending.read_delivery(delivery, "status", "error") == ("failed", "//[[masked] is bad")


def test_mapped_names_and_settings_are_those_of_now(sending: Sending, platform: FakePlatform) -> None:
    destination = sending.destination(event_names=Jsonb({"purchase": None}))
    delivery = sending.delivery(destination)
    sending.run()
    assert sending.read_delivery(delivery, "status", "reason") == ("skipped", "no_mapping")
    assert not platform.requests
