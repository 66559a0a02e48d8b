"""Short-lived tokens of accounts at other companies, cached until shortly before they expire."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, TypeVar, cast

import msgspec
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


class TokenKeeper(Protocol[Owner_contra]):
    """Stores a refresh token that replaces an account's. A crash between its issue and its storage loses it
    for good if the platform has revoked the old one.
    """

    async def __call__(self, account: Owner_contra, refresh_token: str, /) -> None: ...


class _CachedToken(NamedTuple):
    caller_secrets: dict[str, str]
    """The caller's secrets, which may be older than the stored ones."""
    stored_secrets: dict[str, str]
    latest_secrets: dict[str, str]
    """With the newest refresh token."""
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
        self,
        source: TokenSource[Owner_contra],
        account: Owner_contra,
        current_time: float,
        keep_token: TokenKeeper[Owner_contra],
    ) -> IssuedToken | TokenRefusal | None:
        """Return None if not needed. A new refresh token is stored first. Raises EgressError."""
        key = account.space_id, account.id
        cached_token = self._tokens.get(key)
        if cached_token is not None and account.secrets not in (
            cached_token.caller_secrets,
            cached_token.stored_secrets,
            cached_token.latest_secrets,
        ):
            cached_token = None
        if cached_token is None or cached_token.until <= current_time:
            stored_secrets = account.secrets if cached_token is None else cached_token.stored_secrets
            latest_secrets = account.secrets if cached_token is None else cached_token.latest_secrets
            token = await self._issue(source, _with_secrets(account, latest_secrets), current_time)
            if not isinstance(token, IssuedToken):
                return token
            if token.refresh_token is not None:
                latest_secrets = {**latest_secrets, "refresh_token": token.refresh_token}
            until = current_time + token.seconds - MARGIN_SECONDS
            cached_token = self._tokens[key] = _CachedToken(
                account.secrets, stored_secrets, latest_secrets, token, until
            )
        if cached_token.latest_secrets != cached_token.stored_secrets:
            await keep_token(
                _with_secrets(account, cached_token.stored_secrets),
                cached_token.latest_secrets["refresh_token"],
            )
            self._tokens[key] = cached_token._replace(stored_secrets=cached_token.latest_secrets)
        return cached_token.token

    async def _issue(
        self, source: TokenSource[Owner_contra], account: Owner_contra, current_time: float
    ) -> IssuedToken | TokenRefusal | None:
        try:
            call = source.token_request(account, current_time)
        except ValueError as error:
            return TokenRefusal(TokenError(str(error), is_temporary=False))
        if call is None:
            return None
        answer = await self._egress.send(call)
        token = _read(source, answer)
        return TokenRefusal(token, answer) if isinstance(token, TokenError) else token

    def has(self, account: Account) -> bool:
        """Return True even if the token is revoked."""
        cached_token = self._tokens.get((account.space_id, account.id))
        return cached_token is not None and cached_token.until > 0

    def forget(self, account: Account) -> None:
        """Forget the access token. The refresh token stays: the caller's may be older."""
        key = account.space_id, account.id
        if (cached_token := self._tokens.get(key)) is not None:
            self._tokens[key] = cached_token._replace(until=0)


def _with_secrets(account: Owner_contra, secrets: dict[str, str]) -> Owner_contra:
    return msgspec.structs.replace(cast("Any", account), secrets=secrets)


def _read(source: TokenSource[Any], answer: EgressResponse) -> IssuedToken | TokenError:
    try:
        return source.read_token(answer)
    except Exception:  # an unforeseen response must not stop the process
        log.exception("token not understood", status=answer.status)
        return TokenError("Unexpected response to the request for an access token.", is_temporary=True)
