"""Who is calling: an API key to the Space and scopes it opens, and the limits that apply.

Keys are looked up by hash and kept for a few seconds, as a busy sender would otherwise cost a
query per request. A change to keys, subscriptions or limits notifies every process, so
revocation works at once; the few seconds only matter if the notification is lost.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import structlog
from fastapi import Depends, Request

from headwater.database.pool import UNAVAILABLE, Database, connect
from headwater.database.statements import Statements
from headwater.http.errors import Forbidden, Unauthorized
from headwater.http.rate_limits import PER_MINUTE, Demand, take

SQL = Statements(__name__, "access.sql")
FRESH_SECONDS = 5.0
MAX_KNOWN = 50_000

log = structlog.get_logger()


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

    def authorize(self, scope: str) -> None:
        """Raise Forbidden unless the key may do `scope`."""
        if not self.active:
            raise Forbidden("The Space's subscription is inactive.")
        if scope not in self.scopes:
            raise Forbidden(f"The API key lacks the scope {scope}.")


@dataclass(slots=True)
class _Known:
    """What a lookup found, when, and whether it has been asked for since."""

    caller: Caller | None
    at: float
    asked: bool = False


class KeyRing:
    """The keys in use, by hash of the key. Concurrent misses share one query."""

    def __init__(self, database: Database, factor: float) -> None:
        self._database = database
        self._factor = factor
        self._known: dict[bytes, _Known] = {}
        self._wanted: set[bytes] = set()
        self._lookup: asyncio.Task[dict[bytes, _Known]] | None = None
        self._listener: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to listen for changes."""
        self._listener = asyncio.create_task(self._listen())

    async def stop(self) -> None:
        if self._listener:
            self._listener.cancel()
            with suppress(asyncio.CancelledError):
                await self._listener

    async def caller(self, authorization: bytes | None) -> Caller:
        """Whose `Authorization` header this is. Raises Unauthorized, or one of UNAVAILABLE."""
        key = _bearer(authorization)
        if key is None:
            raise Unauthorized
        digest = hashlib.sha256(key).digest()
        known = self._known.get(digest)
        if known is None or time.monotonic() - known.at > FRESH_SECONDS:
            known = await self._look_up(digest)
        known.asked = True
        if known.caller is None:
            raise Unauthorized
        return known.caller

    def limit(self, caller: Caller, bucket: str) -> int:
        """What the caller's Space may do in `bucket` a minute."""
        return int(caller.limits.get(bucket, PER_MINUTE[bucket]) * self._factor)

    def forget(self) -> None:
        """Look every key up again when it is next used."""
        self._known = {}

    async def _look_up(self, digest: bytes) -> _Known:
        """Join the next query. One that began before a change was notified is not believed."""
        while True:
            self._wanted.add(digest)
            if self._lookup is None or self._lookup.done():
                self._lookup = asyncio.create_task(self._fetch())
            known = await asyncio.shield(self._lookup)
            if digest in known and known is self._known:
                return known[digest]

    async def _fetch(self) -> dict[bytes, _Known]:
        """One query for every key wanted, and for those in use that would soon be wanted too."""
        async with self._database.connection() as connection:
            now = time.monotonic()
            known = self._known
            ageing = [key for key, entry in known.items() if now - entry.at > FRESH_SECONDS / 2]
            digests = self._wanted.union(key for key in ageing if known[key].asked)
            self._wanted = set()
            cursor = await connection.execute(SQL["callers"], {"digests": list(digests)})
            found = {row[0]: _caller(row) for row in await cursor.fetchall()}
        for digest in ageing:
            del known[digest]
        if len(known) > MAX_KNOWN:
            known.clear()
        known.update((digest, _Known(found.get(digest), now)) for digest in digests)
        return known

    async def _listen(self) -> None:
        while True:
            try:
                async with await connect(self._database.url) as connection:
                    await connection.execute("LISTEN headwater_access")
                    self.forget()
                    async for _ in connection.notifies():
                        self.forget()
            except UNAVAILABLE:
                log.warning("access_listener_lost")
                await asyncio.sleep(1)


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
        keys: KeyRing = headwater.keys
        authorization = request.headers.get("authorization")
        found = await keys.caller(authorization.encode("latin-1") if authorization else None)
        found.authorize(scope)
        demand = Demand(found.space_id, 1, keys.limit(found, bucket))
        async with headwater.database.connection() as connection:
            quota = (await take(connection, bucket, [demand]))[found.space_id]
        request.scope["headwater.quota"] = quota  # a refused request is told of it as well
        quota.admit(demand.cost)
        return found

    return Depends(caller)
