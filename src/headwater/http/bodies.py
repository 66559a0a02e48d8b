"""The one way request bodies become values: bounded while they arrive, UTF-8 JSON, nothing else.

JSON libraries differ in what they let through (NaN, lone surrogates, NUL, endless nesting), and
each of those is a failure further in. So all bodies pass here, and a text that PostgreSQL could
not store is refused with the name of its field.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from decimal import Decimal, InvalidOperation
from typing import Any, cast

import msgspec
from starlette.requests import Request

from headwater.http.admission import admit_body, hold_body
from headwater.http.errors import Invalid, Problem, plain

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

MAX_BODY = 1024 * 1024
NOT_AN_OBJECT = {"body": ["The body must be a JSON object."]}

_decoder = msgspec.json.Decoder(float_hook=Decimal)


class Disconnected(Problem):
    """The client went away before its body was complete; nobody reads the answer."""

    def __init__(self) -> None:
        super().__init__("The request body was not complete.", 400)


async def read_body(receive: Receive, limit: int = MAX_BODY) -> bytes:
    """The whole body, admitted before it is read and counted as it arrives. Raises a 413 past
    `limit` bytes, and Unavailable when the process has no room for it.
    """
    admit_body(limit)
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
        hold_body(size)
        pieces.append(piece)
        if not message.get("more_body", False):
            return b"".join(pieces)


async def read_json(request: Request) -> dict[str, Any]:
    """A request's JSON object; fractions arrive as Decimal. Raises Invalid, or a 413 or 415."""
    refuse_encoding(request.headers.get("content-encoding"))
    raw = await read_body(request.receive)
    try:
        value = _decoder.decode(raw)
    except UNDECODABLE as error:
        raise undecodable(raw, error) from None
    if not isinstance(value, dict):
        raise Invalid(NOT_AN_OBJECT)
    refuse_bad_text(value)
    return cast("dict[str, Any]", value)


UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, InvalidOperation)
"""What decoding raises for bytes that are no JSON value Headwater takes."""


def refuse_encoding(encoding: str | None) -> None:
    """Raise a 415 for a compressed body: its size is not bounded by the bytes that arrive."""
    if encoding not in (None, "", "identity"):
        raise plain(415)


def undecodable(raw: bytes, error: Exception) -> Invalid:
    """Why `raw` is no JSON we take. Where only its text is at fault, the answer names the field,
    which costs a second, lenient reading.
    """
    try:
        value = json.loads(raw.decode("utf-8", "surrogateescape"))
        refuse_bad_text(value)
    except Invalid as named:
        return named
    except (ValueError, RecursionError):
        pass
    reason = "it is nested too deeply" if isinstance(error, RecursionError) else _reason(error)
    return Invalid({"body": [f"The body is not valid JSON: {reason}."]})


def refuse_bad_text(value: Any) -> None:
    """Raise Invalid naming every field whose text holds NUL or is not Unicode."""
    bad = {path: [f"The {path} holds {fault}."] for path, fault in _bad_texts(value, "")}
    if bad:
        raise Invalid(bad)


def _bad_texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        fault = _fault(value)
        if fault:
            yield path or "body", fault
    elif isinstance(value, dict):
        for key, item in value.items():  # type: ignore[reportUnknownVariableType]
            name = str(key)  # type: ignore[reportUnknownArgumentType]
            if _fault(name):
                yield path or "body", "a key with NUL or text that is not Unicode"
            else:
                yield from _bad_texts(item, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for index, item in enumerate(value):  # type: ignore[reportUnknownVariableType]
            yield from _bad_texts(item, f"{path}.{index}" if path else str(index))


def _fault(text: str) -> str | None:
    if "\0" in text:
        return "a NUL character"
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        return "text that is not valid Unicode"
    return None


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    if isinstance(error, InvalidOperation):
        return "it holds a number beyond all bounds"
    text = str(error).partition(" - at `")[0]  # a path in terms of the decoder
    return text[:1].lower() + text[1:]
