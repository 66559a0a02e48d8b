"""Clients identified by the URL of their metadata document: fetched, checked and cached as long as its server
allows.

A failure is cached for half a minute, and hosts get a limited number of requests a minute, so strangers can't
use us to flood a server.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter, OrderedDict
from dataclasses import replace
from typing import Any, cast
from urllib.parse import urlsplit

from msgspec import Struct

from headwater.assistants.oauth.clients import OAuthClient, read_document
from headwater.assistants.oauth.errors import OAuthError
from headwater.assistants.oauth.redirects import Redirect, read_redirect
from headwater.base.egress.client import Egress
from headwater.base.egress.models import EgressError, EgressRequest, EgressResponse
from headwater.http.errors import Invalid
from headwater.http.json_decoder import decode_json

MOST_BYTES = 5 * 1024
DEADLINE_SECONDS = 5.0
FRESH_SECONDS = 15 * 60.0
LONGEST_FRESH_SECONDS = 24 * 3600.0
FAILURE_SECONDS = 30.0
MOST_KNOWN = 1000
AT_A_TIME = 8
PER_HOST_A_MINUTE = 60

_MAX_AGE = re.compile(r"(?:^|[\s,])max-age\s*=\s*\"?([0-9]{1,10})", re.IGNORECASE)
_NOT_KEPT = re.compile(r"(?:^|[\s,])no-(?:store|cache)(?:$|[\s,=])", re.IGNORECASE)
_JSON = re.compile(r"application/(?:[a-z0-9.+-]+\+)?json", re.IGNORECASE)


class _Known(Struct, frozen=True):
    outcome: OAuthClient | OAuthError
    until: float
    """Expiry on the monotonic clock."""


class HostedClients:
    def __init__(self, egress: Egress, brand: str) -> None:
        self._egress, self._brand = egress, brand
        self._entries: OrderedDict[str, _Known] = OrderedDict()
        self._under_way: dict[str, asyncio.Task[_Known]] = {}
        self._room = asyncio.Semaphore(AT_A_TIME)
        self._minute = 0.0
        self._requests: Counter[str] = Counter()

    async def fetch(self, url: str) -> OAuthClient:
        """Return the client at a URL that `is_document_url` accepts. Concurrent callers share one request.
        Raise OAuthError.
        """
        entry = self._entries.get(url)
        if entry is None or entry.until <= time.monotonic():
            entry = await self._join(url)
        if isinstance(entry.outcome, OAuthError):
            raise replace(entry.outcome)  # a raised error gathers its traceback
        return entry.outcome

    def recall(self, url: str) -> OAuthClient | None:
        """Return None unless the client is fetched and still fresh."""
        entry = self._entries.get(url)
        if entry is None or entry.until <= time.monotonic() or isinstance(entry.outcome, OAuthError):
            return None
        return entry.outcome

    async def _join(self, url: str) -> _Known:
        task = self._under_way.get(url)
        if task is None:
            task = self._under_way[url] = asyncio.create_task(self._learn(url))
            task.add_done_callback(lambda _: self._under_way.pop(url, None))
        return await asyncio.shield(task)

    async def _learn(self, url: str) -> _Known:
        self._count(url)
        try:
            answer = await self._request(url)
            client = _Known(
                read_document(url, _read_json(answer), self._brand),
                time.monotonic() + fresh_seconds(answer.headers.get("cache-control", "")),
            )
        except OAuthError as error:
            client = _Known(error, time.monotonic() + FAILURE_SECONDS)
        self._entries[url] = client
        self._entries.move_to_end(url)
        while len(self._entries) > MOST_KNOWN:
            self._entries.popitem(last=False)
        return client

    async def _request(self, url: str) -> EgressResponse:
        try:
            async with self._room:
                return await self._egress.send(EgressRequest(url=url, method="GET"), DEADLINE_SECONDS)
        except EgressError as error:
            raise _unfetched(str(error)) from None

    def _count(self, url: str) -> None:
        """Raise OAuthError over the host's limit for this minute."""
        current_time = time.monotonic()
        if current_time - self._minute >= 60:
            self._minute = current_time
            self._requests.clear()
        host = urlsplit(url).netloc
        if self._requests[host] >= PER_HOST_A_MINUTE:
            raise OAuthError(
                "temporarily_unavailable",
                f"{host} was asked for too many metadata documents; try again in a minute.",
                503,
            )
        self._requests[host] += 1


def is_document_url(client_id: str) -> bool:
    """Accept https on the default port, with a path."""
    url = read_redirect(client_id)
    return (
        isinstance(url, Redirect)
        and url.scheme == "https"
        and url.port is None
        and url.parts.path not in ("", "/")
    )


def fresh_seconds(cache_control: str) -> float:
    """Return the lifetime set by the server, at most a day."""
    if _NOT_KEPT.search(cache_control):
        return 0.0
    match = _MAX_AGE.search(cache_control)
    return min(float(match[1]), LONGEST_FRESH_SECONDS) if match else FRESH_SECONDS


def _read_json(answer: EgressResponse) -> dict[str, Any]:
    if answer.status != 200:
        raise _unfetched(f"its server answered {answer.status}.")
    kind = answer.headers.get("content-type", "").partition(";")[0].strip()
    if not _JSON.fullmatch(kind):
        raise _unfetched("it is not JSON.")
    if answer.cut or len(answer.body) > MOST_BYTES:
        raise _unfetched(f"it is larger than {MOST_BYTES // 1024} KB.")
    try:
        document = decode_json(answer.body)
    except Invalid:
        raise _unfetched("it is not JSON.") from None
    if not isinstance(document, dict):
        raise _unfetched("it is not a JSON object.")
    return cast("dict[str, Any]", document)


def _unfetched(reason: str) -> OAuthError:
    message = f"The client's metadata document cannot be fetched: {reason}"
    return OAuthError("invalid_client", message, 401)
