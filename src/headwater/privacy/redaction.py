"""Taking a person out of payloads that wait or were rejected. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from headwater.events.accepted import PERSONAL, AcceptedEvent
from headwater.identity.directory import EMAIL, FINGERPRINT, TRACKING_ID, TRK_TOKEN
from headwater.pipeline.steps import EVENT

EMPTIED = "{}"
"""What is left of a payload that names the person and cannot be read."""

_decode = msgspec.json.Decoder(AcceptedEvent).decode
_FORGOTTEN: dict[str, Any] = {
    field.name: {} if field.default is msgspec.NODEFAULT else field.default
    for field in msgspec.structs.fields(AcceptedEvent)
    if field.name in PERSONAL
}


class Named:
    """Tells payloads that name a person, by what the person is recognised by."""

    def __init__(self, identifiers: Iterable[tuple[str, str]]) -> None:
        """`identifiers` are kinds and values as contact_identifiers has them."""
        self._identifiers = frozenset(identifiers)
        self._written = [tuple(_written(kind, value)) for kind, value in self._identifiers]

    def redact(self, kind: str, payload: str) -> str:
        """The payload of a row of this kind without what it tells of the person: as it is, unless
        it names them.
        """
        event = _read(kind, payload)
        if event is None:
            return EMPTIED if self._mentioned_in(payload.casefold()) else payload
        if self._identifiers.isdisjoint(_shown(event)):
            return payload
        return msgspec.json.encode(msgspec.structs.replace(event, **_FORGOTTEN)).decode()

    def is_in(self, text: str) -> bool:
        """Whether a text names them: JSON, however its letters are written, or any other."""
        return self._mentioned_in(_plainly_written(text).casefold())

    def _mentioned_in(self, text: str) -> bool:
        return any(all(part in text for part in parts) for parts in self._written)


def _read(kind: str, payload: str) -> AcceptedEvent | None:
    try:
        return _decode(payload) if kind == EVENT else None
    except (msgspec.DecodeError, UnicodeError):
        return None


def _shown(event: AcceptedEvent) -> list[tuple[str, str | None]]:
    """The identifiers of an event."""
    seen_with = f"{event.fingerprint}|{event.ip}" if event.fingerprint and event.ip else None
    return [
        (EMAIL, event.email),
        (TRACKING_ID, event.tracking_id),
        (TRK_TOKEN, event.trk_token),
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
