"""The one way request bodies become values: bounded while they arrive, UTF-8 JSON, nothing else.

All bodies pass here, and a text that PostgreSQL could not store is refused with the name of its
field.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, cast

from starlette.requests import Request

from headwater.http.admission import admit_body
from headwater.http.errors import Invalid, Problem, plain
from headwater.http.json_decoder import NOT_AN_OBJECT, decode_storable

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

MAX_BODY = 1024 * 1024
MAX_BATCH_BODY = 8 * 1024 * 1024
"""Of thousands of rows at once."""
BODY_SECONDS = "headwater.body_seconds"
"""In a request's scope: other seconds for its body to arrive in than the server's own."""


class Disconnected(Problem):
    """The client went away before its body was complete; nobody reads the answer."""

    def __init__(self) -> None:
        super().__init__("The request body was not complete.", 400)


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
    """A request's JSON object of at most so many bytes; fractions arrive as Decimal. Raises
    Invalid, or a 413 or 415.
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
