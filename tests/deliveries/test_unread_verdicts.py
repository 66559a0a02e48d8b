"""Verdicts that Google does not give at once, or that cannot be read."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.base.egress.oauth import IssuedToken, TokenError
from headwater.forwarding.platforms.models import Destination
from tests.deliveries.staging import Sending
from tests.deliveries.test_verdicts import (
    DAY,
    GOOGLE,
    HALF_HOUR,
    NAMES,
    SETTINGS,
    Verdicts,
    group,
    later,
    open_requests,
    results,
    send,
)
from tests.deliveries.test_verdicts import google as google  # noqa: PLC0414 # a fixture
from tests.support.destinations import change_platform
from tests.support.fake_platform import Answer, FakePlatform, ReceivedRequest, Silence, Step


@pytest.mark.parametrize(
    ("answer", "wait"),
    [
        *((answer, HALF_HOUR) for answer in (
            Answer(429), Answer(500), Answer(401), Answer(403), Answer(404, b"<html>"),
            Answer(200, b"<html>"), Answer(404, {"error": {"status": "UNAUTHENTICATED"}}), Silence(),
            Answer(200, [1]), Answer(429, headers={"Retry-After": "60"}),
        )),
        (Answer(429, headers={"Retry-After": "7000"}), 7000),
        (Answer(503, headers={"Retry-After": "999999"}), 5 * HALF_HOUR),
    ],
)  # fmt: skip
def test_asked_again_later(sending: Sending, google: Verdicts, answer: Step, wait: int) -> None:
    """The destination is neither held nor paused, and its other requests wait too."""
    sending.seconds = 1.0
    google.answers = [answer]
    destination = sending.destination(settings=SETTINGS, event_names=NAMES)
    deliveries = []
    for _ in range(2):
        deliveries += [sending.delivery(destination)]
        sending.run()
    later(sending)
    assert len(google.requested_ids) == 1
    assert sending.state(destination, "status", "failures") == ("active", 0)
    assert [due for _, _, due in open_requests(sending)] == [pytest.approx(wait, abs=1)] * 2
    google.answers = [[group("SUCCESS")]]
    later(sending, wait + 1)
    assert results(sending, deliveries) == [("counted", None)] * 2


@pytest.mark.parametrize("method", ["read_request_id", "read_verdicts"])
def test_a_fault_in_reading_stops_no_sending(sending: Sending, google: Verdicts, method: str) -> None:
    """The platform has the events, so they are not sent again. Verdicts are read once that works."""
    platform = sending.platform

    def explode(*_: Any) -> Any:
        raise ValueError("a fault of the platform's code")

    sending.platform = change_platform(platform, **{method: explode})
    deliveries = send(sending, "purchase")
    later(sending)
    assert results(sending, deliveries) == [("delivered", None)]
    assert google.accepted == 1
    assert len(open_requests(sending)) == (method == "read_verdicts")
    sending.platform = platform
    later(sending)
    assert results(sending, deliveries) == [("counted" if method == "read_verdicts" else "delivered", None)]


@pytest.mark.parametrize(
    ("second_token", "status", "due_count"),
    [(Answer(body="t2"), "counted", 0), (Answer(400), "delivered", 1)],
)
def test_a_revoked_token_is_replaced(
    sending: Sending, second_token: Answer, status: str, due_count: int
) -> None:
    """Without a new one, the verdicts are read later. The destination is not held."""
    google, tokens = Verdicts(), [Answer(body="t1"), second_token]

    def react(request: ReceivedRequest) -> Step:
        if request.target == "/token":
            return tokens.pop(0)
        is_revoked = request.method == "GET" and request.headers["authorization"] != "Bearer t2"
        return Answer(401) if is_revoked else google(request)

    def read_token(answer: EgressResponse) -> IssuedToken | TokenError:
        if answer.status == 400:
            return TokenError("The grant was taken back.", is_temporary=False)
        return IssuedToken(msgspec.json.decode(answer.body), DAY)

    def request_token(destination: Destination, _: float) -> EgressRequest:
        return EgressRequest(url=f"{destination.url}/token", body=b"")

    async def run() -> None:
        async with sending.open_forwarder() as forwarder:
            await forwarder.drain()
            sending.advance(HALF_HOUR + 1)
            await forwarder.drain()

    sending.platform = change_platform(GOOGLE, token_request=request_token, read_token=read_token)
    with FakePlatform(default=react) as platform:
        sending.urls["google"] = platform.url
        destination = sending.destination(settings=SETTINGS, event_names=NAMES)
        delivery = sending.delivery(destination)
        asyncio.run(run())
    assert results(sending, [delivery]) == [(status, None)]
    assert len(open_requests(sending)) == due_count
    assert sending.state(destination, "status") == "active"
    assert tokens == []
