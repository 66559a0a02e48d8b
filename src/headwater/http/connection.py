"""An HTTP connection: uvicorn's on httptools, with additional limits.

httptools refuses request smuggling that other parsers allow. uvicorn lacks a header limit, a check for a
single Host, a limit on connections that still answers, and deadlines for a request to arrive and an answer to
be read: a client that sends or reads a byte now and then would hold its connection forever.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any, NoReturn, cast

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from headwater.http.bodies import BODY_SECONDS
from headwater.http.exchange import Exchange, begin_exchange, final_answer

HEAD_SECONDS = 10.0
REQUEST_SECONDS = 30.0
WRITE_SECONDS = 30.0
"""Seconds for a client to read LEAST_TAKEN bytes of its answer, or all of it."""
LEAST_TAKEN = 16 * 1024
LINGER_SECONDS = 2.0
"""Seconds that a client may stay silent after an early answer."""
DISCARD_SECONDS = 15.0
MAX_DISCARDED = 64 * 1024 * 1024
"""Maximum bytes of a body read after its request was answered."""
IDLE_SECONDS = 30
MAX_HEADER_BYTES = 32 * 1024
MAX_HEADERS = 100
MAX_URL = 64 * 1024
FRAMING = (b"content-length", b"transfer-encoding")


class State(ServerState):
    def __init__(self, max_connections: int) -> None:
        super().__init__()
        self.max_connections = max_connections
        self.ending = False


class Protocol(HttpToolsProtocol):
    """A connection. `arriving_since` is when the current request began to arrive, or None."""

    app: Any
    server_state: State
    answering: RequestResponseCycle | None = None
    """The request in progress; `cycle` is the latest to arrive, which may wait for it."""
    arriving_since: float | None = None
    idle_since = 0.0
    """Time when the latest answer was complete, or seen still being sent."""
    unsent = 0
    taken_at = 0.0
    """Time when the client last read a part of its answer, with `unsent` bytes left."""
    resuming = False
    in_head = False
    head_done = False
    fault = HTTPStatus.BAD_REQUEST
    is_refused = False
    lingering = False
    discarding = False
    """True if it is reading the rest of a body whose request was answered."""
    discarded = 0
    discarded_at = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.arriving_since = self.loop.time()
        if len(self.connections) > 2 * self.server_state.max_connections:
            transport.abort()
        elif len(self.connections) > self.server_state.max_connections:
            self.fault = HTTPStatus.SERVICE_UNAVAILABLE
            self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self.answering is not None and not self.answering.response_complete:
            self.answering.disconnected = True
            self.answering.message_event.set()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Return True to keep the connection open for the remaining answers: a client may end its own side
        once it has sent everything.
        """
        cycle = cast("Exchange | None", self.cycle)
        if cycle is None or cycle.response_complete or cycle.more_body:
            return False
        cycle.keep_alive = False
        return True

    def resume_writing(self) -> None:
        super().resume_writing()
        self._note_taken(self.loop.time())

    def answer_last(self) -> None:
        """Close the connection after the answer to the latest request."""
        cycle = cast("Exchange | None", self.cycle)
        if cycle is not None:
            cycle.keep_alive = False

    def shutdown(self) -> None:
        if not self.in_head:  # or its answer, or the grace time, closes it
            super().shutdown()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self.answering = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        """Continue with the next request, or wait for one. Unlike uvicorn this starts no timer per request:
        the periodic check for overdue connections also closes idle ones.
        """
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        cycle = self.answering
        if cycle is not None and cycle.more_body:
            self._discard(cycle)
        elif cycle is not None and not cycle.keep_alive:
            self.transport.close()
        elif self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        else:
            self.idle_since = self.loop.time()

    def _discard(self, cycle: RequestResponseCycle) -> None:
        """Read the rest of the body before closing. Closing while the client sends would reset the
        connection, and most clients read an answer only after sending everything.
        """
        self.discarding = True
        self.discarded, self.discarded_at = 0, self.loop.time()
        self.arriving_since = self.discarded_at
        if not cycle.keep_alive and self.transport.can_write_eof():
            self.transport.write_eof()

    def _count_discarded(self, size: int) -> None:
        self.discarded += size
        self.discarded_at = self.loop.time()
        if self.discarded > MAX_DISCARDED:
            self.is_refused = True
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        if self.discarding:
            self._count_discarded(len(data))
        if self.is_refused:
            return
        if self.arriving_since is None:
            self.arriving_since = self.loop.time()
        is_continued = self.in_head
        self._parse(data)
        # The parser buffers a header until it ends, so it never reports an endless one.
        if is_continued and self.in_head and not self.is_refused:
            self.head_bytes_waiting += len(data)
            if self.head_bytes_waiting > MAX_URL + MAX_HEADER_BYTES:
                self.fault = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
                self._end()

    def _parse(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as stop:
            self._stay(data[stop.args[0] :])
        except httptools.HttpParserError:
            self._end()

    def _stay(self, remaining_bytes: bytes) -> None:
        """Keep reading after a request that offers a protocol upgrade (Java's client). The parser
        stops there and takes the body for the other protocol, so a new parser reads it, given the headers
        that frame the body.
        """
        framing = [b"%s: %s\r\n" % header for header in self.headers if header[0] in FRAMING]
        self.parser = httptools.HttpRequestParser(self)
        self.resuming = True
        self._parse(b"POST / HTTP/1.1\r\n%s\r\n" % b"".join(framing))
        self.resuming = False
        self._parse(remaining_bytes)

    def on_message_begin(self) -> None:
        if self.resuming:
            return
        super().on_message_begin()
        if self.arriving_since is None:  # it came in the same bytes as the end of the previous one
            self.arriving_since = self.loop.time()
        self.in_head = True
        self.head_done = False
        self.head_bytes = 0
        self.head_bytes_waiting = 0
        self.hosts = 0

    def on_url(self, url: bytes) -> None:
        if self.resuming:
            return
        self.url += url
        if len(self.url) > MAX_URL:
            self._refuse(HTTPStatus.REQUEST_URI_TOO_LONG)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.resuming:
            return
        name, value = name.lower(), value.rstrip(b" \t")  # llhttp strips only leading blanks
        self.headers.append((name, value))
        self.head_bytes += len(name) + len(value)
        if name == b"host":
            self.hosts += 1
        elif name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        if self.head_bytes > MAX_HEADER_BYTES or len(self.headers) > MAX_HEADERS:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def on_headers_complete(self) -> None:
        if self.resuming:
            return
        if self.hosts > 1 or (self.hosts == 0 and self.parser.get_http_version() != "1.0"):
            self._refuse(HTTPStatus.BAD_REQUEST)
        self._begin()
        self.in_head = False
        self.head_done = True
        if self.server_state.ending:
            self.answer_last()

    def _begin(self) -> None:
        """Start a complete request, or queue it after the current one."""
        before = cast("Exchange | None", self.cycle)
        self.cycle = begin_exchange(self)
        if before is None or before.response_complete:
            self._start_asgi_task(self.cycle, self.app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self.app))

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():  # its body is still to come
            return
        super().on_message_complete()
        self.arriving_since = None
        if self.discarding:
            self.discarding = False
            self.idle_since = self.loop.time()
            if self.answering is not None and not self.answering.keep_alive:
                self.is_refused = True
                self.transport.close()

    def overdue(self, current_time: float) -> bool:
        """Return whether the connection has exceeded a deadline: for the arriving request, for reading its
        refusal, or for reading written data.
        """
        if self._stalled(current_time):
            return True
        if self.arriving_since is None:
            return self._is_idle(current_time)
        if self.discarding:
            waited_seconds = current_time - self.discarded_at
            return waited_seconds > LINGER_SECONDS or current_time - self.arriving_since > DISCARD_SECONDS
        limit = self._seconds_for_body() if self.head_done else HEAD_SECONDS
        return current_time - self.arriving_since > (LINGER_SECONDS if self.lingering else limit)

    def _seconds_for_body(self) -> float:
        """Allow more for an endpoint that takes a file."""
        return cast("dict[str, Any]", self.scope).get(BODY_SECONDS, REQUEST_SECONDS)

    def _is_idle(self, current_time: float) -> bool:
        """Return whether IDLE_SECONDS have passed since the client read its answer."""
        cycle = cast("Exchange | None", self.cycle)
        if cycle is None or not cycle.response_complete:
            return False
        if self.transport.get_write_buffer_size():
            self.idle_since = current_time
        return current_time - self.idle_since > IDLE_SECONDS

    def _stalled(self, current_time: float) -> bool:
        unsent_bytes = self.transport.get_write_buffer_size()
        if unsent_bytes == 0 or self.unsent == 0 or unsent_bytes <= self.unsent - LEAST_TAKEN:
            self._note_taken(current_time)
        return unsent_bytes > 0 and current_time - self.taken_at > WRITE_SECONDS

    def _note_taken(self, current_time: float) -> None:
        self.unsent, self.taken_at = self.transport.get_write_buffer_size(), current_time

    def _refuse(self, status: HTTPStatus) -> NoReturn:
        """Stop the parser from one of its callbacks, and answer with `status`."""
        self.fault = status
        raise ValueError(status.phrase)

    def _end(self) -> None:
        """Answer unparseable input after any earlier request."""
        self.is_refused = True
        cycle = cast("Exchange | None", self.cycle)
        if self.discarding:
            self.transport.close()
        elif cycle is None or cycle.response_complete:
            self._answer_fault()
        elif not cycle.more_body:
            cycle.keep_alive = False
            self.arriving_since = None
        elif self.pipeline or cycle.response_started:
            self.transport.close()  # too late for its own answer
        else:  # the faulty request is in progress and waits for its body
            cycle.disconnected = True
            cycle.message_event.set()
            self._answer_fault()

    def _answer_fault(self) -> None:
        """Answer and close only our side. Closing both while the client sends would reset the connection, and
        the client might never see the answer.
        """
        self.transport.write(final_answer(self.fault))
        self.transport.write_eof()
        self.arriving_since = self.loop.time()
        self.lingering = True
