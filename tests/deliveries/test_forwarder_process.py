"""`headwater forwarder` as a process, running normally and killed, with the real Meta platform module."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from headwater.events.accepted import AcceptedEvent
from headwater.forwarding.platforms.registry import PLATFORMS
from headwater.spaces.encryption import derive_key
from tests.deliveries.staging import Sending
from tests.support.campaigns import IS_LONG
from tests.support.fake_platform import Answer, FakePlatform, ReceivedRequest
from tests.support.processes import environment
from tests.support.waiting import wait_until

SECRET = "s" * 32
SETTINGS = '{"pixel_id": "1234567890"}'
POINTS = ("forward_before_send", "forward_after_send", "forward_before_commit")


@pytest.fixture
def meta(sending: Sending) -> Sending:
    """A Space with the real Meta platform and the process's key."""
    sending.platform, sending.key = PLATFORMS["meta"], derive_key(SECRET)
    sending.clock.time -= 2
    return sending


def take(request: ReceivedRequest) -> Answer:
    """Accept every event of a call, like Meta."""
    return Answer(body={"events_received": len(request.json()["data"]), "messages": []})


@pytest.fixture
def platform() -> Iterator[FakePlatform]:
    with FakePlatform(default=take) as platform:
        yield platform


Launch = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def launch(meta: Sending, platform: FakePlatform, tmp_path: Path) -> Launch:
    """Start a command with the fake platform in place of Meta."""

    def start(command: str, **extra_variables: str) -> subprocess.Popen[bytes]:
        variables = environment(
            HEADWATER_DATABASE_URL=meta.database_url, HEADWATER_SECRET_KEY=SECRET,
            HEADWATER_META_URL=platform.url, HEADWATER_DATA_DIR=str(tmp_path), **extra_variables,
        )  # fmt: skip
        return subprocess.Popen([sys.executable, "-m", "headwater", command], env=variables)

    return start


@contextmanager
def end_with_block(process: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


def sent_event_ids(platform: FakePlatform) -> list[list[str]]:
    """Return the event ids of each call."""
    return [[event["event_id"] for event in body["data"]] for body in platform.bodies]


def test_it_works(meta: Sending, platform: FakePlatform, launch: Launch) -> None:
    destination = meta.destination(settings=SETTINGS)
    event = meta.event("anna@example.com", amount=12, user_agent="UA", ip="192.0.2.7")
    delivery = meta.delivery(destination, event, dedup_id="key")
    with end_with_block(launch("forwarder")):
        wait_until(lambda: meta.read_delivery(delivery, "status") == "delivered")
    (request,) = platform.requests
    (payload,) = request.json()["data"]
    assert "1234567890/events" in request.target
    assert (payload["event_id"], payload["event_name"], payload["custom_data"]["value"]) == (
        "key", "Purchase", 12,
    )  # fmt: skip
    stored_text = str(meta.read_delivery(delivery, "request", "answer", "error"))
    assert "Purchase" in stored_text
    assert not any(word in stored_text for word in ("anna", "geheim", "192.0.2.7", *_hashes(payload)))


def _hashes(payload: Any) -> list[str]:
    return [email_hash for email_hash in payload["user_data"].get("em", []) if email_hash]


def test_errors_of_meta_are_told_without_secrets(meta: Sending, platform: FakePlatform) -> None:
    error = {"message": "Invalid OAuth access token geheim of anna@example.com", "code": 190}
    platform.append(Answer(400, {"error": error}))
    destination = meta.destination(settings=SETTINGS)
    delivery = meta.delivery(destination)
    meta.urls["meta"] = platform.url
    meta.run()
    assert meta.state(destination, "status") == "held"
    words = str(meta.state(destination, "status_reason"))
    words += str(meta.read_delivery(delivery, "error", "answer"))
    assert "Invalid OAuth access token" in words
    assert f"geheim-{destination}" not in words
    assert "anna@" not in words
    assert meta.read_delivery(delivery, "status", "attempts") == ("queued", 0)


@pytest.mark.parametrize("point", POINTS if IS_LONG else ["forward_after_send"])
def test_killed_anywhere_nothing_is_lost_or_renamed(
    meta: Sending, platform: FakePlatform, launch: Launch, point: str
) -> None:
    destination = meta.destination(settings=SETTINGS)
    deliveries = meta.deliveries(destination, 5)
    assert launch("forwarder", HEADWATER_FAILPOINT=point).wait(30) == -signal.SIGKILL
    assert len(platform.requests) == (point != "forward_before_send")
    assert meta.statuses(destination) == {"queued": 5}
    assert meta.state(destination, "lease") is not None
    # Half a minute later, the lease has expired.
    meta.connection.execute("UPDATE destinations SET leased_until = now() WHERE id = %s", (destination,))
    with end_with_block(launch("forwarder")):
        wait_until(lambda: meta.statuses(destination) == {"delivered": 5})
    ids = sorted(meta.read_delivery(delivery, "dedup_id") for delivery in deliveries)
    assert [sorted(call) for call in sent_event_ids(platform)] == [ids] * len(platform.requests)
    # Every attempt sends the same bytes.
    assert len({request.body for request in platform.requests}) == 1


def test_a_call_that_was_never_answered_is_made_again_with_the_same_id(
    meta: Sending, platform: FakePlatform, launch: Launch
) -> None:
    delivery = meta.delivery(meta.destination(settings=SETTINGS))
    process = launch("forwarder")

    def dies(_: ReceivedRequest) -> Answer:
        process.kill()
        return Answer()

    platform.append(dies)
    assert process.wait(30) == -signal.SIGKILL
    meta.connection.execute("UPDATE destinations SET leased_until = now()")
    with end_with_block(launch("forwarder")):
        wait_until(lambda: meta.read_delivery(delivery, "status") == "delivered")
    first, second = sent_event_ids(platform)
    assert first == second == [meta.read_delivery(delivery, "dedup_id")]


def test_workers_start_it_for_what_they_have_processed(
    meta: Sending, platform: FakePlatform, launch: Launch
) -> None:
    """Each event gets from the inbox to the platform. For the second event, the forwarder may still be
    running.
    """
    destination = meta.destination(settings=SETTINGS)
    moment = int(meta.clock.time * 1000) - 60_000
    with end_with_block(launch("worker")):
        for number in (1, 2):
            accepted_event = AcceptedEvent(
                event_name="purchase", event_time=moment, email="anna@example.com",
                amount="7.5", user_agent="UA", idempotency_key=f"order-{number}",
            )  # fmt: skip
            payload = msgspec.json.encode(accepted_event).decode()
            meta.connection.execute(
                "INSERT INTO inbox (space_id, kind, sender, received_at, payload)"
                " VALUES (%s, 'event', 'api_key', now(), %s)", (meta.space_id, payload),
            )  # fmt: skip
            wait_until(lambda: meta.statuses(destination) == {"delivered": number})  # noqa: B023
    assert sent_event_ids(platform) == [["order-1"], ["order-2"]]


def test_it_ends_with_its_worker(meta: Sending) -> None:
    """The end of the leash pipe shows the forwarder that its worker is gone."""
    variables = environment(HEADWATER_DATABASE_URL=meta.database_url, HEADWATER_SECRET_KEY=SECRET)
    read_end, write_end = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "headwater", "forwarder", "--leash"], env=variables, stdin=read_end
    )
    os.close(read_end)
    os.close(write_end)
    assert process.wait(20) in (0, -signal.SIGTERM)
