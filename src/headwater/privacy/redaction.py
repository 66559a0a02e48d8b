"""Remove a person from payloads that wait or were rejected. Pure."""

from __future__ import annotations

from collections.abc import Iterable
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

EMPTIED = "{}"
"""The remainder of a payload that names the person and cannot be read."""

Accepted = AcceptedEvent | AcceptedTouchpoint | AcceptedHit | AcceptedPerson


def _empty(field: msgspec.structs.FieldInfo) -> Any:
    """The empty value of a member: its default, or the least that its type allows."""
    if field.default is not msgspec.NODEFAULT:
        return field.default
    return {} if field.default_factory is not msgspec.NODEFAULT else ""


_PERSONAL: dict[str, tuple[type[Accepted], frozenset[str]]] = {
    EVENT: (AcceptedEvent, events.PERSONAL),
    TOUCHPOINT: (AcceptedTouchpoint, touchpoints.PERSONAL),
    HIT: (AcceptedHit, browsing.PERSONAL_OF_HITS),
    IDENTIFY: (AcceptedPerson, browsing.PERSONAL_OF_PEOPLE),
}
_DECODE = {kind: msgspec.json.Decoder(form).decode for kind, (form, _) in _PERSONAL.items()}
_FORGOTTEN: dict[str, dict[str, Any]] = {
    kind: {field.name: _empty(field) for field in msgspec.structs.fields(form) if field.name in personal}
    for kind, (form, personal) in _PERSONAL.items()
}


class PayloadMatcher:
    """The test of payloads for a person, by the person's identifiers."""

    def __init__(self, identifiers: Iterable[tuple[str, str]]) -> None:
        """`identifiers` are kinds and values as contact_identifiers has them."""
        self._identifiers = frozenset(identifiers)
        self._written = [tuple(_written(kind, value)) for kind, value in self._identifiers]

    @property
    def values(self) -> list[str]:
        """Their identifiers that can stand alone, such as in a cell of a table."""
        return sorted(value for kind, value in self._identifiers if kind != FINGERPRINT)

    def redact(self, kind: str, payload: str) -> str:
        """The payload of a row of this kind without the person's data; unchanged unless it names
        them.
        """
        accepted = _read(kind, payload)
        if accepted is None:
            return EMPTIED if self._mentioned_in(payload.casefold()) else payload
        if self._identifiers.isdisjoint(_identifiers(accepted)):
            return payload
        return msgspec.json.encode(msgspec.structs.replace(accepted, **_FORGOTTEN[kind])).decode()

    def is_in(self, text: str) -> bool:
        """True when a text names them: JSON, in any spelling of its letters, or any other text."""
        return self._mentioned_in(_plainly_written(text).casefold())

    def _mentioned_in(self, text: str) -> bool:
        return any(all(part in text for part in parts) for parts in self._written)


def _read(kind: str, payload: str) -> Accepted | None:
    decode = _DECODE.get(kind)
    try:
        return decode(payload) if decode is not None else None
    except (msgspec.DecodeError, UnicodeError):
        return None


def _identifiers(item: Accepted) -> list[tuple[str, str | None]]:
    """The identifiers of a row, of whatever kind."""
    if isinstance(item, AcceptedHit):
        email = tracking_id = None
    else:
        email, tracking_id = item.email, item.tracking_id
    seen_with = f"{item.fingerprint}|{item.ip}" if item.fingerprint and item.ip else None
    return [(EMAIL, email), (TRACKING_ID, tracking_id), (TRK_TOKEN, item.trk_token), (FINGERPRINT, seen_with)]


def _written(kind: str, value: str) -> Iterable[str]:
    """The forms of an identifier in JSON text, case-folded; a fingerprint and its ip are two."""
    parts = value.rsplit("|", 1) if kind == FINGERPRINT else [value]
    return (msgspec.json.encode(part).decode()[1:-1].casefold() for part in parts)


def _plainly_written(text: str) -> str:
    """JSON text with no more escapes than it needs."""
    try:
        return msgspec.json.encode(msgspec.json.decode(text)).decode()
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text
