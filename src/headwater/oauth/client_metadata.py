"""Clients that host a metadata document and are named by its URL: fetched, checked, and remembered
for as long as the document's server allows. A failure is remembered as such for half a minute, and
a host is asked so many times a minute: nobody can have us ask a server over and over.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter, OrderedDict
from dataclasses import dataclass, replace
from typing import Any, cast
from urllib.parse import urlsplit

from headwater.egress.client import Egress
from headwater.egress.models import EgressError, EgressRequest, EgressResponse
from headwater.http.errors import Invalid
from headwater.http.json_decoder import decode_json
from headwater.oauth.clients import OAuthClient, read_document
from headwater.oauth.errors import OAuthError
from headwater.oauth.redirects import Redirect, read_redirect

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


@dataclass(frozen=True)
class _Known:
    found: OAuthClient | OAuthError
    until: float
    """On the monotonic clock."""


class HostedClients:
    """The clients whose documents one process has seen."""

    def __init__(self, egress: Egress, brand: str) -> None:
        self._egress, self._brand = egress, brand
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._under_way: dict[str, asyncio.Task[_Known]] = {}
        self._room = asyncio.Semaphore(AT_A_TIME)
        self._minute = 0.0
        self._asked: Counter[str] = Counter()

    async def fetch(self, url: str) -> OAuthClient:
        """The client with this URL as its id. Raises OAuthError. Everybody who waits for the same
        document shares one request.
        """
        if not is_document_url(url):
            raise OAuthError("invalid_client", "The client_id is not the URL of a document.", 401)
        known = self._known.get(url)
        if known is None or known.until <= time.monotonic():
            known = await self._join(url)
        if isinstance(known.found, OAuthError):
            raise replace(known.found)  # each raised one gathers where it passed
        return known.found

    def recall(self, url: str) -> OAuthClient | None:
        """The client of a document that was fetched before and is still fresh, if it was any."""
        known = self._known.get(url)
        if known is None or known.until <= time.monotonic() or isinstance(known.found, OAuthError):
            return None
        return known.found

    async def _join(self, url: str) -> _Known:
        task = self._under_way.get(url)
        if task is None:
            task = self._under_way[url] = asyncio.create_task(self._learn(url))
            task.add_done_callback(lambda _: self._under_way.pop(url, None))
        return await asyncio.shield(task)

    async def _learn(self, url: str) -> _Known:
        self._count(url)
        try:
            answer = await self._ask(url)
            known = _Known(
                read_document(url, _read_json(answer), self._brand),
                time.monotonic() + fresh_seconds(answer.headers.get("cache-control", "")),
            )
        except OAuthError as error:
            known = _Known(error, time.monotonic() + FAILURE_SECONDS)
        self._known[url] = known
        self._known.move_to_end(url)
        while len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)
        return known

    async def _ask(self, url: str) -> EgressResponse:
        try:
            async with self._room:
                return await self._egress.send(
                    EgressRequest(url=url, method="GET"), DEADLINE_SECONDS
                )
        except EgressError as error:
            raise _unfetched(str(error)) from None

    def _count(self, url: str) -> None:
        """Raise OAuthError when the URL's host was asked as often as it may be in a minute."""
        now = time.monotonic()
        if now - self._minute >= 60:
            self._minute = now
            self._asked.clear()
        host = urlsplit(url).netloc
        if self._asked[host] >= PER_HOST_A_MINUTE:
            raise OAuthError(
                "temporarily_unavailable",
                f"{host} was asked for too many metadata documents; try again in a minute.",
                503,
            )
        self._asked[host] += 1


def is_document_url(client_id: str) -> bool:
    """Whether a client names itself by a document's URL that may be asked for: https on the usual
    port, with a path.
    """
    url = read_redirect(client_id)
    return (
        isinstance(url, Redirect)
        and url.scheme == "https"
        and url.port is None
        and url.parts.path not in ("", "/")
    )


def fresh_seconds(cache_control: str) -> float:
    """How long a document may be remembered: as its server says, a day at most."""
    if _NOT_KEPT.search(cache_control):
        return 0.0
    found = _MAX_AGE.search(cache_control)
    return min(float(found[1]), LONGEST_FRESH_SECONDS) if found else FRESH_SECONDS


def _read_json(answer: EgressResponse) -> dict[str, Any]:
    if answer.status != 200:
        raise _unfetched(f"its server answered {answer.status}.")
    kind = answer.headers.get("content-type", "").partition(";")[0].strip()
    if not _JSON.fullmatch(kind):
        raise _unfetched("it is not JSON.")
    if answer.cut or len(answer.body) > MOST_BYTES:
        raise _unfetched(f"it is larger than {MOST_BYTES // 1024} KB.")
    try:
        given = decode_json(answer.body)
    except Invalid:
        raise _unfetched("it is not JSON.") from None
    if not isinstance(given, dict):
        raise _unfetched("it is not a JSON object.")
    return cast("dict[str, Any]", given)


def _unfetched(why: str) -> OAuthError:
    told = f"The client's metadata document cannot be had: {why}"
    return OAuthError("invalid_client", told, 401)
