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
from tests.support.destinations import change_platform
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
def exchange(sending: Sending) -> Sending:
    sending.platform = change_platform(PLATFORM, token_request=ask, read_token=read)
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
def tokens(exchange: Sending) -> Iterator[Tokens]:
    tokens = Tokens()
    with FakePlatform(default=tokens) as platform:
        exchange.urls["meta"] = platform.url
        yield tokens


def test_it_works(exchange: Sending, tokens: Tokens) -> None:
    """One token is used until shortly before it expires."""
    destination = exchange.destination()
    exchange.deliveries(destination, 2)
    exchange.run(20, 0)
    assert exchange.statuses(destination) == {"delivered": 2}
    assert tokens.given == 1


@pytest.mark.parametrize(("seconds", "token_count"), [(3500, 1), (3550, 2)])
def test_it_is_fetched_anew_before_it_ends(
    exchange: Sending, tokens: Tokens, seconds: float, token_count: int
) -> None:
    destination = exchange.destination()
    exchange.delivery(destination)
    exchange.delivery(destination, due_at=exchange.moment(seconds - 1))
    exchange.run(2, seconds)
    assert exchange.statuses(destination) == {"delivered": 2}
    assert tokens.given == token_count


def test_one_that_ended_early_is_replaced_once(exchange: Sending, tokens: Tokens) -> None:
    destination = exchange.destination()
    exchange.delivery(destination)
    exchange.delivery(destination, due_at=exchange.moment(60))

    async def run() -> None:
        async with exchange.open_forwarder() as forwarder:
            await forwarder.drain()
            tokens.valid = False
            exchange.advance(100)
            await forwarder.drain()

    asyncio.run(run())
    assert exchange.statuses(destination) == {"delivered": 2}
    assert exchange.state(destination, "status") == "active"
    assert tokens.given == 2


def test_a_new_one_that_is_refused_tells_of_the_credentials(
    exchange: Sending, platform: FakePlatform
) -> None:
    platform.append(Answer(body={"token": "t1", "seconds": 60}), Answer(401, {"error": "not t1"}))
    destination = exchange.destination()
    exchange.delivery(destination)
    exchange.run()
    assert len(platform.requests) == 2
    assert exchange.state(destination, "status", "status_reason") == (
        "held", "not [masked]",
    )  # fmt: skip
    assert exchange.statuses(destination) == {"queued": 1}


@pytest.mark.parametrize(
    ("step", "status", "delivery"),
    [
        (Answer(400), "held", "queued"), (Answer(503), "active", "retrying"),
        (Silence(), "active", "retrying"),
    ],
)  # fmt: skip
def test_no_token_is_to_be_had(
    exchange: Sending, platform: FakePlatform, step: Step, status: str, delivery: str
) -> None:
    platform.append(step)
    exchange.seconds = 1.0
    destination = exchange.destination()
    exchange.delivery(destination)
    exchange.run()
    assert exchange.state(destination, "status") == status
    assert exchange.statuses(destination) == {delivery: 1}
    assert len(platform.requests) == 1


def test_an_answer_nobody_has_thought_of(exchange: Sending, platform: FakePlatform) -> None:
    platform.append(Answer(200, b"[]"))
    destination = exchange.destination()
    exchange.delivery(destination)
    exchange.run()
    assert exchange.statuses(destination) == {"retrying": 1}


def test_secrets_that_hold_one_already(exchange: Sending, platform: FakePlatform) -> None:
    destination = exchange.destination(settings='{"pixel": "own"}')
    exchange.delivery(destination)
    exchange.run()
    (request,) = platform.requests
    assert request.headers["token"] == f"geheim-{destination}"


def test_secrets_that_cannot_be_used(exchange: Sending, platform: FakePlatform) -> None:
    destination = exchange.destination(settings='{"pixel": "broken"}')
    exchange.delivery(destination)
    exchange.run()
    assert not platform.requests
    assert exchange.state(destination, "status", "status_reason") == (
        "held", "The key cannot be read.",
    )  # fmt: skip
