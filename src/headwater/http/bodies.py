"""The one way to turn request bodies into values: size limits, UTF-8 and JSON. Files are streamed.

Text that PostgreSQL can't store is refused with its field's name.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any, cast

from starlette.requests import Request

from headwater.http.admission import admit_body, admit_stream
from headwater.http.errors import Invalid, Problem, make_problem
from headwater.http.json_decoder import NOT_AN_OBJECT, decode_storable

MEGABYTE = 1_000_000
UPLOAD_SECONDS = 15 * 60.0
"""Seconds for a file to arrive: 200 MB at 2 Mbit/s."""
HELD_BYTES = 4 * 1024 * 1024
"""Bytes of an upload in memory: the buffer to write, and as much again."""

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

MAX_BODY = 1024 * 1024
MAX_BATCH_BODY = 8 * 1024 * 1024
"""For batches of thousands of rows."""
BODY_SECONDS = "headwater.body_seconds"
"""Scope key with the seconds for this request's body, if they differ from the server's."""


class Disconnected(Problem):
    """The client disconnected before its body was complete, so no one reads an answer."""

    def __init__(self) -> None:
        super().__init__("The request body was not complete.", 400)


class FileTooLarge(Problem):
    def __init__(self, limit: int) -> None:
        megabytes = limit // MEGABYTE
        super().__init__(f"The file has more than {megabytes} MB, which is the most that can be sent.", 413)


async def read_body(receive: Receive, limit: int = MAX_BODY) -> bytes:
    """Return the complete body, counted as it arrives. Raise a 413 past `limit` bytes, and Unavailable
    without room.
    """
    share = admit_body(limit)
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > limit:
            raise make_problem(413)
        if share is not None and size > share.size:  # more than the head declared
            share.hold(size)
        pieces.append(chunk)
        if not message.get("more_body", False):
            return b"".join(pieces)


async def read_json(request: Request, limit: int = MAX_BODY) -> dict[str, Any]:
    """Return a request's JSON object of at most `limit` bytes; fractions become Decimal. Raise Invalid, or a
    413 or 415.
    """
    refuse_encoding(request.headers.get("content-encoding"))
    raw = await read_body(request.receive, limit)
    value = decode_storable(raw)
    if not isinstance(value, dict):
        raise Invalid(NOT_AN_OBJECT)
    return cast("dict[str, Any]", value)


def refuse_encoding(encoding: str | None) -> None:
    """Raise a 415 for a compressed body, whose size the arriving bytes don't bound."""
    if encoding not in (None, "", "identity"):
        raise make_problem(415)


def admit_upload(request: Request, longest: int) -> None:
    """Make room and time for a streamed body. Raise a 413 if its declared length exceeds `longest`, and
    Unavailable without room.
    """
    request.scope[BODY_SECONDS] = UPLOAD_SECONDS
    admit_stream(HELD_BYTES, longest)


def stream_file(request: Request, limit: int) -> AsyncIterator[bytes]:
    """Admit a file and return its chunks. Raise Unavailable, or a 413 or 415; the iterator raises
    FileTooLarge past `limit` bytes, and Disconnected.
    """
    refuse_encoding(request.headers.get("content-encoding"))
    admit_upload(request, limit)
    return _pieces(request, limit)


async def _pieces(request: Request, limit: int) -> AsyncIterator[bytes]:
    size, has_more = 0, True
    while has_more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        chunk = cast("bytes", message.get("body", b""))
        has_more = cast("bool", message.get("more_body", False))
        size += len(chunk)
        if size > limit:
            raise FileTooLarge(limit)
        yield chunk
