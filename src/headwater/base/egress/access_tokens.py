"""Short-lived tokens of accounts at other companies, cached until shortly before they expire."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, TypeVar

import structlog

from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.base.egress.oauth import IssuedToken, TokenError

MARGIN_SECONDS = 60.0

log = structlog.get_logger()


class HttpSender(Protocol):
    async def send(
        self, call: EgressRequest, seconds: float | None = None, *, most_bytes: int | None = None
    ) -> EgressResponse:
        """Return a response of any status. Raises EgressError."""
        ...


class Account(Protocol):
    @property
    def space_id(self) -> int: ...

    @property
    def id(self) -> int: ...

    @property
    def secrets(self) -> dict[str, str]:
        """New secrets need a new token."""
        ...


Owner_contra = TypeVar("Owner_contra", bound=Account, contravariant=True)


class TokenSource(Protocol[Owner_contra]):
    """A platform's way to issue tokens."""

    def token_request(self, account: Owner_contra, current_time: float, /) -> EgressRequest | None:
        """Return None if not needed. Raises ValueError for the operator."""
        ...

    def read_token(self, answer: EgressResponse, /) -> IssuedToken | TokenError: ...


class _CachedToken(NamedTuple):
    secrets: tuple[dict[str, str], ...]
    """Those it was issued for, and those with the new refresh token that came with it."""
    token: IssuedToken
    until: float


class TokenRefusal(NamedTuple):
    """The platform issued no token."""

    error: TokenError
    answer: EgressResponse | None = None
    """None without a call."""


class AccessTokens:
    def __init__(self, egress: HttpSender) -> None:
        self._egress = egress
        self._tokens: dict[tuple[int, int], _CachedToken] = {}

    async def fetch(
        self, source: TokenSource[Owner_contra], account: Owner_contra, current_time: float
    ) -> IssuedToken | TokenRefusal | None:
        """Return None if not needed. Raises EgressError."""
        key = account.space_id, account.id
        cached = self._tokens.get(key)
        if cached is not None and cached.until > current_time and account.secrets in cached.secrets:
            return cached.token
        try:
            call = source.token_request(account, current_time)
        except ValueError as error:
            return TokenRefusal(TokenError(str(error), is_temporary=False))
        if call is None:
            return None
        answer = await self._egress.send(call)
        token = _read(source, answer)
        if isinstance(token, TokenError):
            return TokenRefusal(token, answer)
        secrets = (account.secrets,)
        if token.refresh_token is not None:
            secrets += ({**account.secrets, "refresh_token": token.refresh_token},)
        self._tokens[key] = _CachedToken(secrets, token, current_time + token.seconds - MARGIN_SECONDS)
        return token

    def has(self, account: Account) -> bool:
        """Return True even if the token is revoked."""
        return (account.space_id, account.id) in self._tokens

    def forget(self, account: Account) -> None:
        self._tokens.pop((account.space_id, account.id), None)


def _read(source: TokenSource[Any], answer: EgressResponse) -> IssuedToken | TokenError:
    try:
        return source.read_token(answer)
    except Exception:  # an unforeseen response must not stop the process
        log.exception("token not understood", status=answer.status)
        return TokenError("Unexpected response to the request for an access token.", is_temporary=True)
