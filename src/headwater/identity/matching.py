"""Which contact an event belongs to: the rules of identity, decided without I/O.

Strong identifiers (tracking_id, email) decide and may merge contacts; a trk_token joins an
anonymous contact to a known one; a fingerprint with its ip only finds, and never merges.
"""

from __future__ import annotations

import msgspec

from headwater.identity.directory import (
    CROWD,
    EMAIL,
    FINGERPRINT,
    TRACKING_ID,
    TRK_TOKEN,
    Contact,
    Directory,
)
from headwater.identity.junk import Junk

WEAK_DAYS = 7
_WEAK_SPAN = WEAK_DAYS * 86_400_000_000


class Presented(msgspec.Struct, frozen=True, gc=False):
    """The identifiers one event shows, junk left out. Times are µs since 1970."""

    receipt_id: int
    at: int
    received_at: int
    email: str | None = None
    tracking_id: str | None = None
    trk_token: str | None = None
    fingerprint: str | None = None
    """The fingerprint and the ip it was seen from, as one value."""

    @property
    def is_strong(self) -> bool:
        return self.email is not None or self.tracking_id is not None

    def pairs(self) -> list[tuple[str, str]]:
        """Each identifier as kind and value."""
        pairs = (
            (EMAIL, self.email),
            (TRACKING_ID, self.tracking_id),
            (TRK_TOKEN, self.trk_token),
            (FINGERPRINT, self.fingerprint),
        )
        return [(kind, value) for kind, value in pairs if value is not None]


class Identifiers(msgspec.Struct, frozen=True, gc=False):
    """What an event gave to be identified by, junk included."""

    email: str | None
    tracking_id: str | None
    trk_token: str | None
    fingerprint: str | None
    ip: str | None


def without_junk(given: Identifiers, junk: Junk) -> tuple[Identifiers, list[str]]:
    """The identifiers that can be trusted, and a warning for each one that cannot."""
    ignored: list[str] = []
    if given.email is not None and junk.has_email(given.email):
        ignored.append(EMAIL)
    if given.tracking_id is not None and given.tracking_id in junk:
        ignored.append(TRACKING_ID)
    if given.trk_token is not None and given.trk_token in junk:
        ignored.append(TRK_TOKEN)
    if given.fingerprint is not None and given.fingerprint in junk:
        ignored.append(FINGERPRINT)
    if not ignored:
        return given, ignored
    kept = msgspec.structs.replace(given, **dict.fromkeys(ignored))
    return kept, [f"{kind} ignored: not an identifier" for kind in ignored]


def identify(directory: Directory, who: Presented) -> Contact:
    """The contact of an event, merged or made as the rules ask, with the event's identifiers
    linked to it.
    """
    contact = _strongly_known(directory, who)
    holder = directory.owner(TRK_TOKEN, who.trk_token) if who.trk_token is not None else None
    if contact is not None:
        if holder is not None and holder is not contact and holder.is_anonymous:
            contact = directory.merge(contact, holder, TRK_TOKEN, who.receipt_id)
    elif who.is_strong:
        contact = _newly_known(directory, who, holder)
    else:
        contact = holder or _lookalike(directory, who)
    if contact is None:
        contact = directory.create(who.received_at)
    for key in who.pairs():
        directory.link(contact, key, who.at, who.receipt_id)
    return contact


def _strongly_known(directory: Directory, who: Presented) -> Contact | None:
    """The contact of the strong identifiers. An address shared by several contacts stands for the
    oldest, and does not pull a tracking id's contact that has the address too.
    """
    tracked = directory.owner(TRACKING_ID, who.tracking_id) if who.tracking_id else None
    mailed = directory.holders(EMAIL, who.email) if who.email else {}
    if not mailed or tracked in mailed:
        return tracked
    oldest = min(mailed, key=_rank)
    if tracked is None:
        return oldest
    return directory.merge(tracked, oldest, EMAIL, who.receipt_id)


def _newly_known(directory: Directory, who: Presented, holder: Contact | None) -> Contact | None:
    """The contact that strong identifiers nobody had yet belong to, if it exists already."""
    if holder is None:
        found = _lookalike(directory, who)
        return found if found is not None and found.is_anonymous else None
    is_somebody_else = (who.email is not None and holder.has_email) or (
        who.tracking_id is not None and holder.has_tracking_id
    )
    return None if is_somebody_else else holder


def _lookalike(directory: Directory, who: Presented) -> Contact | None:
    """The only contact seen with this fingerprint and ip within the days around the event."""
    if who.fingerprint is None:
        return None
    holders = directory.holders(FINGERPRINT, who.fingerprint)
    if len(holders) > CROWD:
        return None
    near = [
        contact for contact, link in holders.items() if abs(link.last_seen - who.at) <= _WEAK_SPAN
    ]
    return near[0] if len(near) == 1 else None


def _rank(contact: Contact) -> int:
    return contact.rank
