"""Segment's tracking API in plain ASGI, for Segment's and RudderStack's client libraries.

200 means that the rows are durable. Messages that say nothing here are counted by name and reason.
"""

from __future__ import annotations

import time
import zlib
from typing import Any

import msgspec
from msgspec import Struct
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from headwater.endpoints.services import services
from headwater.events.browsing.accepted import AcceptedBots
from headwater.events.browsing.places import Places
from headwater.http.admission import admit_stream
from headwater.http.bodies import Receive, read_body, refuse_encoding
from headwater.http.clients import Networks, address_subject, client_address
from headwater.http.errors import Invalid, Problem, plain
from headwater.http.rate_limits import Quota
from headwater.intake.inbox.inbox import Request
from headwater.intake.ingest.endpoints import Endpoint, HttpResponse, Ingest, Send, quota_headers
from headwater.intake.segment.event_names import SpaceLabels
from headwater.intake.segment.ignored import IgnoredNames, IgnoredReason
from headwater.intake.segment.messages import (
    MAX_BATCH,
    SegmentBody,
    list_messages,
    read_message,
    read_segment_body,
)
from headwater.intake.segment.translation import (
    IgnoredMessage,
    PageVisitor,
    SegmentRow,
    Translator,
    make_browser,
)
from headwater.intake.segment.write_keys import KeyOwner, find_sender, read_write_key
from headwater.intake.tracker.endpoint import (
    LONGEST_USER_AGENT,
    Headers,
    add_grant,
    answer_preflight,
    get_text,
)
from headwater.intake.tracker.shares import Shares
from headwater.people.identity.joins import address_key
from headwater.people.identity.senders import Sender
from headwater.spaces.sites.sites import REPORTING, SiteCache

PREFIX = "/segment/v1"
_KINDS = ("track", "identify", "page", "screen", "group", "alias")
PATHS = {f"{PREFIX}/{path}": kind for kind in _KINDS for path in (kind, kind[0])}
"""By path, the type of the message; browsers send the first letter."""
BATCH_PATHS = (f"{PREFIX}/batch", f"{PREFIX}/b")

_ALLOWED_HEADERS = b"authorization, content-type, anonymousid, x-retry-count"
_SUCCESS = b'{"success":true}'
_CODES = {
    400: "bad_request",
    401: "invalid_write_key",
    403: "forbidden",
    413: "too_large",
    429: "rate_limited",
}


class SegmentServices(Struct, frozen=True):
    """What all endpoints use."""

    events: Ingest
    """For API keys."""
    hits: Ingest
    """For sites."""
    sites: SiteCache
    places: Places
    trusted: Networks
    labels: SpaceLabels
    ignored: IgnoredNames
    shares: Shares


class SegmentEndpoint(Endpoint):
    def __init__(self, segment: SegmentServices, kind: str | None) -> None:
        """`kind` is the type of the message; None for a batch."""
        self._segment, self._kind = segment, kind

    async def answer(self, scope: Any, receive: Receive) -> HttpResponse:
        # The first of repeated headers counts.
        headers: Headers = dict(reversed(scope["headers"]))
        origin = get_text(headers, b"origin").strip()
        try:
            answer = await self._handle(scope, receive, headers, origin)
        except Problem as problem:
            answer = self.refuse(problem)
        return add_grant(answer, origin)

    def refuse(self, problem: Problem, quota: Quota | None = None) -> HttpResponse:
        """Answer like Segment, whose libraries read these members and drop what is answered 400."""
        status = 400 if isinstance(problem, Invalid) else problem.status
        content = {"success": False, "code": _CODES.get(status, "unavailable"), "message": problem.message}
        headers = [(name.lower().encode(), value.encode()) for name, value in problem.headers.items()]
        body = msgspec.json.encode({**content, **problem.extra})
        return HttpResponse(status, body, headers + quota_headers(quota))

    async def _handle(self, scope: Any, receive: Receive, headers: Headers, origin: str) -> HttpResponse:
        body = await _read_body(receive, get_text(headers, b"content-encoding"))
        envelope = read_segment_body(body)
        segment = self._segment
        key = read_write_key(headers.get(b"authorization"), envelope.write_key)
        source = await find_sender(segment.events.keys, segment.sites, key, origin)
        ingest = segment.events if source.site is None else segment.hits
        visitor = None
        if source.site is not None:
            visitor = PageVisitor(source.site, _read_browser(scope, headers, segment))
        try:
            messages = [body] if self._kind else [bytes(raw) for raw in list_messages(envelope)]
            if visitor is not None:
                self._count(source, visitor, len(messages))
            rows = await self._translate(messages, envelope, source, visitor)
            cost = len(messages) if visitor is None else len(rows)
            failure = None
        except Invalid as invalid:
            rows, cost, failure = [], 1, invalid
        request = ingest.request(source.caller, cost, [row.payload for row in rows])
        request.kinds = [row.kind for row in rows]
        request.sender = Sender.API_KEY if visitor is None else Sender.BROWSER
        return await self._store(ingest, request, failure)

    async def _store(self, ingest: Ingest, request: Request, failure: Invalid | None) -> HttpResponse:
        try:
            await ingest.inbox.put(request)
        except Problem as problem:
            return self.refuse(problem, request.quota)
        if failure is not None:
            return self.refuse(failure, request.quota)
        return HttpResponse(200, _SUCCESS, quota_headers(request.quota))

    def _count(self, source: KeyOwner, visitor: PageVisitor, messages: int) -> None:
        """Charge the visitor's address. Raises RateLimited."""
        limit = self._segment.hits.keys.limit(source.caller, REPORTING)
        subject = address_subject(visitor.browser.ip)
        self._segment.shares.take(source.caller.space_id, subject, messages, limit, time.time())

    async def _translate(
        self, messages: list[bytes], envelope: SegmentBody, source: KeyOwner, visitor: PageVisitor | None
    ) -> list[SegmentRow]:
        """Return the rows of valid messages. Raise Invalid if all are invalid."""
        space_id = source.caller.space_id
        labels = await self._segment.labels.fetch(space_id)
        translator = Translator(labels, self._segment.places, time.time(), envelope.sent_at, visitor)
        rows: list[SegmentRow] = []
        invalid: list[Invalid] = []
        bot_pages = 0
        for raw in messages:
            try:
                message = read_message(raw)
                message.type = self._kind or message.type
                if visitor is not None and visitor.browser.agent.is_bot:
                    bot_pages += message.type == "page"
                    continue
                rows += translator.translate(message)
            except IgnoredMessage as ignored:
                self._segment.ignored.note(space_id, ignored.name, ignored.reason)
            except Invalid as problem:
                invalid.append(problem)
                self._segment.ignored.note(space_id, _find_field(problem), IgnoredReason.INVALID)
        if len(invalid) == len(messages):
            raise invalid[0]
        if bot_pages and visitor is not None:
            bots = AcceptedBots(site_id=visitor.site.id, hits=bot_pages)
            rows.append(SegmentRow("bots", msgspec.json.encode(bots)))
        return rows


async def _read_body(receive: Receive, encoding: str) -> bytes:
    """Return the body, unpacked up to the limit. Raise a 413 or 415, Invalid, or Unavailable."""
    if encoding != "gzip":
        refuse_encoding(encoding)
        return await read_body(receive, MAX_BATCH)
    packed = await read_body(receive, MAX_BATCH)
    admit_stream(MAX_BATCH + len(packed), MAX_BATCH)
    unpacker = zlib.decompressobj(31)
    try:
        body = unpacker.decompress(packed, MAX_BATCH + 1)
    except zlib.error:
        raise Invalid.of("body", "is not in the format gzip.") from None
    if len(body) > MAX_BATCH:
        raise plain(413)
    if not unpacker.eof:
        raise Invalid.of("body", "is not complete.")
    return body


def _read_browser(scope: Any, headers: Headers, segment: SegmentServices) -> Any:
    address = client_address(scope, segment.trusted)
    user_agent = get_text(headers, b"user-agent")[:LONGEST_USER_AGENT]
    browser = make_browser(segment.places, address, user_agent, get_text(headers, b"accept-language"))
    return msgspec.structs.replace(browser, address_key=address_key(address_subject(address)))


def _find_field(problem: Invalid) -> str:
    """Return the first wrong field, if its name is a word of the protocol."""
    name = next(iter(problem.errors), "").partition(".")[0]
    return name if name.isascii() and name.replace("_", "").isalpha() else "message"


async def preflight(scope: Any, _: Receive, send: Send) -> None:
    await answer_preflight(scope, send, _ALLOWED_HEADERS)


def segment_endpoints(segment: SegmentServices) -> dict[tuple[str, str], ASGIApp]:
    """Return the applications by method and path."""
    kinds: dict[str, str | None] = {**PATHS, **dict.fromkeys(BATCH_PATHS)}
    posts = {("POST", path): SegmentEndpoint(segment, kind) for path, kind in kinds.items()}
    return {**posts, **{("OPTIONS", path): preflight for path in kinds}}


def segment_routes(sites: SiteCache) -> list[Route]:
    """Return the route of the settings that the library for browsers loads."""

    async def show_settings(request: HttpRequest) -> Response:
        key = request.path_params["write_key"]
        await sites.site(key)
        scheme, _, host = services(request).base_url.partition("://")
        destination = {
            "apiKey": key,
            "apiHost": host + PREFIX,
            "protocol": scheme,
            "addBundledMetadata": False,
        }
        content = {
            "integrations": {"Segment.io": destination},
            "plan": {"track": {"__default": {"enabled": True}}},
            "metrics": {"sampleRate": 0},
        }
        headers = {"access-control-allow-origin": "*", "cache-control": "public, max-age=300"}
        return Response(msgspec.json.encode(content), media_type="application/json", headers=headers)

    return [Route(f"{PREFIX}/projects/{{write_key}}/settings", show_settings, methods=["GET"])]
