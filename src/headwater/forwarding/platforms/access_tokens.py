"""Short-lived access tokens that platforms issue in exchange for a destination's secrets, kept in
memory until shortly before they expire.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import structlog

from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.forwarding.platforms.models import CallDeferred, CredentialsRefused, Destination, Verdict
from headwater.forwarding.platforms.platform import Platform

MARGIN_SECONDS = 60.0

log = structlog.get_logger()


class HttpSender(Protocol):
    """A client of other servers."""

    async def send(self, call: EgressRequest) -> EgressResponse:
        """Send a request and return the answer with any status. Raises EgressError."""
        ...


class _AccessToken(NamedTuple):
    secrets: dict[str, str]
    """The secrets it was issued for: a change of them needs a new token."""
    text: str
    until: float


class TokenRefusal(NamedTuple):
    """The platform issued no token."""

    verdict: Verdict
    answer: EgressResponse | None = None
    """None when no call was made."""


class AccessTokens:
    """The access tokens of all destinations."""

    def __init__(self, egress: HttpSender) -> None:
        self._egress = egress
        self._tokens: dict[tuple[int, int], _AccessToken] = {}

    async def fetch(
        self, platform: Platform, destination: Destination, now: float
    ) -> str | TokenRefusal | None:
        """Return a token that is valid at a Unix time; None when the secrets need no exchange.
        Raises EgressError.
        """
        key = destination.space_id, destination.id
        known = self._tokens.get(key)
        if known is not None and known.until > now and known.secrets == destination.secrets:
            return known.text
        try:
            call = platform.token_request(destination, now)
        except ValueError as error:
            return TokenRefusal(CredentialsRefused(str(error)))
        if call is None:
            return None
        answer = await self._egress.send(call)
        issued = _read(platform, answer)
        if not isinstance(issued, tuple):
            return TokenRefusal(issued, answer)
        text, seconds = issued
        self._tokens[key] = _AccessToken(destination.secrets, text, now + seconds - MARGIN_SECONDS)
        return text

    def has(self, destination: Destination) -> bool:
        """Return whether a token is kept, which the platform may have revoked."""
        return (destination.space_id, destination.id) in self._tokens

    def forget(self, destination: Destination) -> None:
        """Delete the kept token, so that the next call needs a new one."""
        self._tokens.pop((destination.space_id, destination.id), None)


def _read(platform: Platform, answer: EgressResponse) -> tuple[str, float] | Verdict:
    try:
        return platform.read_token(answer)
    except Exception:  # an unforeseen answer is no reason to stop
        log.exception("token not understood", status=answer.status)
        return CallDeferred("The answer with the access token is not understood.")
