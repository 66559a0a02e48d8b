"""POST /events/track, /events/batch and /touchpoints/batch in plain ASGI, because they carry most of the
traffic.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import msgspec
import structlog
from msgspec import UNSET, Raw, Struct
from msgspec.structs import replace
from psycopg.errors import DatabaseError

from headwater.database.outage_log import requests_outage
from headwater.database.pool import UNAVAILABLE
from headwater.events.touchpoints.accepted import AcceptedTouchpoint
from headwater.http.bodies import MAX_BATCH_BODY, Disconnected, Receive, read_body, refuse_encoding
from headwater.http.errors import Errors, Invalid, Problem, Unavailable, bound, make_problem
from headwater.http.rate_limits import Quota, RateLimit
from headwater.intake.inbox.accepted_rows import NewRow
from headwater.intake.inbox.inbox import Inbox, Request
from headwater.intake.ingest.answers import Accepted, BatchAccepted, ItemResult
from headwater.intake.ingest.forms import Form, decode_envelope
from headwater.intake.ingest.payload import EVENT_FORM
from headwater.intake.ingest.touchpoints import TOUCHPOINT_FORM, refuse_source
from headwater.people.identity.senders import Sender
from headwater.spaces.access import Caller, KeyCache
from headwater.spaces.keys import Scope

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

TRACKING = RateLimit("track", 1000)
"""Shared by API keys and webhooks."""
SCOPE: Scope = "events:write"
_QUEUED = Accepted(202, "The event is queued.")
MAX_TRACK_BODY = 256 * 1024
MAX_BATCH = 1000

log = structlog.get_logger()
_encode = msgspec.json.encode


class HttpResponse(msgspec.Struct):
    status: int
    body: bytes
    headers: list[tuple[bytes, bytes]]


class Ingest:
    def __init__(self, keys: KeyCache, inbox: Inbox) -> None:
        self.keys, self.inbox = keys, inbox

    def request(self, caller: Caller, cost: int, rows: list[NewRow]) -> Request:
        limit = self.keys.limit(caller, self.inbox.limit)
        return Request(caller.space_id, limit, cost, rows)

    async def put(self, request: Request) -> HttpResponse | None:
        """Return an error response, or None."""
        try:
            await self.inbox.put(request)
        except Problem as problem:
            return make_problem_answer(problem, request.quota)
        return None

    async def refuse(self, caller: Caller, cost: int, refusal: Problem) -> HttpResponse:
        request = self.request(caller, cost, [])
        return await self.put(request) or make_problem_answer(refusal, request.quota)


class Endpoint(ABC):
    """An ASGI application for one route. Errors become responses."""

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        try:
            answer = await self.answer(scope, receive)
        except Problem as problem:
            answer = self.refuse(problem)
        except (*UNAVAILABLE, DatabaseError) as error:
            requests_outage.fail(error)
            answer = self.refuse(Unavailable())
        except asyncio.CancelledError:  # shutdown reached its time limit
            answer = self.refuse(Unavailable())
        except Exception:
            log.exception("ingest_failed")
            answer = self.refuse(make_problem(500))
        length = (b"content-length", b"%d" % len(answer.body))
        content = [] if answer.status == 204 else [(b"content-type", b"application/json"), length]
        headers = [*content, *answer.headers]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})

    @abstractmethod
    async def answer(self, scope: Any, receive: Receive) -> HttpResponse:
        """Return the response. Raises Problem, or database errors."""

    def refuse(self, problem: Problem, quota: Quota | None = None) -> HttpResponse:
        return make_problem_answer(problem, quota)


class KeyedEndpoint(Endpoint):
    """Checks access before it reads the body."""

    max_body: int

    def __init__(self, ingest: Ingest) -> None:
        self.ingest = ingest

    async def answer(self, scope: Any, receive: Receive) -> HttpResponse:
        # The first of repeated headers counts.
        headers: dict[bytes, bytes] = dict(reversed(scope["headers"]))
        caller = await self.ingest.keys.caller(headers.get(b"authorization"), scope)
        try:
            caller.authorize(SCOPE)
            refuse_encoding(headers.get(b"content-encoding", b"").decode("latin-1"))
            body = await read_body(receive, self.max_body)
        except Disconnected:
            raise
        except Problem as problem:
            return await self.ingest.refuse(caller, 0, problem)
        return await self.handle(caller, body)

    @abstractmethod
    async def handle(self, caller: Caller, body: bytes) -> HttpResponse:
        """Handle an authorized request."""


class TrackEndpoint(KeyedEndpoint):
    max_body = MAX_TRACK_BODY

    async def handle(self, caller: Caller, body: bytes) -> HttpResponse:
        request = self.ingest.request(caller, 1, [])
        try:
            event = EVENT_FORM.accept(body, time.time())
        except Invalid as invalid:
            return await self.ingest.refuse(caller, 1, invalid)
        request.rows = [NewRow("event", _encode(event), Sender.API_KEY)]
        refusal = await self.ingest.put(request)
        if refusal:
            return refusal
        receipt = b"%d" % request.receipts[0]
        headers = [(b"x-receipt-id", receipt), *quota_headers(request.quota)]
        answer = replace(_QUEUED, warnings=event.warnings) if event.warnings else _QUEUED
        return HttpResponse(202, _encode(answer), headers)


class BatchItems(Struct, frozen=True):
    """The kind of items in a batch."""

    name: str
    """The body's key and the word in messages."""
    kind: str
    """The kind of their inbox rows."""
    form: Form[Any]
    refuse: Callable[[Any, Caller], Errors | None] = lambda _item, _caller: None
    """Checks that need the caller's Space."""


def _refuse_source(touchpoint: AcceptedTouchpoint, caller: Caller) -> Errors | None:
    return refuse_source(touchpoint, caller.networks)


EVENTS = BatchItems("events", "event", EVENT_FORM)
TOUCHPOINTS = BatchItems("touchpoints", "touchpoint", TOUCHPOINT_FORM, _refuse_source)


class BatchEndpoint(KeyedEndpoint):
    """Queue valid items although others are invalid."""

    max_body = MAX_BATCH_BODY

    def __init__(self, ingest: Ingest, items: BatchItems) -> None:
        super().__init__(ingest)
        self.items = items
        body = msgspec.defstruct("Body", [(items.name, list[Raw])])
        self._decode = msgspec.json.Decoder(body).decode

    async def handle(self, caller: Caller, body: bytes) -> HttpResponse:
        try:
            items = self._read(body)
        except Invalid as invalid:
            return await self.ingest.refuse(caller, 1, invalid)
        results, rows = _accept_all(self.items, items, caller)
        request = self.ingest.request(caller, len(items), rows)
        refusal = await self.ingest.put(request)
        if refusal:
            return refusal
        receipts = iter(request.receipts)
        results = [
            replace(result, receipt_id=str(next(receipts))) if result.status == "queued" else result
            for result in results
        ]
        return HttpResponse(*self._answer(results, len(rows)), quota_headers(request.quota))

    def _read(self, body: bytes) -> list[Raw]:
        name = self.items.name
        envelope = decode_envelope(body, self._decode, name, f"must be an array of {name}.")
        items: list[Raw] = getattr(envelope, name)
        if not 1 <= len(items) <= MAX_BATCH:
            raise Invalid.of(name, f"must hold 1 to {MAX_BATCH} {name}.")
        return items

    def _answer(self, results: list[ItemResult], queued: int) -> tuple[int, bytes]:
        name = self.items.name
        message = f"{queued} of {len(results)} {name} are queued."
        if queued:
            return 202, _encode(BatchAccepted(202, message, results))
        errors = bound(
            (f"{name}.{result.index}.{field}", rules)
            for result in results
            for field, rules in (result.errors or {}).items()
        )
        return 422, _encode({"status": 422, "message": message, "results": results, "errors": errors})


def _accept_all(batch: BatchItems, items: list[Raw], caller: Caller) -> tuple[list[ItemResult], list[NewRow]]:
    current_time = time.time()
    results: list[ItemResult] = []
    rows: list[NewRow] = []
    for index, raw in enumerate(items):
        try:
            item = batch.form.accept(raw, current_time)
        except Invalid as invalid:
            results.append(ItemResult(index, "invalid", errors=invalid.errors))
            continue
        if (errors := batch.refuse(item, caller)) is not None:
            results.append(ItemResult(index, "invalid", errors=errors))
            continue
        rows.append(NewRow(batch.kind, _encode(item), Sender.API_KEY))
        results.append(ItemResult(index, "queued", warnings=item.warnings or UNSET))
    return results, rows


def make_problem_answer(problem: Problem, quota: Quota | None = None) -> HttpResponse:
    headers = [(name.lower().encode(), value.encode()) for name, value in problem.headers.items()]
    return HttpResponse(problem.status, problem.body(), headers + quota_headers(quota))


def quota_headers(quota: Quota | None) -> list[tuple[bytes, bytes]]:
    return quota.headers() if quota else []
