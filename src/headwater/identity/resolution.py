"""Which contact an event belongs to: the rules of identity, decided without I/O.

Strong identifiers (tracking_id, email) decide and may merge contacts, unless a page alone says
them; a trk_token joins an anonymous contact to a known one; a fingerprint with its ip only finds,
never merges, and tells no two browsers apart that have tokens.
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
from headwater.identity.senders import Sender

WEAK_DAYS = 7
_WEAK_SPAN = WEAK_DAYS * 86_400_000_000


class ItemIdentity(msgspec.Struct, frozen=True, gc=False):
    """The identifiers one event shows, junk left out. Times are µs since 1970."""

    receipt_id: int
    at: int
    received_at: int
    email: str | None = None
    tracking_id: str | None = None
    trk_token: str | None = None
    fingerprint: str | None = None
    """The fingerprint and the ip it was seen from, as one value."""
    sender: Sender = Sender.API_KEY

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


def identify(directory: Directory, who: ItemIdentity) -> tuple[Contact, ItemIdentity]:
    """The contact of an event, merged or made as the rules ask, and the event's identifiers without
    those that this sender may not give the contact; the others are linked to it.
    """
    contact = _strongly_known(directory, who)
    holder = directory.owner(TRK_TOKEN, who.trk_token) if who.trk_token is not None else None
    if contact is not None:
        if holder is not None and holder is not contact and holder.is_anonymous:
            contact = directory.merge(contact, holder, TRK_TOKEN, who.receipt_id, who.sender)
    elif holder is not None:
        contact = None if _is_somebody_else(holder, who) else holder
    else:
        contact = _lookalike(directory, who)
    if contact is None:
        contact = directory.create(who.received_at)
    who = _without_refused(directory, contact, who)
    for key in who.pairs():
        directory.link(contact, key, who.at, who.receipt_id)
    return contact, who


def _strongly_known(directory: Directory, who: ItemIdentity) -> Contact | None:
    """The contact of the strong identifiers. An address shared by several contacts stands for the
    oldest, and does not pull a tracking id's contact that has the address too. That two contacts
    are one a page cannot say: then the tracking id decides.
    """
    tracked = directory.owner(TRACKING_ID, who.tracking_id) if who.tracking_id else None
    mailed = directory.holders(EMAIL, who.email) if who.email else {}
    if not mailed or tracked in mailed:
        return tracked
    oldest = min(mailed, key=_rank)
    if tracked is None:
        return oldest
    if not who.sender.is_trusted:
        return tracked
    return directory.merge(tracked, oldest, EMAIL, who.receipt_id, who.sender)


def _is_somebody_else(holder: Contact, who: ItemIdentity) -> bool:
    """Whether the token's contact cannot be who has these strong identifiers, which nobody had."""
    return (who.email is not None and holder.has_email) or (
        who.tracking_id is not None and holder.has_tracking_id
    )


def _lookalike(directory: Directory, who: ItemIdentity) -> Contact | None:
    """The only contact seen with this fingerprint and ip within the days around the event. Two
    equal browsers behind one address look alike, so it decides where there is nothing else, and
    gives a new token the past of a browser that had none.
    """
    if who.fingerprint is None or (who.is_strong and who.trk_token is None):
        return None
    holders = directory.holders(FINGERPRINT, who.fingerprint)
    if len(holders) > CROWD:
        return None
    near = [
        contact for contact, link in holders.items() if abs(link.last_seen - who.at) <= _WEAK_SPAN
    ]
    if len(near) != 1:
        return None
    contact = near[0]
    is_free = contact.is_anonymous and not contact.has_token
    return contact if is_free or who.trk_token is None else None


def _without_refused(directory: Directory, contact: Contact, who: ItemIdentity) -> ItemIdentity:
    """The identifiers that this sender may give the contact: from a page no strong one beside
    another of the contact's, and none that is somebody else's.
    """
    if who.sender.is_trusted or not who.is_strong:
        return who

    def is_refused(kind: str, value: str | None, *, has_one: bool) -> bool:
        holders = directory.holders(kind, value) if value is not None else {}
        return value is not None and contact not in holders and bool(holders or has_one)

    refused = [
        kind
        for kind, value, has_one in (
            (EMAIL, who.email, contact.has_email),
            (TRACKING_ID, who.tracking_id, contact.has_tracking_id),
        )
        if is_refused(kind, value, has_one=has_one)
    ]
    return msgspec.structs.replace(who, **dict.fromkeys(refused)) if refused else who


def _rank(contact: Contact) -> int:
    return contact.rank
