from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from headwater.events import accepted as events
from headwater.events.accepted import AcceptedEvent
from headwater.events.browsing import accepted as browsing
from headwater.events.browsing.accepted import AcceptedHit, AcceptedPerson
from headwater.events.touchpoints import accepted as touchpoints
from headwater.events.touchpoints.accepted import AcceptedTouchpoint
from headwater.intake.pipeline.steps import EVENT, HIT, IDENTIFY, TOUCHPOINT
from headwater.people.identity.directory import EMAIL, FINGERPRINT, TRACKING_ID, TRK_TOKEN

PHONE = "phone"
EMPTIED = "{}"
"""Replaces an unreadable payload that mentions the person."""

_END, _FEW = 6, 100

AcceptedItem = AcceptedEvent | AcceptedTouchpoint | AcceptedHit | AcceptedPerson


def _empty(field: msgspec.structs.FieldInfo) -> Any:
    """Return the default, or the empty value of the type."""
    if field.default is not msgspec.NODEFAULT:
        return field.default
    return {} if field.default_factory is not msgspec.NODEFAULT else ""


_PERSONAL_MEMBERS: dict[str, tuple[type[AcceptedItem], frozenset[str]]] = {
    EVENT: (AcceptedEvent, events.PERSONAL_MEMBERS),
    TOUCHPOINT: (AcceptedTouchpoint, touchpoints.PERSONAL_MEMBERS),
    HIT: (AcceptedHit, browsing.PERSONAL_HIT_MEMBERS),
    IDENTIFY: (AcceptedPerson, browsing.PERSONAL_IDENTIFY_MEMBERS),
}
_DECODE = {kind: msgspec.json.Decoder(form).decode for kind, (form, _) in _PERSONAL_MEMBERS.items()}
_EMPTY_MEMBERS: dict[str, dict[str, Any]] = {
    kind: {field.name: _empty(field) for field in msgspec.structs.fields(form) if field.name in personal}
    for kind, (form, personal) in _PERSONAL_MEMBERS.items()
}


class PayloadMatcher:
    """Finds a person in payloads by the person's identifiers."""

    def __init__(self, identifiers: Iterable[tuple[str, str]]) -> None:
        """Store kinds and values of contact_identifiers."""
        self._identifiers = frozenset(identifiers)
        self._comparable_identifiers = frozenset(
            _make_comparable(kind, value) for kind, value in self._identifiers
        )
        self._encoded = [tuple(_encode(kind, value)) for kind, value in self._identifiers]
        self._by_end: dict[str, list[tuple[str, ...]]] = {}
        for parts in self._encoded:
            end = parts[0][-_END:]
            self._by_end.setdefault(end if len(end) == _END else "", []).append(parts)

    @property
    def values(self) -> list[str]:
        """Return identifiers that recognize a row by one table cell. A phone may be shared with others."""
        return sorted(value for kind, value in self._identifiers if kind not in (FINGERPRINT, PHONE))

    def redact(self, kind: str, payload: str) -> str:
        item = _read(kind, payload)
        if item is None:
            return EMPTIED if self._is_mentioned(payload.casefold()) else payload
        if self._comparable_identifiers.isdisjoint(_identifiers(item)):
            return payload
        return msgspec.json.encode(msgspec.structs.replace(item, **_EMPTY_MEMBERS[kind])).decode()

    def is_in(self, text: str) -> bool:
        """Search a text, JSON with any escapes or other."""
        return self._is_mentioned(_normalize_json(text).casefold())

    def _is_mentioned(self, text: str) -> bool:
        return any(all(fragment in text for fragment in parts) for parts in self._list_candidates(text))

    def _list_candidates(self, text: str) -> Iterable[tuple[str, ...]]:
        """Omit identifiers whose end is missing, because a person may have thousands. Searching for a few
        is faster than listing all ends in a text.
        """
        if len(self._encoded) <= _FEW:
            return self._encoded
        ends = {text[index : index + _END] for index in range(len(text) - _END + 1)}
        return [parts for end in self._by_end.keys() & {"", *ends} for parts in self._by_end[end]]


def _read(kind: str, payload: str) -> AcceptedItem | None:
    decode = _DECODE.get(kind)
    try:
        return decode(payload) if decode is not None else None
    except (msgspec.DecodeError, UnicodeError):
        return None


def _identifiers(item: AcceptedItem) -> Sequence[tuple[str, str | None]]:
    """Return what an item is recognized by: its phone only if it has nothing else."""
    if isinstance(item, AcceptedHit):
        email = tracking_id = None
    else:
        email, tracking_id = item.email, item.tracking_id
    seen_with = f"{item.fingerprint}|{item.ip}" if item.fingerprint and item.ip else None
    identifiers = [
        (EMAIL, email),
        (TRACKING_ID, tracking_id),
        (TRK_TOKEN, item.trk_token),
        (FINGERPRINT, seen_with),
    ]
    if isinstance(item, AcceptedEvent) and item.phone and not any(value for _, value in identifiers):
        return [_make_comparable(PHONE, item.phone)]
    return identifiers


def _make_comparable(kind: str, value: str) -> tuple[str, str]:
    """Reduce a phone to its digits."""
    return kind, "".join(filter(str.isdecimal, value)) if kind == PHONE else value


def _encode(kind: str, value: str) -> Iterable[str]:
    """Return case-folded JSON; a fingerprint and its ip are two texts."""
    parts = value.rsplit("|", 1) if kind == FINGERPRINT else [value]
    return (msgspec.json.encode(text).decode()[1:-1].casefold() for text in parts)


def _normalize_json(text: str) -> str:
    """Use as few escapes as possible; keep other text."""
    try:
        return msgspec.json.encode(msgspec.json.decode(text)).decode()
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text
