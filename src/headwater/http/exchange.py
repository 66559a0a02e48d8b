"""A request and its answer between server and application.

An answer with a declared length is written at once, head and body together. uvicorn writes them separately
and matches every header against two patterns, which takes 5 to 9 µs of CPU time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from headwater.http.answer_counts import count_answer
from headwater.http.errors import Unavailable, make_problem

WRITTEN_APART = 64 * 1024
"""Bodies of at least this many bytes are written separately instead of copied behind the head."""

NO_SNIFFING = b"x-content-type-options: nosniff"
"""A header of every answer: browsers must not guess another type."""
DEFAULTS = {
    b"content-security-policy": b"content-security-policy: frame-ancestors 'none'",
    b"cache-control": b"cache-control: no-store",
}
"""Lines of answers that don't set these headers: no page may frame them, and no cache keep them."""

_STATUS_LINES = {int(status): f"HTTP/1.1 {status.value} {status.phrase}".encode() for status in HTTPStatus}
_WITHOUT_BODY = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
_END = b"0\r\n\r\n"
_CONTROL = bytes({*range(32), 127} - {ord("\t")})


def begin_exchange(connection: HttpToolsProtocol) -> Exchange:
    """Return the exchange of the request whose head has just arrived."""
    parser: Any = connection.parser
    version = parser.get_http_version()
    url: Any = httptools.parse_url(connection.url)
    path = url.path.decode("ascii")
    connection.scope["method"] = parser.get_method().decode("ascii")
    connection.scope["http_version"] = version
    connection.scope["path"] = unquote(path) if "%" in path else path
    connection.scope["raw_path"] = url.path
    connection.scope["query_string"] = url.query or b""
    return Exchange(
        connection.scope,
        connection.transport,
        connection.flow,
        connection.logger,
        connection.access_logger,
        access_log=False,
        default_headers=[],
        message_event=asyncio.Event(),
        expect_100_continue=connection.expect_100_continue,
        keep_alive=version != "1.0" and parser.should_keep_alive(),
        on_response=connection.on_response_complete,
    )


def final_answer(status: HTTPStatus) -> bytes:
    """Return the complete answer to an unacceptable request; no other follows."""
    count_answer(status)
    problem = Unavailable() if status == HTTPStatus.SERVICE_UNAVAILABLE else make_problem(status)
    body, headers = problem.body(), problem.headers.items()
    lines = [
        _STATUS_LINES[status],
        NO_SNIFFING,
        *DEFAULTS.values(),
        b"content-type: application/json",
        b"content-length: %d" % len(body),
        *(f"{name.lower()}: {value}".encode() for name, value in headers),
        b"connection: close",
    ]
    return b"\r\n".join((*lines, b"", body))


class Exchange(RequestResponseCycle):
    """uvicorn's cycle with faster answers."""

    _unsent = b""
    """The answer's head, until the body arrives."""
    _bytes_left = 0
    """Remaining bytes of the declared length."""

    async def send(self, message: Any) -> None:
        """Send a part of the answer, per ASGI. Does nothing after the client has disconnected."""
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        kind = message["type"]
        if kind == "http.response.start" and not self.response_started:
            self._send_head(message["status"], message.get("headers", ()))
        elif kind == "http.response.body" and self.response_started and not self.response_complete:
            self._send_body(message.get("body", b""), message.get("more_body", False))
        else:
            raise RuntimeError(f"{kind} is not what comes next in an answer.")

    def _send_head(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        self.response_started = True
        count_answer(status)
        if self.waiting_for_100_continue and self.more_body:
            self.keep_alive = False  # the client decides whether the body follows
        self.waiting_for_100_continue = False
        lines = [_STATUS_LINES[status], NO_SNIFFING]
        length, defaults = None, DEFAULTS.copy()
        for name, value in headers:
            defaults.pop(name, None)
            if name == b"connection" and value == b"close":
                self.keep_alive = False
                continue
            lines.append(b"%b: %b" % (name, value))
            if name == b"content-length":
                length = int(value)
        lines += defaults.values()
        if not self.keep_alive:
            lines.append(b"connection: close")
        self._bytes_left = length or 0
        if length is None and self.scope["method"] != "HEAD" and status not in _WITHOUT_BODY:
            self.chunked_encoding = True
            lines.append(b"transfer-encoding: chunked")
        text = b"".join(lines)
        if len(text.translate(None, _CONTROL)) != len(text):
            raise RuntimeError("A header of the answer holds a control character.")
        self._unsent = b"\r\n".join((*lines, b"\r\n"))
        if length is None:  # the first part of a stream may take long
            self._write(b"")

    def _send_body(self, body: bytes, has_more: bool) -> None:
        if self.scope["method"] == "HEAD":
            body = b""
        elif self.chunked_encoding:
            body = (b"%x\r\n%b\r\n" % (len(body), body) if body else b"") + (b"" if has_more else _END)
        else:
            self._bytes_left -= len(body)
            if self._bytes_left < 0 or (self._bytes_left and not has_more):
                raise RuntimeError("The answer is not as long as it declares.")
        self._write(body)
        if not has_more:
            self.response_complete = True
            self.message_event.set()
            self.on_response()

    def _write(self, body: bytes) -> None:
        head, self._unsent = self._unsent, b""
        if head and len(body) > WRITTEN_APART:
            self.transport.write(head)
            head = b""
        if head or body:
            self.transport.write(head + body)
