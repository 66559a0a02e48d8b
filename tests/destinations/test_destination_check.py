"""Sending a made-up conversion to a platform, without a network."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from msgspec.structs import astuple

from headwater.base.egress.models import EgressRequest, EgressResponse, TimedOut
from headwater.base.egress.oauth import IssuedToken, TokenError
from headwater.base.settings import Settings
from headwater.forwarding.destinations.destination_check import DestinationCheck, sample, try_destination
from headwater.forwarding.platforms import registry
from headwater.forwarding.platforms.models import (
    Bisect,
    CallDeferred,
    CallRefused,
    CredentialsRefused,
    Destination,
    PartlyAccepted,
    Verdict,
)
from headwater.forwarding.platforms.origins import find_url, list_operator_hosts
from headwater.forwarding.platforms.platform import Platform
from tests.platforms.test_platforms import sample as a_destination
from tests.support.destinations import (
    PROBE,
    FakeSender,
    change_platform,
    keep_no_token,
    make_destination,
    make_response,
)


def try_probe(
    sender: FakeSender, platform: Platform = PROBE, destination: Destination | None = None
) -> DestinationCheck:
    return asyncio.run(try_destination(sender, destination or make_destination(), platform, keep_no_token))


def test_it_works() -> None:
    sender = FakeSender(make_response())
    assert astuple(try_probe(sender)) == (True, 200, "Probe accepted the test event.", None)
    (call,) = sender.calls
    body = msgspec.json.decode(call.body)
    assert body["test"] is True
    assert body["data"][0]["em"] == "test@example.com"
    assert body["data"][0]["id"].startswith("headwater-test-")


def test_no_answer() -> None:
    outcome = try_probe(FakeSender(TimedOut("probe.example did not answer in time.")))
    assert astuple(outcome)[:3] == (False, None, "probe.example did not answer in time.")
    assert outcome.remedy is not None
    assert outcome.remedy.startswith("Probe could not be reached.")
    assert outcome.remedy.endswith("this server can connect to probe.example.")


@pytest.mark.parametrize(
    ("verdict", "message", "remedy"),
    [
        (CallRefused("Bad pixel."), "Bad pixel.", "rejected the test event."),
        (CallDeferred("Busy.", 5), "Busy.", "is temporarily unavailable."),
        (CredentialsRefused("Bad token."), "Bad token.", "rejected the token"),
        (CredentialsRefused("None.", account=True), "None.", "does not know this pixel id"),
        (Bisect("One is bad."), "One is bad.", "rejected the test event."),
        (PartlyAccepted({0: "Too old."}, others_taken=False), "Too old.", "rejected the test"),
        (PartlyAccepted({}, others_taken=True, retryable={0: "Later."}), "Later.", "rejected the"),
    ],
)
def test_what_the_platform_says_and_what_to_do(verdict: Verdict, message: str, remedy: str) -> None:
    platform = change_platform(PROBE, classify=lambda *_: verdict)
    outcome = try_probe(FakeSender(make_response(400)), platform)
    assert astuple(outcome)[:3] == (False, 400, message)
    assert outcome.remedy is not None
    assert outcome.remedy.startswith(f"Probe {remedy}")


def test_a_platform_without_a_test_mode_is_not_asked() -> None:
    platform = change_platform(PROBE, test_event_problem=lambda _: "A trial would count.")
    assert astuple(try_probe(FakeSender(), platform)) == (False, None, "A trial would count.", None)


def exchange(call: EgressRequest | Exception | None) -> dict[str, Any]:
    def request(_: Destination, __: float) -> EgressRequest | None:
        if isinstance(call, Exception):
            raise call
        return call

    def read(answer: EgressResponse) -> IssuedToken | TokenError:
        is_issued = answer.status == 200
        return IssuedToken(answer.body.decode(), 60.0) if is_issued else TokenError("No token.", False)

    return {"token_request": request, "read_token": read}


def test_a_token_is_had_first() -> None:
    tokens: list[str | None] = []

    def request(parts: Any, destination: Destination) -> EgressRequest:
        tokens.append(destination.access_token)
        return PROBE.request(parts, destination)

    token_request = EgressRequest(url="https://probe.example/token", body=b"")
    platform = change_platform(PROBE, request=request, **exchange(token_request))
    sender = FakeSender(make_response(body=b"short"), make_response())
    assert try_probe(sender, platform).ok
    assert (sender.calls[0], tokens) == (token_request, ["short"])
    assert astuple(try_probe(FakeSender(make_response(400)), platform))[:3] == (False, 400, "No token.")
    assert try_probe(FakeSender(make_response()), change_platform(platform, **exchange(None))).ok
    bad = change_platform(platform, **exchange(ValueError("The key cannot be read.")))
    assert astuple(try_probe(FakeSender(), bad))[:3] == (False, None, "The key cannot be read.")


@pytest.mark.parametrize("name", registry.PLATFORMS)
def test_the_made_up_event_is_one_that_every_platform_takes(name: str) -> None:
    platform = registry.PLATFORMS[name]
    destination = a_destination(platform)
    conversion = sample(platform, destination, 1_790_000_000.0)
    assert conversion is not None
    assert conversion.event_name == "purchase"
    assert platform.skip_reason(conversion, destination) is None
    assert platform.request([platform.build(conversion, destination)], destination).body


def test_what_is_tried_is_sent_at_all() -> None:
    event_names = dict.fromkeys(PROBE.event_names) | {"custom_event_7": "Seven"}
    conversion = sample(PROBE, make_destination(event_names), 0)
    assert conversion is not None
    assert conversion.event_name == "custom_event_7"
    assert sample(PROBE, make_destination(dict.fromkeys(PROBE.event_names)), 0) is None


def test_origins() -> None:
    assert list_operator_hosts(Settings()) == frozenset()
    settings = Settings(platform_urls={"meta": "http://127.0.0.1:9", "tiktok": "https://Tik.example"})
    assert list_operator_hosts(settings) == {"127.0.0.1", "tik.example"}
    assert find_url(settings, PROBE) == "http://127.0.0.1:9"
    assert find_url(Settings(), change_platform(PROBE, name="other")) == "https://probe.example"
