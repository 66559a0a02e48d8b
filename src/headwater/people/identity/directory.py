"""The part of a Space's identities that a batch can touch, held in memory.

It begins as an exact copy of what is stored and is then changed event by event in the order
of arrival, so deciding a batch at once and deciding its events one by one are the same thing.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from headwater.people.identity.senders import Sender

EMAIL = "email"
TRACKING_ID = "tracking_id"
TRK_TOKEN = "trk_token"  # noqa: S105 - the name of a kind
FINGERPRINT = "fingerprint"

NEW_RANK = 1 << 62
CROWD = 50
"""A weak identifier of more contacts than this is useless for telling them apart."""


class Contact:
    """One contact. A new one has `id` 0 until its number is drawn; `rank` orders both kinds by
    age. Contacts are compared by identity.
    """

    __slots__ = (
        "created_at",
        "has_email",
        "has_token",
        "has_tracking_id",
        "id",
        "keys",
        "merged_into",
        "rank",
    )

    def __init__(self, rank: int, created_at: int) -> None:
        self.rank = rank
        self.id = rank if rank < NEW_RANK else 0
        self.created_at = created_at
        self.has_email = False
        self.has_tracking_id = False
        self.has_token = False
        self.keys: list[tuple[str, str]] = []
        self.merged_into: Contact | None = None

    @property
    def is_new(self) -> bool:
        """True when the present batch made this contact."""
        return self.rank >= NEW_RANK

    @property
    def is_anonymous(self) -> bool:
        """True when no strong identifier is known of this contact."""
        return not (self.has_email or self.has_tracking_id)

    def final(self) -> Contact:
        """The contact this one has ended up in: itself unless merged."""
        contact = self
        while contact.merged_into is not None:
            contact = contact.merged_into
        return contact


class IdentifierUse:
    """The use of an identifier in the batch on one contact, up to a merge of that contact: times in
    µs since 1970, and the first and the last receipt.
    """

    __slots__ = ("first_receipt", "first_seen", "last_receipt", "last_seen")

    def __init__(self, at: int, receipt_id: int) -> None:
        self.first_seen = self.last_seen = at
        self.first_receipt = self.last_receipt = receipt_id

    def add(self, at: int, receipt_id: int) -> None:
        self.first_seen = min(self.first_seen, at)
        self.last_seen = max(self.last_seen, at)
        self.last_receipt = receipt_id


class IdentifierLink:
    """An identifier of a contact and of all that was merged into it: the time (µs since 1970) and
    the receipt it was last seen with, and its use in the batch, which is to be stored.
    """

    __slots__ = ("last_seen", "recency", "use")

    def __init__(self, last_seen: int, recency: int) -> None:
        self.last_seen = last_seen
        self.recency = recency
        self.use: IdentifierUse | None = None

    def widen(self, last_seen: int, recency: int) -> None:
        """Take in another sighting, or several."""
        self.last_seen = max(self.last_seen, last_seen)
        self.recency = max(self.recency, recency)


class Merge(msgspec.Struct, gc=False):
    """One contact absorbed by an older one, because of a receipt's identifier of kind `cause`, and
    the sender of that. `id` is 0 until its number is drawn.
    """

    survivor: Contact
    loser: Contact
    cause: str
    receipt_id: int
    sender: Sender
    id: int = 0


class Directory:
    """Contacts and their identifiers, as loaded and as changed since.

    `number` is above that of every merge made before; `newest` (µs since 1970) is when the
    Space's newest contact was created.
    """

    def __init__(self, number: int, newest: int) -> None:
        self.number = number
        self._newest = newest
        self.contacts: dict[int, Contact] = {}
        """Stored contacts by id."""
        self.created: list[Contact] = []
        self.merges: list[Merge] = []
        self._links: dict[tuple[str, str], dict[Contact, IdentifierLink]] = {}
        self._phones: dict[str, list[Contact]] = {}
        self._uses_on_merged: list[tuple[tuple[str, str], Contact, IdentifierUse]] = []

    def add_stored(self, contact_id: int, created_at: int) -> Contact:
        contact = self.contacts[contact_id] = Contact(contact_id, created_at)
        return contact

    def add_link(self, contact: Contact, key: tuple[str, str], link: IdentifierLink) -> None:
        """Add a stored link; `key` is a kind and a value."""
        self._links.setdefault(key, {})[contact] = link
        contact.keys.append(key)

    def holders(self, kind: str, value: str) -> dict[Contact, IdentifierLink]:
        """Every contact the identifier is listed for."""
        return self._links.get((kind, value), {})

    def note_phone(self, phone: str, contact: Contact) -> None:
        """Note that a contact has a telephone number, in E.164."""
        self._phones.setdefault(phone, []).append(contact)

    def phone_holders(self, phone: str) -> set[Contact]:
        """The contacts noted with a telephone number."""
        return {contact.final() for contact in self._phones.get(phone, ())}

    def owner(self, kind: str, value: str) -> Contact | None:
        """The contact an identifier belongs to: the one it was last seen for."""
        holders = self.holders(kind, value)
        if len(holders) < 2:
            return next(iter(holders), None)
        return max(holders, key=lambda contact: holders[contact].recency)

    def create(self, received_at: int) -> Contact:
        """A new contact, never older than an earlier one: lists rely on ids growing with age."""
        self._newest = max(self._newest, received_at)
        contact = Contact(NEW_RANK + len(self.created), self._newest)
        self.created.append(contact)
        return contact

    def link(self, contact: Contact, key: tuple[str, str], at: int, receipt_id: int) -> None:
        """Note that an event at `at` showed the identifier on the contact."""
        holders = self._links.get(key)
        if holders is None:
            holders = self._links[key] = {}
        link = holders.get(contact)
        if link is None:
            link = holders[contact] = IdentifierLink(at, receipt_id)
            contact.keys.append(key)
        else:
            link.widen(at, receipt_id)
        if link.use is None:
            link.use = IdentifierUse(at, receipt_id)
        else:
            link.use.add(at, receipt_id)
        if key[0] == EMAIL:
            contact.has_email = True
        elif key[0] == TRACKING_ID:
            contact.has_tracking_id = True
        elif key[0] == TRK_TOKEN:
            contact.has_token = True

    def merge(self, contact: Contact, other: Contact, cause: str, receipt_id: int, sender: Sender) -> Contact:
        """Let the older of two contacts absorb the other, and return it."""
        survivor, loser = (contact, other) if contact.rank < other.rank else (other, contact)
        for key in loser.keys:
            self._move(key, loser, survivor)
        loser.keys.clear()
        survivor.has_email |= loser.has_email
        survivor.has_tracking_id |= loser.has_tracking_id
        survivor.has_token |= loser.has_token
        loser.merged_into = survivor
        self.merges.append(Merge(survivor, loser, cause, receipt_id, sender))
        return survivor

    def _move(self, key: tuple[str, str], loser: Contact, survivor: Contact) -> None:
        holders = self._links[key]
        moved = holders.pop(loser)
        if moved.use is not None:
            self._uses_on_merged.append((key, loser, moved.use))
        link = holders.get(survivor)
        if link is None:
            holders[survivor] = IdentifierLink(moved.last_seen, moved.recency)
            survivor.keys.append(key)
        else:
            link.widen(moved.last_seen, moved.recency)

    def uses(self) -> Iterator[tuple[tuple[str, str], Contact, IdentifierUse]]:
        """The uses of identifiers in the batch, each with its contact, which may have been merged
        since.
        """
        yield from self._uses_on_merged
        for key, holders in self._links.items():
            for contact, link in holders.items():
                if link.use is not None:
                    yield key, contact, link.use
