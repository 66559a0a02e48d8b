"""The contact that an event belongs to: the rules of identity, decided without I/O.

Strong identifiers (tracking_id, email) decide and may merge contacts, unless only a page sent them;
a trk_token joins an anonymous contact to a known one; a fingerprint with its ip finds contacts and
never merges them, and does not tell browsers apart that have tokens.
"""

from __future__ import annotations

import msgspec

from headwater.people.identity.directory import (
    CROWD,
    EMAIL,
    FINGERPRINT,
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
    """The identifiers one event shows, junk left out. Times are µs since 1970."""

    receipt_id: int
    at: int
    received_at: int
    email: str | None = None
    tracking_id: str | None = None
    trk_token: str | None = None
    fingerprint: str | None = None
    """The fingerprint and the ip it was seen from, as one value."""
    phone: str | None = None
    """A telephone number in E.164, where an event of the business's records has nothing else."""
    sender: Sender = Sender.API_KEY
    address_key: str | None = None
    """Of a browser: its address, as `joins.address_key` returns it."""
    may_join: bool = True
    """False where the site leaves it to its server to say which known contact a browser is."""
    is_refused: bool = False
    """True when its strong identifiers were left out, as the browser may not join their contact."""

    @property
    def is_strong(self) -> bool:
        return self.email is not None or self.tracking_id is not None

    def pairs(self) -> list[tuple[str, str]]:
        """The identifiers as pairs of kind and value."""
        pairs = (
            (EMAIL, self.email),
            (TRACKING_ID, self.tracking_id),
            (TRK_TOKEN, self.trk_token),
            (FINGERPRINT, self.fingerprint),
        )
        return [(kind, value) for kind, value in pairs if value is not None]


class Identifiers(msgspec.Struct, frozen=True, gc=False):
    """The identifiers of an event as it was sent, junk included."""

    email: str | None
    tracking_id: str | None
    trk_token: str | None
    fingerprint: str | None
    ip: str | None


def without_junk(identifiers: Identifiers, junk: Junk) -> tuple[Identifiers, list[str]]:
    """The identifiers that can be trusted, and a warning for each one that cannot."""
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
    trusted = msgspec.structs.replace(identifiers, **dict.fromkeys(ignored))
    return trusted, [f"{kind} ignored: not an identifier" for kind in ignored]


def identify(
    directory: Directory, item: ItemIdentity, joins: Joins | None = None
) -> tuple[Contact, ItemIdentity]:
    """The contact of an event, merged or made as the rules ask, and the event's identifiers without
    those that this sender may not give the contact; the others are linked to it. `joins` holds what
    browsers joined before.
    """
    contact = _strongly_known(directory, item)
    holder = directory.owner(TRK_TOKEN, item.trk_token) if item.trk_token is not None else None
    if contact is not None and contact is not holder and not _may_join(joins or Joins(), item, contact):
        # The browser says that it is neither the contact it joined before nor anybody we believe.
        item = msgspec.structs.replace(item, email=None, tracking_id=None, is_refused=True)
        contact = holder if holder is not None and holder.is_anonymous else None
    elif contact is not None:
        if holder is not None and holder is not contact and holder.is_anonymous:
            contact = directory.merge(contact, holder, TRK_TOKEN, item.receipt_id, item.sender)
    elif holder is not None:
        contact = None if _is_somebody_else(holder, item) else holder
    elif item.phone is not None:
        contact = _called(directory, item.phone)
    else:
        contact = _lookalike(directory, item)
    if contact is None:
        contact = directory.create(item.received_at)
    item = _without_refused(directory, contact, item)
    for key in item.pairs():
        directory.link(contact, key, item.at, item.receipt_id)
    return contact, item


def _may_join(joins: Joins, item: ItemIdentity, contact: Contact) -> bool:
    """Return whether the sender of an item may say that it is a known contact."""
    if item.sender.is_trusted:
        return True
    keys = [key for key in (browser_key(item.trk_token), item.address_key) if key is not None]
    return item.may_join and joins.admit(keys, contact, item.receipt_id, item.received_at)


def _strongly_known(directory: Directory, item: ItemIdentity) -> Contact | None:
    """The contact of the strong identifiers. An address shared by several contacts stands for the
    oldest of them; when the tracking id's contact has the address too, nothing is merged. A page
    cannot say that two contacts are one: then the tracking id decides.
    """
    tracked = directory.owner(TRACKING_ID, item.tracking_id) if item.tracking_id else None
    mailed = directory.holders(EMAIL, item.email) if item.email else {}
    if not mailed or tracked in mailed:
        return tracked
    oldest = min(mailed, key=_rank)
    if tracked is None:
        return oldest
    if not item.sender.is_trusted:
        return tracked
    return directory.merge(tracked, oldest, EMAIL, item.receipt_id, item.sender)


def _is_somebody_else(holder: Contact, item: ItemIdentity) -> bool:
    """True when the token's contact has a strong identifier of a kind of which a new one came."""
    return (item.email is not None and holder.has_email) or (
        item.tracking_id is not None and holder.has_tracking_id
    )


def _called(directory: Directory, phone: str) -> Contact | None:
    """The contact with a telephone number: of several the oldest, a known one before others."""
    holders = directory.phone_holders(phone)
    if not holders or len(holders) > CROWD:
        return None
    return min(holders, key=lambda contact: (contact.is_anonymous, contact.rank))


def _lookalike(directory: Directory, item: ItemIdentity) -> Contact | None:
    """The only contact seen with this fingerprint and ip within the days around the event. Two
    equal browsers behind one address look alike, so it decides where there is nothing else, and
    gives a new token the past of a browser that had none.
    """
    if item.fingerprint is None or (item.is_strong and item.trk_token is None):
        return None
    holders = directory.holders(FINGERPRINT, item.fingerprint)
    if len(holders) > CROWD:
        return None
    near = [contact for contact, link in holders.items() if abs(link.last_seen - item.at) <= _WEAK_SPAN]
    if len(near) != 1:
        return None
    contact = near[0]
    is_free = contact.is_anonymous and not contact.has_token
    return contact if is_free or item.trk_token is None else None


def _without_refused(directory: Directory, contact: Contact, item: ItemIdentity) -> ItemIdentity:
    """The identifiers that this sender may give the contact. A page may give no second strong
    identifier of a kind, and none that another contact has.
    """
    if item.sender.is_trusted or not item.is_strong:
        return item

    def is_refused(kind: str, value: str | None, *, has_one: bool) -> bool:
        holders = directory.holders(kind, value) if value is not None else {}
        return value is not None and contact not in holders and bool(holders or has_one)

    refused = [
        kind
        for kind, value, has_one in (
            (EMAIL, item.email, contact.has_email),
            (TRACKING_ID, item.tracking_id, contact.has_tracking_id),
        )
        if is_refused(kind, value, has_one=has_one)
    ]
    return msgspec.structs.replace(item, **dict.fromkeys(refused)) if refused else item


def _rank(contact: Contact) -> int:
    return contact.rank
