"""Access tokens that a platform gives for a destination's secrets: kept in memory until shortly
before they end.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import structlog

from headwater.egress.models import EgressRequest, EgressResponse
from headwater.platforms.models import CallDeferred, CredentialsRefused, Destination, Verdict
from headwater.platforms.platform import TokenExchange

MARGIN_SECONDS = 60.0

log = structlog.get_logger()


class HttpSender(Protocol):
    """What calls other servers."""

    async def send(self, call: EgressRequest) -> EgressResponse:
        """The answer, whatever its status. Raises EgressError."""
        ...


class _Token(NamedTuple):
    secrets: dict[str, str]
    """What it was given for: with others, another is needed."""
    text: str
    until: float


class TokenRefusal(NamedTuple):
    """There is no token."""

    verdict: Verdict
    answer: EgressResponse | None = None
    """None when nobody was asked."""


class Tokens:
    """The tokens of all destinations."""

    def __init__(self, egress: HttpSender) -> None:
        self._egress = egress
        self._kept: dict[tuple[int, int], _Token] = {}

    async def token(
        self, exchange: TokenExchange, destination: Destination, now: float
    ) -> str | TokenRefusal | None:
        """A token that is good at a Unix time; None where the secrets do without. Raises
        EgressError.
        """
        key = destination.space_id, destination.id
        kept = self._kept.get(key)
        if kept is not None and kept.until > now and kept.secrets == destination.secrets:
            return kept.text
        try:
            call = exchange.request(destination, now)
        except ValueError as error:
            return TokenRefusal(CredentialsRefused(str(error)))
        if call is None:
            return None
        answer = await self._egress.send(call)
        given = _read(exchange, answer)
        if not isinstance(given, tuple):
            return TokenRefusal(given, answer)
        text, seconds = given
        self._kept[key] = _Token(destination.secrets, text, now + seconds - MARGIN_SECONDS)
        return text

    def holds(self, destination: Destination) -> bool:
        """Whether there is one from before, which may have ended early."""
        return (destination.space_id, destination.id) in self._kept

    def forget(self, destination: Destination) -> None:
        """Have another given next time."""
        self._kept.pop((destination.space_id, destination.id), None)


def _read(exchange: TokenExchange, answer: EgressResponse) -> tuple[str, float] | Verdict:
    try:
        return exchange.read(answer)
    except Exception:  # an answer that nobody has thought of is no reason to stop
        log.exception("token not understood", status=answer.status)
        return CallDeferred("The answer with the access token is not understood.")
