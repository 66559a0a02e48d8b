"""The one way request bodies become values: bounded while they arrive, UTF-8 JSON, nothing else.
Files pass through, piece by piece.

All bodies pass here, and a text that PostgreSQL could not store is refused with the name of its
field.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any, cast

from starlette.requests import Request

from headwater.http.admission import admit_body, admit_stream
from headwater.http.errors import Invalid, Problem, plain
from headwater.http.json_decoder import NOT_AN_OBJECT, decode_storable

MEGABYTE = 1_000_000
UPLOAD_SECONDS = 15 * 60.0
"""The seconds within which a file must arrive: 200 MB at 2 Mbit/s."""
HELD_BYTES = 4 * 1024 * 1024
"""Of an upload, what may be held at a time: what is gathered to be written, and as much again."""

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

MAX_BODY = 1024 * 1024
MAX_BATCH_BODY = 8 * 1024 * 1024
"""Of thousands of rows at once."""
BODY_SECONDS = "headwater.body_seconds"
"""In a request's scope: other seconds for its body to arrive in than the server's own."""


class Disconnected(Problem):
    """The client disconnected before its body was complete; there is no reader for an answer."""

    def __init__(self) -> None:
        super().__init__("The request body was not complete.", 400)


class FileTooLarge(Problem):
    """A file that is longer than the limit."""

    def __init__(self, limit: int) -> None:
        most = limit // MEGABYTE
        super().__init__(f"The file has more than {most} MB, which is the most that can be sent.", 413)


async def read_body(receive: Receive, limit: int = MAX_BODY) -> bytes:
    """The whole body, admitted before it is read and counted as it arrives. Raises a 413 past
    `limit` bytes, and Unavailable when the process has no room for it.
    """
    share = admit_body(limit)
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        piece = message.get("body", b"")
        size += len(piece)
        if size > limit:
            raise plain(413)
        if share is not None and size > share.size:  # more than the head declared
            share.hold(size)
        pieces.append(piece)
        if not message.get("more_body", False):
            return b"".join(pieces)


async def read_json(request: Request, limit: int = MAX_BODY) -> dict[str, Any]:
    """Return a request's JSON object of at most `limit` bytes; fractions become Decimal. Raises Invalid, or a
    413 or 415.
    """
    refuse_encoding(request.headers.get("content-encoding"))
    raw = await read_body(request.receive, limit)
    value = decode_storable(raw)
    if not isinstance(value, dict):
        raise Invalid(NOT_AN_OBJECT)
    return cast("dict[str, Any]", value)


def refuse_encoding(encoding: str | None) -> None:
    """Raise a 415 for a compressed body: its size is not bounded by the bytes that arrive."""
    if encoding not in (None, "", "identity"):
        raise plain(415)


def admit_upload(request: Request, longest: int) -> None:
    """Make room and time for a body that is streamed on. Raises a 413 for one that is declared as
    longer than `longest`, and Unavailable when there is no room now.
    """
    request.scope[BODY_SECONDS] = UPLOAD_SECONDS
    admit_stream(HELD_BYTES, longest)


def stream_file(request: Request, limit: int) -> AsyncIterator[bytes]:
    """Admit a body that is a file, and return its pieces. Raises Unavailable, or a 413 or 415; the
    iterator raises FileTooLarge past `limit` bytes, and Disconnected.
    """
    refuse_encoding(request.headers.get("content-encoding"))
    admit_upload(request, limit)
    return _pieces(request, limit)


async def _pieces(request: Request, limit: int) -> AsyncIterator[bytes]:
    size, more = 0, True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        piece = cast("bytes", message.get("body", b""))
        more = cast("bool", message.get("more_body", False))
        size += len(piece)
        if size > limit:
            raise FileTooLarge(limit)
        yield piece
