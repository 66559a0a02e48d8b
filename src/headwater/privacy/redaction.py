"""Taking a person out of payloads that wait or were rejected. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from headwater.browsing import accepted as browsing
from headwater.browsing.accepted import AcceptedHit, AcceptedPerson
from headwater.events import accepted as events
from headwater.events.accepted import AcceptedEvent
from headwater.identity.directory import EMAIL, FINGERPRINT, TRACKING_ID, TRK_TOKEN
from headwater.pipeline.steps import EVENT, HIT, IDENTIFY, TOUCHPOINT
from headwater.touchpoints import accepted as touchpoints
from headwater.touchpoints.accepted import AcceptedTouchpoint

EMPTIED = "{}"
"""What is left of a payload that names the person and cannot be read."""

Accepted = AcceptedEvent | AcceptedTouchpoint | AcceptedHit | AcceptedPerson


def _empty(field: msgspec.structs.FieldInfo) -> Any:
    """What is left of a member: nothing, or as little as it can be."""
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
    kind: {
        field.name: _empty(field)
        for field in msgspec.structs.fields(form)
        if field.name in personal
    }
    for kind, (form, personal) in _PERSONAL.items()
}


class PayloadMatcher:
    """Tells payloads that name a person, by what the person is recognised by."""

    def __init__(self, identifiers: Iterable[tuple[str, str]]) -> None:
        """`identifiers` are kinds and values as contact_identifiers has them."""
        self._identifiers = frozenset(identifiers)
        self._written = [tuple(_written(kind, value)) for kind, value in self._identifiers]

    def redact(self, kind: str, payload: str) -> str:
        """The payload of a row of this kind without what it tells of the person: as it is, unless
        it names them.
        """
        accepted = _read(kind, payload)
        if accepted is None:
            return EMPTIED if self._mentioned_in(payload.casefold()) else payload
        if self._identifiers.isdisjoint(_shown(accepted)):
            return payload
        return msgspec.json.encode(msgspec.structs.replace(accepted, **_FORGOTTEN[kind])).decode()

    def is_in(self, text: str) -> bool:
        """Whether a text names them: JSON, however its letters are written, or any other."""
        return self._mentioned_in(_plainly_written(text).casefold())

    def _mentioned_in(self, text: str) -> bool:
        return any(all(part in text for part in parts) for parts in self._written)


def _read(kind: str, payload: str) -> Accepted | None:
    decode = _DECODE.get(kind)
    try:
        return decode(payload) if decode is not None else None
    except (msgspec.DecodeError, UnicodeError):
        return None


def _shown(told: Accepted) -> list[tuple[str, str | None]]:
    """The identifiers of a row, of whatever kind."""
    if isinstance(told, AcceptedHit):
        email = tracking_id = None
    else:
        email, tracking_id = told.email, told.tracking_id
    seen_with = f"{told.fingerprint}|{told.ip}" if told.fingerprint and told.ip else None
    return [
        (EMAIL, email),
        (TRACKING_ID, tracking_id),
        (TRK_TOKEN, told.trk_token),
        (FINGERPRINT, seen_with),
    ]


def _written(kind: str, value: str) -> Iterable[str]:
    """How an identifier stands in JSON text, whatever the case; a fingerprint and its ip apart."""
    parts = value.rsplit("|", 1) if kind == FINGERPRINT else [value]
    return (msgspec.json.encode(part).decode()[1:-1].casefold() for part in parts)


def _plainly_written(text: str) -> str:
    """JSON text with no more escapes than it needs."""
    try:
        return msgspec.json.encode(msgspec.json.decode(text)).decode()
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text
