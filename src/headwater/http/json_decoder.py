"""Decode untrusted JSON with one decoder, depth limit and bounded error texts.

JSON libraries disagree about NaN, lone surrogates, NUL and endless nesting, and each of those fails later.
Decoding and explaining take linear time, and an explanation stays small for any input.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal, InvalidOperation
from itertools import islice
from typing import Any, TypeVar, cast

import msgspec

from headwater.http.errors import MAX_FAULTS, Invalid, shorten

T = TypeVar("T")

MAX_DEPTH = 32
"""Maximum nesting of arrays and objects; no sender needs half of it."""
MAX_CONTAINERS = 50_000
"""Maximum arrays and objects in all, because each takes far more memory than its text."""
MOST_COUNTED = 8 * 1024
"""Bytes of a body that rarely holds many brackets."""
LONGEST_REREAD = 256 * 1024
"""Maximum bytes of a body that is read again to find the faulty field."""
MOST_REPLACED = 10_000
"""Maximum lone surrogates in a body whose items are refused alone."""

NOT_AN_OBJECT = {"body": ["The body must be a JSON object."]}
_TOO_DEEP = f"it is nested more than {MAX_DEPTH} levels deep"
_TOO_MANY = f"it holds more than {MAX_CONTAINERS:,} arrays and objects"
_BEYOND_BOUNDS = "it holds a number beyond all bounds"
_MALFORMED = "JSON is malformed: "

decode_exact = msgspec.json.Decoder(float_hook=Decimal).decode
"""Decode any JSON with all digits of its numbers. Raises msgspec.DecodeError and decimal.InvalidOperation."""
encode_exact = msgspec.json.Encoder(decimal_format="number").encode
"""Encode with all digits."""
_TO_ROUND_BRACKETS = bytes.maketrans(b"[{]}", b"(())")
_NO_BRACKET = bytes(set(range(256)) - set(b'"[{]}'))

_HIGH, _LOW = rb"[89abAB][0-9a-fA-F]{2}", rb"[c-fC-F][0-9a-fA-F]{2}"
_LONE_SURROGATE = re.compile(  # begins with fixed bytes, which are found fast
    rb"\\u[dD](?:%b(?!\\u[dD]%b)|(?<!\\u[dD]%b\\u[dD])%b)" % (_HIGH, _LOW, _HIGH, _LOW)
)
_FF_TO_FE = bytes.maketrans(b"\xff", b"\xfe")

_Path = tuple[str | int, ...]


def decode_json(raw: bytes, decode: Callable[[bytes], Any] = decode_exact) -> Any:
    """Return the value of a JSON text; fractions become Decimal unless the decoder differs. Raise Invalid
    with the reason.
    """
    try:
        return decode_typed(raw, decode)
    except msgspec.ValidationError:
        raise _not_json(_BEYOND_BOUNDS) from None


def decode_typed(raw: bytes, decode: Callable[[bytes], T], *, name_fields: bool = True) -> T:
    """Decode a JSON text with a typed decoder. Raise Invalid for unacceptable JSON (with the field of faulty
    text if `name_fields`), and msgspec.ValidationError for other types.
    """
    _check_form(raw)
    return decode_part(raw, decode, name_fields=name_fields)


def decode_part(raw: bytes, decode: Callable[[bytes], T], *, name_fields: bool = True) -> T:
    """Decode a part of a text whose brackets have been counted, like decode_typed."""
    try:
        if not raw.isascii():
            raw.decode()  # the decoder doesn't check what it skips
        return decode(raw)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError, InvalidOperation) as error:
        if name_fields:
            _refuse_bad_text(raw)
        raise _not_json(_reason(error)) from None


def decode_storable(raw: bytes) -> Any:
    """Decode text to be stored, like decode_json. Raises Invalid with the fields that contain a NUL."""
    value = decode_json(raw)
    if b"\\u0000" in raw:  # other unstorable text has failed to decode
        refuse_bad_text(value)
    return value


def decode_items(raw: bytes, decode: Callable[[bytes], T]) -> T:
    """Decode a text whose items stay msgspec.Raw, like decode_typed, but leave text that is not Unicode to
    decode_part, so that each item can be refused alone.
    """
    _check_form(raw)
    try:
        return decode(raw)  # skips bytes that are not UTF-8
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError):
        text = _replace_lone_surrogates(raw)
    try:
        return decode(text)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _not_json(_reason(error)) from None


def _replace_lone_surrogates(raw: bytes) -> bytes:
    """Replace escapes of lone surrogates, which the decoder doesn't skip, by bytes that are not UTF-8 either.
    Takes a few passes.
    """
    text = raw.translate(_FF_TO_FE).replace(b"\\\\", b"\xff")  # now a backslash before u begins an escape
    return _LONE_SURROGATE.sub(b"\xfe", text, MOST_REPLACED).replace(b"\xff", b"\\\\")


def refuse_bad_text(value: Any) -> None:
    """Raise Invalid with the fields whose text contains NUL or is not Unicode."""
    faults = list(islice(_bad_texts(value, ()), MAX_FAULTS))
    if faults:
        texts = [(_path_text(path), fault) for path, fault in faults]
        raise Invalid({path: [f"The {path} holds {fault}."] for path, fault in texts})


def _check_form(raw: bytes) -> None:
    """Raise Invalid for too many brackets outside strings, or too deep nesting. Takes a few passes over the
    text; invalid JSON is left to the decoder.
    """
    # Counting costs as much as the check below, so it pays only if it often settles it.
    if len(raw) <= MOST_COUNTED and raw.count(b"[") + raw.count(b"{") <= MAX_DEPTH:
        return
    if b"\\" in raw:
        raw = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside_strings = raw.translate(_TO_ROUND_BRACKETS, _NO_BRACKET).split(b'"')[::2]
    brackets = b"".join(outside_strings)
    if brackets.count(b"(") > MAX_CONTAINERS:
        raise _not_json(_TOO_MANY)
    for _ in range(MAX_DEPTH):  # each pass removes the innermost level
        if b"()" not in brackets:
            break
        brackets = brackets.replace(b"()", b"")
    if b"()" in brackets or brackets.count(b"(") > MAX_DEPTH:
        raise _not_json(_TOO_DEEP)


def _refuse_bad_text(raw: bytes) -> None:
    """Raise Invalid with the fields whose text the decoder refused, if a lenient second pass finds any."""
    if len(raw) > LONGEST_REREAD:
        return
    try:
        value = json.loads(raw.decode("utf-8", "surrogateescape"))
    except ValueError:
        return
    refuse_bad_text(value)


def _bad_texts(value: Any, path: _Path) -> Iterator[tuple[_Path, str]]:
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
    elif isinstance(value, list):
        items = enumerate(cast("list[Any]", value))
    else:
        items = ()
        fault = _fault(value)
        if fault:
            yield path, fault
    for key, item in items:
        if _fault(key):
            yield path, "a key with NUL or text that is not Unicode"
        elif isinstance(item, dict | list) or _fault(item):
            yield from _bad_texts(item, (*path, key))


def _path_text(path: _Path) -> str:
    return shorten(".".join(shorten(str(step)) for step in path)) or "body"


def _fault(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    if "\0" in value:
        return "a NUL character"
    try:
        value.encode()
    except UnicodeEncodeError:
        return "text that is not valid Unicode"
    return None


def _not_json(reason: str) -> Invalid:
    return Invalid({"body": [f"The body is not valid JSON: {reason}."]})


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    if isinstance(error, InvalidOperation):
        return _BEYOND_BOUNDS
    text = str(error)
    return text.removeprefix(_MALFORMED) if text.startswith(_MALFORMED) else "it ends too early"
