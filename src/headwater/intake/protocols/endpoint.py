"""Endpoints of other companies' protocols in plain ASGI.

A request's messages are translated into the rows of the API and the tracker, and join their group commits.
Messages that say nothing here are counted by name and reason.
"""

from __future__ import annotations

import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from headwater.events.browsing.accepted import AcceptedBots
from headwater.events.browsing.places import Places
from headwater.http.admission import admit_stream
from headwater.http.bodies import Receive, read_body, refuse_encoding
from headwater.http.clients import Networks, address_subject, client_address
from headwater.http.errors import Invalid, Problem, make_problem
from headwater.intake.inbox.accepted_rows import NewRow
from headwater.intake.ingest.endpoints import Endpoint, HttpResponse, Ingest, quota_headers
from headwater.intake.protocols.event_names import SpaceLabels
from headwater.intake.protocols.ignored import IgnoredNames, IgnoredReason
from headwater.intake.protocols.keys import Key, KeyOwner, find_owner
from headwater.intake.protocols.translation import IgnoredMessage, PageVisitor, Translator, make_browser
from headwater.intake.tracker.endpoint import LONGEST_USER_AGENT, Headers, add_grant, get_text
from headwater.intake.tracker.shares import Shares
from headwater.people.identity.joins import address_key
from headwater.spaces.sites.sites import REPORTING, SiteCache

UNPACKED_AT_ONCE = 64 * 1024
"""Bytes of a packed body that are counted and unpacked together."""

Translate = Callable[[Any], list[NewRow]]
"""Translates a message. Raises Invalid or IgnoredMessage."""


class ProtocolServices(Struct, frozen=True):
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


class MessageBatch(ABC):
    """The messages of one request."""

    key: Key
    notes: Sequence[IgnoredMessage] = ()
    """Ignored members of the request itself."""

    @abstractmethod
    def list_messages(self) -> list[Any]:
        """Raise Invalid for none or too many."""

    @abstractmethod
    def make_translation(self, translator: Translator) -> Translate: ...


class Incoming(Struct, frozen=True):
    """A request."""

    query: bytes
    headers: Headers
    body: bytes


class Outcome(Struct):
    """What became of a request's messages, by their positions."""

    count: int = 0
    rows: list[NewRow] = []
    invalid: list[tuple[int, Invalid]] = []
    ignored: list[tuple[int | None, IgnoredMessage]] = []
    """None for members of the request."""
    refusal: Invalid | None = None
    """Why no message was read."""

    @property
    def is_invalid(self) -> bool:
        """All messages are."""
        return len(self.invalid) == self.count


class ProtocolEndpoint(Endpoint):
    max_body: int
    """Bytes, also when unpacked."""

    def __init__(self, services: ProtocolServices) -> None:
        self.services = services

    async def answer(self, scope: Any, receive: Receive) -> HttpResponse:
        # The first of repeated headers counts.
        headers: Headers = dict(reversed(scope["headers"]))
        origin = get_text(headers, b"origin").strip()
        try:
            body = await _read_packed_body(receive, headers, self.max_body)
            batch = self.read(Incoming(scope["query_string"], headers, body))
            keys, sites = self.services.events.keys, self.services.sites
            owner = await find_owner(keys, sites, batch.key, origin, scope)
            visitor = self._find_visitor(owner, scope, headers)
            outcome = await self._translate(batch, owner, visitor)
            answer = await self.finish(owner, outcome)
        except Problem as problem:
            answer = self.refuse(problem)
        return add_grant(answer, origin)

    @abstractmethod
    def read(self, incoming: Incoming) -> MessageBatch:
        """Raise Invalid."""

    @abstractmethod
    def conclude(self, outcome: Outcome) -> HttpResponse | Invalid:
        """Return the answer once the rows are durable, or the error if all messages are invalid."""

    async def finish(self, owner: KeyOwner, outcome: Outcome) -> HttpResponse:
        """Store the rows, and count what was ignored."""
        self._note(owner.caller.space_id, outcome)
        answer = outcome.refusal or self.conclude(outcome)
        if isinstance(answer, Invalid):
            return await self.store(owner, 1, [], answer)
        cost = outcome.count if owner.site is None else len(outcome.rows)
        return await self.store(owner, cost, outcome.rows, answer)

    async def store(
        self, owner: KeyOwner, cost: int, rows: list[NewRow], answer: HttpResponse | Invalid
    ) -> HttpResponse:
        """Return the answer once the rows are durable, or the error of the inbox."""
        ingest = self.services.events if owner.site is None else self.services.hits
        request = ingest.request(owner.caller, cost, rows)
        try:
            await ingest.inbox.put(request)
        except Problem as problem:
            return self.refuse(problem, request.quota)
        if isinstance(answer, Invalid):
            return self.refuse(answer, request.quota)
        answer.headers += quota_headers(request.quota)
        return answer

    def _find_visitor(self, owner: KeyOwner, scope: Any, headers: Headers) -> PageVisitor | None:
        if owner.site is None:
            return None
        address = client_address(scope, self.services.trusted)
        user_agent = get_text(headers, b"user-agent")[:LONGEST_USER_AGENT]
        language = get_text(headers, b"accept-language")
        browser = make_browser(self.services.places, address, user_agent, language)
        key = address_key(address_subject(address))
        return PageVisitor(owner.site, msgspec.structs.replace(browser, address_key=key))

    async def _translate(self, batch: MessageBatch, owner: KeyOwner, visitor: PageVisitor | None) -> Outcome:
        try:
            messages = batch.list_messages()
        except Invalid as invalid:
            return Outcome(refusal=invalid)
        if visitor is not None:
            self._charge(owner, visitor, len(messages))
        labels = await self.services.labels.fetch(owner.caller.space_id)
        translator = Translator(labels, self.services.places, time.time(), visitor)
        translate = batch.make_translation(translator)
        outcome = Outcome(len(messages), ignored=[(None, note) for note in batch.notes])
        rows = outcome.rows
        for index, message in enumerate(messages):
            try:
                rows += translate(message)
            except IgnoredMessage as ignored:
                outcome.ignored.append((index, ignored))
            except Invalid as problem:
                outcome.invalid.append((index, problem))
        if translator.bot_pages and visitor is not None:
            bots = AcceptedBots(site_id=visitor.site.id, hits=translator.bot_pages)
            rows.append(NewRow("bots", msgspec.json.encode(bots), translator.sender))
        return outcome

    def _charge(self, owner: KeyOwner, visitor: PageVisitor, messages: int) -> None:
        """Charge the visitor's address. Raises RateLimited."""
        limit = self.services.hits.keys.limit(owner.caller, REPORTING)
        subject = address_subject(visitor.browser.ip)
        self.services.shares.take(owner.caller.space_id, subject, messages, limit, time.time())

    def _note(self, space_id: int, outcome: Outcome) -> None:
        note = self.services.ignored.note
        for _, ignored in outcome.ignored:
            note(space_id, ignored.name, ignored.reason)
        for _, problem in outcome.invalid:
            note(space_id, _find_field(problem), IgnoredReason.INVALID)


async def _read_packed_body(receive: Receive, headers: Headers, limit: int) -> bytes:
    """Return the body, unpacked up to the limit. Raise a 413 or 415, Invalid, or Unavailable."""
    encoding = get_text(headers, b"content-encoding")
    if encoding != "gzip":
        refuse_encoding(encoding)
        return await read_body(receive, limit)
    packed_body = remaining_bytes = await read_body(receive, limit)
    unpacker = zlib.decompressobj(31)
    body = bytearray()
    while not unpacker.eof:
        admit_stream(len(packed_body) + len(body) + UNPACKED_AT_ONCE, limit)
        try:
            chunk = unpacker.decompress(remaining_bytes, UNPACKED_AT_ONCE)
        except zlib.error:
            raise Invalid.of("body", "is not in the format gzip.") from None
        remaining_bytes = unpacker.unconsumed_tail
        body += chunk
        if len(body) > limit:
            raise make_problem(413)
        if not (chunk or unpacker.eof):
            raise Invalid.of("body", "is not complete.")
    return bytes(body)


def _find_field(problem: Invalid) -> str:
    """Return the first wrong field, if its name is a word of the protocol."""
    name = next(iter(problem.errors), "").removeprefix("params.").partition(".")[0]
    return name if name.isascii() and name.replace("_", "").isalpha() else "message"
