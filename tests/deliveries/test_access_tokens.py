"""Platforms that need an access token from a token endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.base.egress.oauth import IssuedToken, TokenError
from headwater.forwarding.platforms.models import Destination
from tests.deliveries.staging import PLATFORM, Sending
from tests.support.destinations import taking
from tests.support.fake_platform import Answer, FakePlatform, Silence, Step


def ask(destination: Destination, _: float) -> EgressRequest | None:
    if destination.settings.pixel == "own":
        return None
    if destination.settings.pixel == "broken":
        raise ValueError("The key cannot be read.")
    return EgressRequest(url=f"{destination.url}/token", body=b"{}")


def read(answer: EgressResponse) -> IssuedToken | TokenError:
    if answer.status >= 500:
        return TokenError("no token now", is_temporary=True)
    if answer.status >= 400:
        return TokenError("the grant has been taken back", is_temporary=False)
    body = msgspec.json.decode(answer.body)
    return IssuedToken(body["token"], body["seconds"])


@pytest.fixture
def exchanging(sending: Sending) -> Sending:
    sending.platform = taking(PLATFORM, token_request=ask, read_token=read)
    return sending


class Tokens:
    """Issue tokens, and accept calls that have the latest token."""

    def __init__(self, seconds: float = 3600) -> None:
        self.seconds, self.given = seconds, 0
        self.valid = True

    def __call__(self, request: Any) -> Answer:
        if request.target == "/token":
            self.given += 1
            self.valid = True
            return Answer(body={"token": f"t{self.given}", "seconds": self.seconds})
        good = self.valid and request.headers["token"] == f"t{self.given}"
        return Answer() if good else Answer(401, {"error": "the token t1 is not valid"})


@pytest.fixture
def tokens(exchanging: Sending) -> Iterator[Tokens]:
    tokens = Tokens()
    with FakePlatform(otherwise=tokens) as platform:
        exchanging.urls["meta"] = platform.url
        yield tokens


def test_it_works(exchanging: Sending, tokens: Tokens) -> None:
    """One token is used until shortly before it expires."""
    destination = exchanging.destination()
    exchanging.deliveries(destination, 2)
    exchanging.run(20, 0)
    assert exchanging.statuses(destination) == {"delivered": 2}
    assert tokens.given == 1


@pytest.mark.parametrize(("passed", "given"), [(3500, 1), (3550, 2)])
def test_it_is_fetched_anew_before_it_ends(
    exchanging: Sending, tokens: Tokens, passed: float, given: int
) -> None:
    destination = exchanging.destination()
    exchanging.delivery(destination)
    exchanging.delivery(destination, due_at=exchanging.moment(passed - 1))
    exchanging.run(2, passed)
    assert exchanging.statuses(destination) == {"delivered": 2}
    assert tokens.given == given


def test_one_that_ended_early_is_replaced_once(exchanging: Sending, tokens: Tokens) -> None:
    destination = exchanging.destination()
    exchanging.delivery(destination)
    exchanging.delivery(destination, due_at=exchanging.moment(60))

    async def run() -> None:
        async with exchanging.opened() as forwarder:
            await forwarder.drain()
            tokens.valid = False
            exchanging.advance(100)
            await forwarder.drain()

    asyncio.run(run())
    assert exchanging.statuses(destination) == {"delivered": 2}
    assert exchanging.state(destination, "status") == "active"
    assert tokens.given == 2


def test_a_new_one_that_is_refused_tells_of_the_credentials(
    exchanging: Sending, platform: FakePlatform
) -> None:
    platform.then(Answer(body={"token": "t1", "seconds": 60}), Answer(401, {"error": "not t1"}))
    destination = exchanging.destination()
    exchanging.delivery(destination)
    exchanging.run()
    assert len(platform.requests) == 2
    assert exchanging.state(destination, "status", "status_reason") == (
        "held", "not [masked]",
    )  # fmt: skip
    assert exchanging.statuses(destination) == {"queued": 1}


@pytest.mark.parametrize(
    ("step", "status", "delivery"),
    [
        (Answer(400), "held", "queued"), (Answer(503), "active", "retrying"),
        (Silence(), "active", "retrying"),
    ],
)  # fmt: skip
def test_no_token_is_to_be_had(
    exchanging: Sending, platform: FakePlatform, step: Step, status: str, delivery: str
) -> None:
    platform.then(step)
    exchanging.seconds = 0.3
    destination = exchanging.destination()
    exchanging.delivery(destination)
    exchanging.run()
    assert exchanging.state(destination, "status") == status
    assert exchanging.statuses(destination) == {delivery: 1}
    assert len(platform.requests) == 1


def test_an_answer_nobody_has_thought_of(exchanging: Sending, platform: FakePlatform) -> None:
    platform.then(Answer(200, b"[]"))
    destination = exchanging.destination()
    exchanging.delivery(destination)
    exchanging.run()
    assert exchanging.statuses(destination) == {"retrying": 1}


def test_secrets_that_hold_one_already(exchanging: Sending, platform: FakePlatform) -> None:
    destination = exchanging.destination(settings='{"pixel": "own"}')
    exchanging.delivery(destination)
    exchanging.run()
    (request,) = platform.requests
    assert request.headers["token"] == f"geheim-{destination}"


def test_secrets_that_cannot_be_used(exchanging: Sending, platform: FakePlatform) -> None:
    destination = exchanging.destination(settings='{"pixel": "broken"}')
    exchanging.delivery(destination)
    exchanging.run()
    assert not platform.requests
    assert exchanging.state(destination, "status", "status_reason") == (
        "held", "The key cannot be read.",
    )  # fmt: skip
