"""The API caller: an API key with its Space, scopes and limits, cached for a few seconds.

Expiry and addresses are checked for every request, so that the cache can't delay either.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from math import inf
from typing import Any

from headwater.database.pool import Database
from headwater.database.queries import Queries
from headwater.http.clients import Networks, client_address
from headwater.http.errors import Forbidden, Unauthorized
from headwater.http.rate_limits import RateLimit
from headwater.http.refusal_log import log_refusal
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
    addresses: tuple[IPv4Network | IPv6Network, ...] = ()
    """Where the key may be used; empty: everywhere."""
    expires_at: float = inf
    """In seconds since 1970."""
    elsewhere: str | None = None
    """The refused address of a request from outside `addresses`."""

    def locate(self, address: str | None) -> Caller:
        """Return the caller of a request from this client address; None is an unknown one. Only for a key
        with addresses.
        """
        if address is not None and any(ip_address(address) in network for network in self.addresses):
            return self
        return replace(self, elsewhere=address or "an unknown address")

    def refusal(self, scope: str) -> Forbidden | None:
        """Return None for a key with `scope`, used from where it may be. A refusal is logged."""
        if self.elsewhere is not None:
            log_refusal("key_elsewhere", self.elsewhere, space_id=self.space_id, key_id=self.key_id)
            return Forbidden(f"The API key is not allowed from {self.elsewhere}.")
        if not self.active:
            log_refusal("space_inactive", space_id=self.space_id)
            return Forbidden("The Space's subscription is inactive.")
        if scope not in self.scopes:
            log_refusal("scope_missing", space_id=self.space_id, key_id=self.key_id)
            return Forbidden(f"The API key lacks the scope {scope}.")
        return None

    def authorize(self, scope: str) -> None:
        refusal = self.refusal(scope)
        if refusal is not None:
            raise refusal


class KeyCache(CredentialCache[bytes, Caller]):
    def __init__(self, database: Database, factor: float, trusted: Networks = ()) -> None:
        super().__init__(database, queries["callers"], self._read_row)
        self._factor, self._trusted = factor, trusted
        self._unused: set[tuple[int, int]] = set()
        """Keys that were looked up, and not accepted since."""
        self.uses = KeyUses(database)

    async def caller(self, authorization: bytes | None, request: Any) -> Caller:
        """Return the caller of an ASGI scope. Raises Unauthorized, or one of UNAVAILABLE."""
        key = _bearer(authorization)
        if key is None:
            self._log("key_missing", request)
            raise Unauthorized
        caller = await self.find(hashlib.sha256(key).digest())
        if caller is None:
            self._log("key_unknown", request)
            raise Unauthorized
        if caller.expires_at <= time.time():
            self._log("key_expired", request, space_id=caller.space_id, key_id=caller.key_id)
            raise Unauthorized("The API key has expired.")
        if caller.addresses:
            caller = caller.locate(client_address(request, self._trusted))
        if caller.elsewhere is None:
            self._record_use(caller)
        return caller

    def _log(self, reason: str, request: Any, **ids: int) -> None:
        log_refusal(reason, client_address(request, self._trusted), **ids)

    def limit(self, caller: Caller, limit: RateLimit) -> int:
        return limit.for_space(caller.limits, self._factor)

    def _read_row(self, row: tuple[Any, ...]) -> Caller:
        caller = _caller(row)
        self._unused.add((caller.space_id, caller.key_id))
        return caller

    def _record_use(self, caller: Caller) -> None:
        """Record one use after each lookup: keys are looked up again within seconds of a use."""
        key = caller.space_id, caller.key_id
        if key in self._unused:
            self._unused.remove(key)
            self.uses.note(*key)


def _caller(row: tuple[Any, ...]) -> Caller:
    _, space_id, key_id, scopes, active, limits, networks, addresses, expires_at = row
    return Caller(
        space_id,
        key_id,
        frozenset(scopes),
        active,
        limits or {},
        frozenset(networks),
        tuple(map(ip_network, addresses)),
        inf if expires_at is None else expires_at,
    )


def _bearer(authorization: bytes | None) -> bytes | None:
    if authorization is None or len(authorization) > 512:
        return None
    scheme, _, key = authorization.partition(b" ")
    return key.strip() or None if scheme.lower() == b"bearer" else None
