"""Read members of messages, which can hold anything, because senders do. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import msgspec

from headwater.http.errors import Invalid
from headwater.http.json_decoder import decode_json, decode_part, refuse_bad_text

LONGEST_ID = 255

Members = dict[str, Any]
Part = TypeVar("Part")


def read_part(raw: bytes, decode: Callable[[bytes], Part], name: str) -> Part:
    """Read a part of a decoded body. Raise Invalid under `name` unless it is an object."""
    try:
        part = decode_part(raw, decode)
    except msgspec.ValidationError:
        raise Invalid.of(name, "must be an object, without numbers beyond all bounds.") from None
    if b"\\u0000" in raw:
        refuse_bad_text(decode_json(raw))
    return part


def read_text(value: Any, longest: int = LONGEST_ID) -> str | None:
    """Return text or a whole number as trimmed text; None for anything else, and for longer text."""
    if value is None:
        return None
    if type(value) is int:
        value = str(value)
    elif not isinstance(value, str):
        return None
    text = value.strip()
    return text if text and len(text) <= longest else None


def read_members(members: Members, name: str) -> Members:
    """Return a nested object, or an empty one."""
    value = members.get(name)
    return cast("Members", value) if isinstance(value, dict) else {}


def require_members(value: Any, name: str) -> Members:
    """Return an object; empty if missing. Raise Invalid for other values."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Invalid.of(name, "must be an object.")
    return cast("Members", value)
