"""Who is calling: an API key to the Space and scopes it opens, and the limits that apply.

Keys are looked up by hash and remembered for a few seconds; a change is notified.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from fastapi import Depends, Request

from headwater.database.pool import Database
from headwater.database.queries import Queries
from headwater.http.errors import Forbidden, Unauthorized
from headwater.http.rate_limits import PER_MINUTE, QuotaRequest, take
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

    def limit(self, caller: Caller, bucket: str) -> int:
        """What the caller's Space may do in `bucket` a minute."""
        return int(caller.limits.get(bucket, PER_MINUTE[bucket]) * self._factor)


def _caller(row: tuple[Any, ...]) -> Caller:
    _, space_id, key_id, scopes, active, limits = row
    return Caller(space_id, key_id, frozenset(scopes), active, limits)


def _bearer(authorization: bytes | None) -> bytes | None:
    if authorization is None or len(authorization) > 512:
        return None
    scheme, _, key = authorization.partition(b" ")
    return key.strip() or None if scheme.lower() == b"bearer" else None


def requires(scope: str, bucket: str) -> Any:
    """A route's dependency: the authenticated Caller, allowed to do `scope` and within `bucket`.

    Raises Unauthorized, Forbidden or RateLimited, in this order and before the request is read.
    """

    async def caller(request: Request) -> Caller:
        headwater = request.app.state.headwater
        keys: KeyCache = headwater.keys
        authorization = request.headers.get("authorization")
        found = await keys.caller(authorization.encode("latin-1") if authorization else None)
        refusal = found.refusal(scope)
        cost = 1 if refusal is None else 0
        demand = QuotaRequest(found.space_id, cost, keys.limit(found, bucket))
        async with headwater.database.connection() as connection:
            quota = (await take(connection, bucket, [demand]))[found.space_id]
        request.scope["headwater.quota"] = quota  # a refused request is told of it as well
        if refusal is not None:
            raise refusal
        quota.admit(cost)
        return found

    return Depends(caller)
