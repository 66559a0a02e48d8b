"""The API caller: an API key with its Space, scopes and limits, cached for a few seconds."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from headwater.database.pool import Database
from headwater.database.queries import Queries
from headwater.http.errors import Forbidden, Unauthorized
from headwater.http.rate_limits import RateLimit
from headwater.spaces.credential_cache import CredentialCache
from headwater.spaces.key_use import KeyUses

queries = Queries(__name__, "access.sql")


@dataclass(frozen=True, slots=True)
class Caller:
    space_id: int
    key_id: int
    scopes: frozenset[str]
    active: bool = True
    limits: dict[str, int] = field(default_factory=dict[str, int])
    """The Space's own limits by bucket; others are general."""
    networks: frozenset[str] = frozenset()

    def refusal(self, scope: str) -> Forbidden | None:
        """Return None for a key with `scope`."""
        if not self.active:
            return Forbidden("The Space's subscription is inactive.")
        if scope not in self.scopes:
            return Forbidden(f"The API key lacks the scope {scope}.")
        return None

    def authorize(self, scope: str) -> None:
        refusal = self.refusal(scope)
        if refusal is not None:
            raise refusal


class KeyCache(CredentialCache[bytes, Caller]):
    def __init__(self, database: Database, factor: float) -> None:
        super().__init__(database, queries["callers"], self._note_use)
        self._factor = factor
        self.uses = KeyUses(database)

    async def caller(self, authorization: bytes | None) -> Caller:
        """Raises Unauthorized, or one of UNAVAILABLE."""
        key = _bearer(authorization)
        if key is None:
            raise Unauthorized
        caller = await self.find(hashlib.sha256(key).digest())
        if caller is None:
            raise Unauthorized
        return caller

    def limit(self, caller: Caller, limit: RateLimit) -> int:
        return limit.for_space(caller.limits, self._factor)

    def _note_use(self, row: tuple[Any, ...]) -> Caller:
        """Return the caller of a row, and record the use: keys are looked up only for a waiting request, or
        if used within seconds.
        """
        caller = _caller(row)
        self.uses.note(caller.space_id, caller.key_id)
        return caller


def _caller(row: tuple[Any, ...]) -> Caller:
    _, space_id, key_id, scopes, active, limits, networks = row
    return Caller(space_id, key_id, frozenset(scopes), active, limits or {}, frozenset(networks))


def _bearer(authorization: bytes | None) -> bytes | None:
    if authorization is None or len(authorization) > 512:
        return None
    scheme, _, key = authorization.partition(b" ")
    return key.strip() or None if scheme.lower() == b"bearer" else None
