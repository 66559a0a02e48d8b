"""The HTTP server: uvicorn on httptools, with the limits it leaves out.

httptools refuses the request-smuggling forms that other parsers let through. Missing from
uvicorn are a bound on headers, a single Host, and any deadline for a request to arrive: a client
sending one byte now and then would hold its connection for ever.
"""

from __future__ import annotations

import asyncio
import gc
import socket
from http import HTTPStatus
from typing import Any, NoReturn, cast

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from headwater.http.errors import plain

HEAD_SECONDS = 10.0
REQUEST_SECONDS = 30.0
LINGER_SECONDS = 2.0
IDLE_SECONDS = 30
GRACE_SECONDS = 8
MAX_HEADER_BYTES = 32 * 1024
MAX_HEADERS = 100
MAX_URL = 64 * 1024
FRAMING = (b"content-length", b"transfer-encoding")


class Protocol(HttpToolsProtocol):
    """One connection. `arriving_since` is when the request now arriving began, or None."""

    arriving_since: float | None = None
    resuming = False
    in_head = False
    head_done = False
    fault = HTTPStatus.BAD_REQUEST
    refused = False
    lingering = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.arriving_since = self.loop.time()

    def data_received(self, data: bytes) -> None:
        if self.refused:
            return
        if self.arriving_since is None:
            self.arriving_since = self.loop.time()
        continued = self.in_head
        self._unset_keepalive_if_required()
        self._parse(data)
        # The parser gathers a header until it ends, and reports none that never does.
        if continued and self.in_head and not self.refused:
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

    def _stay(self, rest: bytes) -> None:
        """Read on after a request that offers to change the protocol, as Java's client does. The
        parser stops there and takes even the body for the other protocol; a new one, told how
        the body is framed, reads it.
        """
        framing = [b"%s: %s\r\n" % header for header in self.headers if header[0] in FRAMING]
        self.parser = httptools.HttpRequestParser(self)
        self.resuming = True
        self._parse(b"POST / HTTP/1.1\r\n%s\r\n" % b"".join(framing))
        self.resuming = False
        self._parse(rest)

    def on_message_begin(self) -> None:
        if self.resuming:
            return
        super().on_message_begin()
        if self.arriving_since is None:  # it came in the same bytes as the end of the one before
            self.arriving_since = self.loop.time()
        self.in_head = True
        self.head_done = False
        self.head_bytes = 0
        self.head_bytes_waiting = 0
        self.hosts = 0

    def on_url(self, url: bytes) -> None:
        if self.resuming:
            return
        super().on_url(url)
        if len(self.url) > MAX_URL:
            self._refuse(HTTPStatus.REQUEST_URI_TOO_LONG)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.resuming:
            return
        super().on_header(name, value.rstrip(b" \t"))  # llhttp takes off only what is before it
        self.head_bytes += len(name) + len(value)
        self.hosts += self.headers[-1][0] == b"host"
        if self.head_bytes > MAX_HEADER_BYTES or len(self.headers) > MAX_HEADERS:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def on_headers_complete(self) -> None:
        if self.resuming:
            return
        if self.hosts > 1 or (self.hosts == 0 and self.parser.get_http_version() != "1.0"):
            self._refuse(HTTPStatus.BAD_REQUEST)
        super().on_headers_complete()
        self.in_head = False
        self.head_done = True

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():  # its body has yet to come
            return
        super().on_message_complete()
        self.arriving_since = None

    def overdue(self, now: float) -> bool:
        """Whether the connection has waited longer than it may: for the request now arriving, or
        for the client to take its refusal.
        """
        if self.arriving_since is None:
            return False
        limit = REQUEST_SECONDS if self.head_done else HEAD_SECONDS
        return now - self.arriving_since > (LINGER_SECONDS if self.lingering else limit)

    def _refuse(self, status: HTTPStatus) -> NoReturn:
        """From a callback of the parser: stop it with `status`."""
        self.fault = status
        raise ValueError(status.phrase)

    def _end(self) -> None:
        """Read nothing more, and answer what could not be taken with `fault`.

        A request before it that is still being answered gets its answer, as the last.
        """
        self.refused = True
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is None or cycle.response_complete:
            self._answer_fault()
        elif not cycle.more_body:
            cycle.keep_alive = False
            self.arriving_since = None
        elif self.pipeline or cycle.response_started:
            self.transport.close()  # too late for an answer of its own
        else:  # the request at fault is being worked on, and waits for its body
            cycle.disconnected = True
            cycle.message_event.set()
            self._answer_fault()

    def _answer_fault(self) -> None:
        """Answer and close our side only: closing both while the client still sends would reset
        the connection, and the client might never see the answer.
        """
        body = plain(self.fault).body()
        self.transport.write(
            b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
            b"connection: close\r\n\r\n%s"
            % (self.fault, self.fault.phrase.encode(), len(body), body)
        )
        self.transport.write_eof()
        self.arriving_since = self.loop.time()
        self.lingering = True


class Server(uvicorn.Server):
    """A uvicorn server that closes connections whose request does not arrive in time."""

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:  # ten ticks a second
            self.close_overdue(asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    def close_overdue(self, now: float) -> None:
        """Close every connection that is overdue at `now`, on the clock of the event loop."""
        connections = cast("set[Protocol]", self.server_state.connections)
        for connection in [one for one in connections if one.overdue(now)]:
            connection.transport.close()


def make_server(app: Any) -> Server:
    """A server for `app`, to be run on listening sockets."""
    config = uvicorn.Config(
        app, http=Protocol, loop="uvloop", ws="none", lifespan="on", interface="asgi3",
        log_config=None, access_log=False, server_header=False, date_header=False,
        proxy_headers=False, timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS, backlog=2048,
    )  # fmt: skip
    return Server(config)


def serve(app: Any, listener: socket.socket) -> None:
    """Serve `app` until SIGTERM or SIGINT, then finish what has begun within the grace time."""
    # The program itself is no garbage: it need not be looked through again and again.
    gc.collect()
    gc.freeze()
    make_server(app).run([listener])
