"""Short-lived tokens, cached until shortly before they expire."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import structlog

from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.base.egress.oauth import IssuedToken
from headwater.forwarding.platforms.models import CallDeferred, CredentialsRefused, Destination, Verdict
from headwater.forwarding.platforms.platform import Platform

MARGIN_SECONDS = 60.0

log = structlog.get_logger()


class HttpSender(Protocol):
    async def send(self, call: EgressRequest) -> EgressResponse:
        """Return a response of any status. Raises EgressError."""
        ...


class _AccessToken(NamedTuple):
    secrets: dict[str, str]
    """New secrets need a new token."""
    text: str
    until: float


class TokenRefusal(NamedTuple):
    """The platform issued no token."""

    verdict: Verdict
    answer: EgressResponse | None = None
    """None without a call."""


class AccessTokens:
    def __init__(self, egress: HttpSender) -> None:
        self._egress = egress
        self._tokens: dict[tuple[int, int], _AccessToken] = {}

    async def fetch(
        self, platform: Platform, destination: Destination, current_time: float
    ) -> str | TokenRefusal | None:
        """Return None if not needed. Raises EgressError."""
        key = destination.space_id, destination.id
        cached = self._tokens.get(key)
        if cached is not None and cached.until > current_time and cached.secrets == destination.secrets:
            return cached.text
        try:
            call = platform.token_request(destination, current_time)
        except ValueError as error:
            return TokenRefusal(CredentialsRefused(str(error)))
        if call is None:
            return None
        answer = await self._egress.send(call)
        issued = _read(platform, answer)
        if not isinstance(issued, IssuedToken):
            return TokenRefusal(issued, answer)
        until = current_time + issued.seconds - MARGIN_SECONDS
        self._tokens[key] = _AccessToken(destination.secrets, issued.text, until)
        return issued.text

    def has(self, destination: Destination) -> bool:
        """Return True even if the token is revoked."""
        return (destination.space_id, destination.id) in self._tokens

    def forget(self, destination: Destination) -> None:
        self._tokens.pop((destination.space_id, destination.id), None)


def _read(platform: Platform, answer: EgressResponse) -> IssuedToken | Verdict:
    try:
        return platform.read_token(answer)
    except Exception:  # an unforeseen response must not stop the process
        log.exception("token not understood", status=answer.status)
        return CallDeferred("Unexpected response to the request for an access token.")
