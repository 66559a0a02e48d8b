"""A call that a message makes, in Segment's words for its members. Other protocols are read into the same."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from headwater.intake.ingest.payload import Consent
from headwater.intake.protocols.payloads import LONGEST_EMAIL
from headwater.intake.protocols.values import Members, read_text


class ProtocolCall(Struct):
    name: str
    """The event's, else the call's, in the sender's spelling."""
    message_id: str
    """Equal when the same message is sent again."""
    occurred_at: int
    """Milliseconds since 1970."""
    identifiers: dict[str, str]
    context: Members
    properties: Members
    traits: Members
    consent: Consent | None = None
    is_forwarded: bool = True


def read_identifiers(visitor: Any, user: Any, traits: Members, properties: Members) -> dict[str, str]:
    """Return the identifiers that are given; an address as user id is an address too."""
    identifiers: dict[str, str] = {}
    if (token := read_text(visitor)) is not None:
        identifiers["trk_token"] = token
    if (tracking_id := read_text(user)) is not None:
        identifiers["tracking_id"] = tracking_id
    email = read_text(traits.get("email") or properties.get("email"), LONGEST_EMAIL)
    if email is None and tracking_id is not None and "@" in tracking_id:
        email = tracking_id
    if email is not None:
        identifiers["email"] = email
    return identifiers
