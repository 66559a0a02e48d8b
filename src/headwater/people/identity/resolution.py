"""Decide which contact an event belongs to. No I/O.

Strong identifiers (tracking_id, email) decide and may merge contacts, unless only a page sent them. A
trk_token joins an anonymous contact to a known one. A fingerprint with its ip finds contacts but never merges
them.
"""

from __future__ import annotations

from operator import attrgetter

import msgspec

from headwater.people.identity.directory import (
    EMAIL,
    FINGERPRINT,
    MAX_SHARED_CONTACTS,
    TRACKING_ID,
    TRK_TOKEN,
    Contact,
    Directory,
)
from headwater.people.identity.joins import Joins, browser_key
from headwater.people.identity.junk import Junk
from headwater.people.identity.senders import Sender

WEAK_DAYS = 7
_WEAK_SPAN = WEAK_DAYS * 86_400_000_000


class ItemIdentity(msgspec.Struct, frozen=True, gc=False):
    """An event's identifiers, without junk. Times are in µs since 1970."""

    receipt_id: int
    occurred_at: int
    received_at: int
    email: str | None = None
    tracking_id: str | None = None
    trk_token: str | None = None
    fingerprint: str | None = None
    """Fingerprint and ip as one value."""
    phone: str | None = None
    """In E.164; only for a business record without another identifier."""
    sender: Sender = Sender.API_KEY
    address_key: str | None = None
    """The browser's IP address, hashed by `joins.address_key`."""
    may_join: bool = True
    """False if only the site's server may link a browser to a known contact."""
    is_refused: bool = False
    """True if the strong identifiers were removed because the browser may not join their contact."""

    @property
    def is_strong(self) -> bool:
        return self.email is not None or self.tracking_id is not None

    def pairs(self) -> list[tuple[str, str]]:
        pairs = (
            (EMAIL, self.email),
            (TRACKING_ID, self.tracking_id),
            (TRK_TOKEN, self.trk_token),
            (FINGERPRINT, self.fingerprint),
        )
        return [(kind, value) for kind, value in pairs if value is not None]


class Identifiers(msgspec.Struct, frozen=True, gc=False):
    """An event's identifiers as sent, including junk."""

    email: str | None
    tracking_id: str | None
    trk_token: str | None
    fingerprint: str | None
    ip: str | None


def without_junk(identifiers: Identifiers, junk: Junk) -> tuple[Identifiers, list[str]]:
    """Return usable identifiers, and a warning for each ignored one."""
    ignored: list[str] = []
    if identifiers.email is not None and junk.has_email(identifiers.email):
        ignored.append(EMAIL)
    if identifiers.tracking_id is not None and identifiers.tracking_id in junk:
        ignored.append(TRACKING_ID)
    if identifiers.trk_token is not None and identifiers.trk_token in junk:
        ignored.append(TRK_TOKEN)
    if identifiers.fingerprint is not None and identifiers.fingerprint in junk:
        ignored.append(FINGERPRINT)
    if not ignored:
        return identifiers, ignored
    trusted_identifiers = msgspec.structs.replace(identifiers, **dict.fromkeys(ignored))
    return trusted_identifiers, [f"{kind} ignored: not an identifier" for kind in ignored]


def identify(
    directory: Directory, item: ItemIdentity, joins: Joins | None = None
) -> tuple[Contact, ItemIdentity]:
    """Return the contact, merged or created as needed, and the event's permitted identifiers, now linked to
    it.

    `joins` are earlier joins of browsers.
    """
    contact = _find_by_strong(directory, item)
    holder = directory.owner(TRK_TOKEN, item.trk_token) if item.trk_token is not None else None
    if contact is not None and contact is not holder and not _may_join(joins or Joins(), item, contact):
        # The claim is ignored: the browser stays the anonymous contact it was, if any.
        item = msgspec.structs.replace(item, email=None, tracking_id=None, is_refused=True)
        contact = holder if holder is not None and holder.is_anonymous else None
    elif contact is not None:
        if holder is not None and holder is not contact and holder.is_anonymous:
            contact = directory.merge(contact, holder, TRK_TOKEN, item.receipt_id, item.sender)
    elif holder is not None:
        contact = None if _contradicts(item, holder) else holder
    elif item.phone is not None:
        contact = _find_by_phone(directory, item.phone)
    else:
        contact = _find_by_fingerprint(directory, item)
    if contact is None:
        contact = directory.create(item.received_at)
    item = _remove_refused(directory, contact, item)
    for key in item.pairs():
        directory.link(contact, key, item.occurred_at, item.receipt_id)
    return contact, item


def _may_join(joins: Joins, item: ItemIdentity, contact: Contact) -> bool:
    if item.sender.is_trusted:
        return True
    keys = [key for key in (browser_key(item.trk_token), item.address_key) if key is not None]
    return item.may_join and joins.admit(keys, contact, item.receipt_id, item.received_at)


def _find_by_strong(directory: Directory, item: ItemIdentity) -> Contact | None:
    """Search by strong identifiers.

    A shared email belongs to the oldest contact, unless the tracking id's contact has it too. A page can't
    merge two contacts: then the tracking id decides.
    """
    tracking_owner = directory.owner(TRACKING_ID, item.tracking_id) if item.tracking_id else None
    email_holders = directory.holders(EMAIL, item.email) if item.email else {}
    if not email_holders or tracking_owner in email_holders:
        return tracking_owner
    oldest = min(email_holders, key=attrgetter("rank"))
    if tracking_owner is None:
        return oldest
    if not item.sender.is_trusted:
        return tracking_owner
    return directory.merge(tracking_owner, oldest, EMAIL, item.receipt_id, item.sender)


def _contradicts(item: ItemIdentity, holder: Contact) -> bool:
    """Return whether the contact has a strong identifier of a kind that the item has."""
    return (item.email is not None and holder.has_email) or (
        item.tracking_id is not None and holder.has_tracking_id
    )


def _find_by_phone(directory: Directory, phone: str) -> Contact | None:
    """Return the oldest contact, preferring known ones."""
    holders = directory.phone_holders(phone)
    if not holders or len(holders) > MAX_SHARED_CONTACTS:
        return None
    return min(holders, key=lambda contact: (contact.is_anonymous, contact.rank))


def _find_by_fingerprint(directory: Directory, item: ItemIdentity) -> Contact | None:
    """Return the only contact seen with this fingerprint and ip within WEAK_DAYS of the event.

    Identical browsers behind one address look alike, so this decides only without other identifiers, or to
    give a new token the past of a browser without one.
    """
    if item.fingerprint is None or (item.is_strong and item.trk_token is None):
        return None
    holders = directory.holders(FINGERPRINT, item.fingerprint)
    if len(holders) > MAX_SHARED_CONTACTS:
        return None
    near_contacts = [
        contact for contact, link in holders.items() if abs(link.last_seen - item.occurred_at) <= _WEAK_SPAN
    ]
    if len(near_contacts) != 1:
        return None
    contact = near_contacts[0]
    is_free = contact.is_anonymous and not contact.has_token
    return contact if is_free or item.trk_token is None else None


def _remove_refused(directory: Directory, contact: Contact, item: ItemIdentity) -> ItemIdentity:
    """Remove identifiers that the sender may not assign: a page may assign neither a second strong identifier
    of a kind nor another contact's.
    """
    if item.sender.is_trusted or not item.is_strong:
        return item

    def is_refused(kind: str, value: str | None, *, has_one: bool) -> bool:
        holders = directory.holders(kind, value) if value is not None else {}
        return value is not None and contact not in holders and bool(holders or has_one)

    refused_kinds = [
        kind
        for kind, value, has_one in (
            (EMAIL, item.email, contact.has_email),
            (TRACKING_ID, item.tracking_id, contact.has_tracking_id),
        )
        if is_refused(kind, value, has_one=has_one)
    ]
    return msgspec.structs.replace(item, **dict.fromkeys(refused_kinds)) if refused_kinds else item
