"""The HTTP server: uvicorn on httptools, with the limits it leaves out.

httptools refuses the request-smuggling forms that other parsers let through. Missing from
uvicorn are a bound on headers, a single Host, and any deadline for a request to arrive: a client
sending one byte now and then would hold its connection for ever.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 10.0
REQUEST_SECONDS = 30.0
IDLE_SECONDS = 30
GRACE_SECONDS = 8
MAX_HEADER_BYTES = 32 * 1024
MAX_HEADERS = 100
MAX_URL = 64 * 1024


class HeadTooLargeError(ValueError):
    """The request line or the headers are larger than we read."""


class Protocol(HttpToolsProtocol):
    """One connection. `arriving_since` is when the request now arriving began, or None."""

    arriving_since: float | None = None
    head_done = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.arriving_since = self.loop.time()

    def data_received(self, data: bytes) -> None:
        if self.arriving_since is None:
            self.arriving_since = self.loop.time()
        super().data_received(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.head_done = False
        self.head_bytes = 0
        self.hosts = 0

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > MAX_URL:
            self.refuse(414, "URI Too Long")

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self.head_bytes += len(name) + len(value)
        self.hosts += self.headers[-1][0] == b"host"
        if self.head_bytes > MAX_HEADER_BYTES or len(self.headers) > MAX_HEADERS:
            self.refuse(431, "Request Header Fields Too Large")

    def on_headers_complete(self) -> None:
        self.head_done = True
        assert self.parser is not None  # it is gone only once the connection is
        if self.hosts > 1 or (self.hosts == 0 and self.parser.get_http_version() != "1.0"):
            raise ValueError("a request needs exactly one Host")  # answered 400 by uvicorn
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self.arriving_since = None

    def overdue(self, now: float) -> bool:
        """Whether the request now arriving has taken longer than it may."""
        if self.arriving_since is None:
            return False
        return now - self.arriving_since > (REQUEST_SECONDS if self.head_done else HEAD_SECONDS)

    def refuse(self, status: int, phrase: str) -> None:
        """Answer before the request has been read, and close."""
        if not self.transport.is_closing():
            body = b'{"message":"%s."}' % phrase.encode()
            self.transport.write(
                b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
                b"connection: close\r\n\r\n%s" % (status, phrase.encode(), len(body), body)
            )
            self.transport.close()
        raise HeadTooLargeError(phrase)

    def send_400_response(self, msg: str) -> None:
        """Every answer is JSON; a connection already refused gets nothing more."""
        if not self.transport.is_closing():
            with suppress(HeadTooLargeError):
                self.refuse(400, msg.rstrip("."))


class Server(uvicorn.Server):
    """A uvicorn server that closes connections whose request does not arrive in time."""

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:  # ten ticks a second
            now = asyncio.get_running_loop().time()
            connections = [
                one for one in self.server_state.connections if isinstance(one, Protocol)
            ]
            for connection in connections:
                if connection.overdue(now):
                    connection.transport.close()
        return await super().on_tick(counter)


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
    make_server(app).run([listener])
