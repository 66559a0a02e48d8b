"""One call to a platform with everything that belongs to it: the access token, the answer, and the
verdict on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import structlog

from headwater.egress.models import Answer, EgressError
from headwater.forwarding.models import Destination, Held, Retry, Verdict
from headwater.forwarding.platforms.platform import Platform, TokenExchange
from headwater.forwarding.tokens import Refusal, Sender, Tokens

log = structlog.get_logger()


class Called(NamedTuple):
    """How a call went."""

    verdict: Verdict
    answer: Answer | None = None
    """None when there was none."""
    token: str | None = None
    """The access token that was used."""


class Caller:
    """Makes calls. One serves all destinations."""

    def __init__(self, egress: Sender) -> None:
        self._egress = egress
        self._tokens = Tokens(egress)

    async def call(
        self,
        platform: Platform,
        destination: Destination,
        parts: Sequence[dict[str, Any]],
        now: float,
    ) -> Called:
        """Send events. A token that the platform no longer accepts is replaced once, as it may have
        ended early; only a new one that is refused as well tells of the credentials.
        """
        had_token = self._tokens.holds(destination)
        called = await self._once(platform, destination, parts, now)
        if isinstance(called.verdict, Held) and platform.token is not None:
            self._tokens.forget(destination)
            if had_token:
                return await self._once(platform, destination, parts, now)
        return called

    async def _once(
        self,
        platform: Platform,
        destination: Destination,
        parts: Sequence[dict[str, Any]],
        now: float,
    ) -> Called:
        token = None
        try:
            if platform.token is not None:
                given = await self._given(platform.token, destination, now)
                if isinstance(given, Called):
                    return given
                token = given
                destination = msgspec.structs.replace(destination, access_token=token)
            answer = await self._egress.send(platform.request(parts, destination))
        except EgressError as error:
            return Called(Retry(str(error)), None, token)
        return Called(_classify(platform, answer, len(parts)), answer, token)

    async def _given(
        self, exchange: TokenExchange, destination: Destination, now: float
    ) -> str | Called | None:
        """The access token, or how asking for it went."""
        try:
            given = await self._tokens.token(exchange, destination, now)
        except ValueError as error:
            return Called(Held(str(error)))
        return Called(given.verdict, given.answer) if isinstance(given, Refusal) else given


def _classify(platform: Platform, answer: Answer, parts: int) -> Verdict:
    try:
        return platform.classify(answer, parts)
    except Exception:  # an answer that nobody has thought of must not stop the others
        log.exception("answer not understood", platform=platform.name, status=answer.status)
        return Retry(f"{platform.title} gave an answer that is not understood.")
