"""Who is calling: an API key to the Space and scopes it opens, and the limits that apply.

Keys are looked up by hash and remembered for a few seconds; a change is notified.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from headwater.database.pool import Database
from headwater.database.queries import Queries
from headwater.http.errors import Forbidden, Unauthorized
from headwater.http.rate_limits import RateLimit
from headwater.spaces.credential_cache import CredentialCache

queries = Queries(__name__, "access.sql")


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated API key."""

    space_id: int
    key_id: int
    scopes: frozenset[str]
    active: bool = True
    """Whether the Space's subscription is."""
    limits: dict[str, int] = field(default_factory=dict[str, int])
    """The Space's own limits; other buckets have the general one."""

    def refusal(self, scope: str) -> Forbidden | None:
        """Why the key may not do `scope`, unless it may."""
        if not self.active:
            return Forbidden("The Space's subscription is inactive.")
        if scope not in self.scopes:
            return Forbidden(f"The API key lacks the scope {scope}.")
        return None

    def authorize(self, scope: str) -> None:
        """Raise Forbidden unless the key may do `scope`."""
        refusal = self.refusal(scope)
        if refusal is not None:
            raise refusal


class KeyCache(CredentialCache[bytes, Caller]):
    """The keys in use, by hash of the key."""

    def __init__(self, database: Database, factor: float) -> None:
        super().__init__(database, queries["callers"], _caller)
        self._factor = factor

    async def caller(self, authorization: bytes | None) -> Caller:
        """Whose `Authorization` header this is. Raises Unauthorized, or one of UNAVAILABLE."""
        key = _bearer(authorization)
        if key is None:
            raise Unauthorized
        found = await self.find(hashlib.sha256(key).digest())
        if found is None:
            raise Unauthorized
        return found

    def limit(self, caller: Caller, limit: RateLimit) -> int:
        """Return what `limit` is for the caller's Space."""
        return limit.for_space(caller.limits, self._factor)


def _caller(row: tuple[Any, ...]) -> Caller:
    _, space_id, key_id, scopes, active, limits = row
    return Caller(space_id, key_id, frozenset(scopes), active, limits)


def _bearer(authorization: bytes | None) -> bytes | None:
    if authorization is None or len(authorization) > 512:
        return None
    scheme, _, key = authorization.partition(b" ")
    return key.strip() or None if scheme.lower() == b"bearer" else None
