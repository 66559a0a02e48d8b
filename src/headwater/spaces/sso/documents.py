"""Providers' discovery documents and keys: fetched with a deadline, checked, and cached for an hour.

Keys are fetched again for a token signed with an unknown key, a few times a minute at most.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

import msgspec
from joserfc.jwk import KeySet
from msgspec import Struct

from headwater.base.egress.client import Egress
from headwater.base.egress.models import EgressError, EgressRequest, EgressResponse
from headwater.spaces.sso.id_tokens import read_keys
from headwater.spaces.sso.refusals import SsoReason, SsoRefused

FETCH_SECONDS = 5.0
FRESH_SECONDS = 3600.0
FAILURE_SECONDS = 10.0
FETCHES_A_MINUTE = 5
"""For each document. An unknown key or a restart needs one."""
WELL_KNOWN = "/.well-known/openid-configuration"

T = TypeVar("T")


class Metadata(Struct, frozen=True):
    """The used part of a discovery document."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    end_session_endpoint: str | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    authorization_response_iss_parameter_supported: bool = False


class _KeyDocument(Struct, frozen=True):
    keys: list[Any]


class _Cached(Struct, frozen=True):
    outcome: Any
    """A document, or the SsoRefused of its fetch."""
    until: float


class ProviderDocuments:
    def __init__(self, egress: Egress) -> None:
        self.egress = egress
        self._cache: dict[str, _Cached] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._fetches: defaultdict[str, deque[float]] = defaultdict(deque)

    async def find_metadata(self, issuer: str) -> Metadata:
        """Raise SsoRefused."""
        return await self._load(issuer.rstrip("/") + WELL_KNOWN, lambda body: read_metadata(body, issuer))

    async def verify(self, metadata: Metadata, check: Callable[[KeySet], T]) -> T:
        """Return the result of `check` on the provider's keys; on newer ones if it finds no key. Raise
        SsoRefused.
        """
        keys = await self._load(metadata.jwks_uri, read_key_document)
        try:
            return check(keys)
        except SsoRefused as refusal:
            if refusal.reason is not SsoReason.UNKNOWN_KEY:
                raise
        return check(await self._load(metadata.jwks_uri, read_key_document, instead_of=keys))

    async def _load(self, url: str, read: Callable[[bytes], T], instead_of: T | None = None) -> T:
        async with self._locks[url]:
            entry = self._cache.get(url)
            is_stale = entry is None or entry.until <= time.monotonic() or entry.outcome is instead_of
            if is_stale and (self._may_fetch(url) or entry is None):
                entry = self._cache[url] = await self._fetch(url, read)
        assert entry is not None
        if isinstance(entry.outcome, SsoRefused):
            raise SsoRefused(entry.outcome.reason, entry.outcome.cause)
        return cast("T", entry.outcome)

    def _may_fetch(self, url: str) -> bool:
        current_time, recent = time.monotonic(), self._fetches[url]
        while recent and recent[0] <= current_time - 60:
            recent.popleft()
        if len(recent) >= FETCHES_A_MINUTE:
            return False
        recent.append(current_time)
        return True

    async def _fetch(self, url: str, read: Callable[[bytes], Any]) -> _Cached:
        try:
            answer = await send(self.egress, EgressRequest(url=url, method="GET"))
            return _Cached(read(_read_body(answer, url)), time.monotonic() + FRESH_SECONDS)
        except SsoRefused as refusal:
            return _Cached(refusal, time.monotonic() + FAILURE_SECONDS)


async def send(egress: Egress, call: EgressRequest) -> EgressResponse:
    """Raise SsoRefused without an answer."""
    try:
        return await egress.send(call, FETCH_SECONDS)
    except EgressError as error:
        raise SsoRefused(SsoReason.PROVIDER_UNREACHABLE, str(error)) from None


def read_metadata(body: bytes, issuer: str) -> Metadata:
    """Raise SsoRefused for a document of another issuer, or with addresses a browser must not be sent to."""
    metadata = _decode(body, Metadata)
    if metadata.issuer != issuer:
        raise SsoRefused(SsoReason.ISSUER, f"Its document has the issuer {metadata.issuer!r}.")
    schemes = ("https", "http") if issuer.startswith("http://") else ("https",)
    for url in (metadata.authorization_endpoint, metadata.end_session_endpoint):
        if url is not None and not _is_plain_url(url, schemes):
            raise SsoRefused(SsoReason.PROVIDER_DOCUMENT)
    return metadata


def read_key_document(body: bytes) -> KeySet:
    """Raise SsoRefused without a usable key."""
    keys = read_keys(_decode(body, _KeyDocument).keys)
    if keys is None:
        raise SsoRefused(SsoReason.PROVIDER_DOCUMENT)
    return keys


def _read_body(answer: EgressResponse, url: str) -> bytes:
    """Raise SsoRefused for an error."""
    if answer.status != 200:
        raise SsoRefused(SsoReason.PROVIDER_DOCUMENT, f"The status of {url} is {answer.status}.")
    return b"" if answer.cut else answer.body


def _is_plain_url(url: str, schemes: tuple[str, ...]) -> bool:
    if not url.isascii() or not url.isprintable() or "#" in url:
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in schemes and bool(parts.hostname) and "@" not in parts.netloc


def _decode(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise SsoRefused(SsoReason.PROVIDER_DOCUMENT) from None
