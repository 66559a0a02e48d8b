"""Mask secrets and personal data in texts from other services: a platform's answer or a webhook's error may
quote what it was sent. Uses the patterns of `logs.mask`, and the sent values. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast
from urllib.parse import quote, urlsplit

import msgspec

from headwater.base.logs import MASKED, is_sensitive, mask

LONGEST_ANSWER = 4096
LONGEST_ERROR = 500

_WINDOW = 8192
"""Maximum characters of a text to read, more than is ever stored."""
_LONGEST_VALUE = 2048
_SHORTEST_VALUE = 2
"""In characters; a single character identifies no person."""
_WHOLE_WORD = 8
"""Values shorter than this are masked only as whole words, so `Al` doesn't damage `All`."""

# Every repetition is bounded, so even a malicious text costs only its length.
_PERSONAL = re.compile(
    r"[^\s\"'<>()\[\]{},;:=&@\\]{1,64}(?:@|%40|\\u0040)[^\s\"'<>()\[\]{},;:=&@\\]{1,255}"
    r"|\b[0-9a-fA-F]{64}\b"
    r"|(?<![\w+])\+[0-9](?:[ ().\-/]{0,3}[0-9]){7,14}(?![0-9])"
)


class Mask:
    """Masks secrets and personal data: typical patterns, and the sent values."""

    def __init__(self, values: Iterable[str] = (), quotes: frozenset[str] = frozenset()) -> None:
        """`quotes` are JSON members whose values are always masked."""
        self._quotes = quotes
        forms = (form for value in values for form in _forms(value))
        self._values = frozenset(form for form in forms if len(form) >= _SHORTEST_VALUE)
        lengths: dict[str, set[int]] = {}
        for value in self._values:
            lengths.setdefault(value[:_SHORTEST_VALUE], set()).add(len(value))
        self._lengths = {start: sorted(count, reverse=True) for start, count in lengths.items()}
        """Lengths of values with these first characters. A text is scanned once, with a few look-ups per
        position for any number of values.
        """

    def text(self, text: str, limit: int = LONGEST_ERROR) -> str:
        """Return the first `limit` characters of a text, masked."""
        masked = self.without_values(_PERSONAL.sub(MASKED, mask(text[:_WINDOW])))
        if len(text) > _WINDOW:
            masked = masked[:-_LONGEST_VALUE]  # the cut may have split a value
        return masked.replace("\0", "")[:limit]  # PostgreSQL can't store NUL in a text

    def answer(self, body: bytes) -> str | None:
        """Return the beginning of an answer's body, masked; None if nothing may be stored. That includes a
        body that may quote values but isn't complete JSON.
        """
        try:
            document = self._document(msgspec.json.decode(body))
            return msgspec.json.encode(document).decode()[:LONGEST_ANSWER]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            if self._quotes:
                return None
        return self.text(body.decode("utf-8", "replace"), LONGEST_ANSWER) or None

    def _document(self, value: Any) -> Any:
        if isinstance(value, dict):
            members = cast("dict[str, Any]", value).items()
            return {self.text(name): self._member(name, item) for name, item in members}
        if isinstance(value, list):
            return [self._document(item) for item in cast("list[Any]", value)]
        if isinstance(value, str):
            return self.text(value, LONGEST_ANSWER)
        if isinstance(value, int | float) and self.without_values(str(value)) == MASKED:
            return MASKED
        return value

    def _member(self, name: str, value: Any) -> Any:
        is_hidden = name in self._quotes or (isinstance(value, str) and is_sensitive(name))
        return MASKED if is_hidden else self._document(value)

    def without_values(self, text: str) -> str:
        """Return a text of ours with only the values masked; it quotes nothing else."""
        pieces: list[str] = []
        start = position = 0
        while position < len(text):
            value = self._value_at(text, position)
            if value is None:
                position += 1
                continue
            pieces += [text[start:position], MASKED]
            start = position = position + len(value)
        return "".join([*pieces, text[start:]])

    def _value_at(self, text: str, position: int) -> str | None:
        start = text[position : position + _SHORTEST_VALUE]
        for length in self._lengths.get(start, ()):
            value = text[position : position + length]
            if value in self._values and (
                length >= _WHOLE_WORD or _is_word(text, position, position + length)
            ):
                return value
        return None


def mask_fields(fields: Mapping[str, Any], unmasked: frozenset[str], urls: frozenset[str]) -> dict[str, Any]:
    """Mask a message for display. Values under `unmasked` stay, URLs under `urls` lose their query, and all
    others are masked, including fields added later.
    """
    return {name: _mask_field(name, value, unmasked, urls) for name, value in fields.items()}


def _mask_field(name: str, value: Any, unmasked: frozenset[str], urls: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return mask_fields(cast("dict[str, Any]", value), unmasked, urls)
    if isinstance(value, list):
        return [_mask_field(name, item, unmasked, urls) for item in cast("list[Any]", value)]
    if name in unmasked:
        return value
    return _page(value) if name in urls else MASKED


def _page(url: Any) -> str:
    try:
        parts = urlsplit(str(url))
        host = parts.hostname or ""
    except ValueError:
        return MASKED
    return f"{parts.scheme}://{host}{parts.path}" if parts.scheme and host else MASKED


def _forms(value: str) -> set[str]:
    """Return how a value may be quoted: unchanged, lower case, in a URL, in JSON, without its `+`."""
    plain_forms = {value, value.lower(), value.removeprefix("+")}
    encoded = {quote(form, safe="") for form in plain_forms}
    json_forms = {msgspec.json.encode(form).decode()[1:-1] for form in plain_forms}
    return plain_forms | encoded | json_forms


def _is_word(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start], text[end : end + 1]
    return not before.isalnum() and not after.isalnum()
