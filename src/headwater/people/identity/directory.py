"""Identities that a batch can change, in memory.

A copy of the stored identities, changed event by event in order of arrival, so deciding a batch at once and
deciding its events one by one are the same thing.
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
MAX_SHARED_CONTACTS = 50
"""A weak identifier of more contacts than this doesn't identify any of them."""


class Contact:
    """A new one has `id` 0 until its id is drawn; `rank` orders stored and new contacts by age. Compared by
    identity.
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
        return self.rank >= NEW_RANK

    @property
    def is_anonymous(self) -> bool:
        return not (self.has_email or self.has_tracking_id)

    def final(self) -> Contact:
        contact = self
        while contact.merged_into is not None:
            contact = contact.merged_into
        return contact


class IdentifierUse:
    """An identifier's use on one contact in the batch, up to a merge: times in µs since 1970, first and last
    receipt.
    """

    __slots__ = ("first_receipt", "first_seen", "last_receipt", "last_seen")

    def __init__(self, seen_at: int, receipt_id: int) -> None:
        self.first_seen = self.last_seen = seen_at
        self.first_receipt = self.last_receipt = receipt_id

    def add(self, seen_at: int, receipt_id: int) -> None:
        self.first_seen = min(self.first_seen, seen_at)
        self.last_seen = max(self.last_seen, seen_at)
        self.last_receipt = receipt_id


class IdentifierLink:
    """An identifier of a contact and its members: its last time (µs since 1970) and receipt, and its unstored
    use in the batch.
    """

    __slots__ = ("last_seen", "recency", "use")

    def __init__(self, last_seen: int, recency: int) -> None:
        self.last_seen = last_seen
        self.recency = recency
        self.use: IdentifierUse | None = None

    def widen(self, last_seen: int, recency: int) -> None:
        self.last_seen = max(self.last_seen, last_seen)
        self.recency = max(self.recency, recency)


class Merge(msgspec.Struct, gc=False):
    """A contact absorbed by an older one. `cause` is the kind of identifier that caused it. `id` is 0 until
    drawn.
    """

    survivor: Contact
    loser: Contact
    cause: str
    receipt_id: int
    sender: Sender
    id: int = 0


class Directory:
    """Contacts and their identifiers.

    `number` is above every earlier merge's; `newest` (µs since 1970) is the creation of the Space's newest
    contact.
    """

    def __init__(self, number: int, newest: int) -> None:
        self.number = number
        self._newest = newest
        self.contacts: dict[int, Contact] = {}
        self.created: list[Contact] = []
        self.merges: list[Merge] = []
        self._links: dict[tuple[str, str], dict[Contact, IdentifierLink]] = {}
        self._phones: dict[str, list[Contact]] = {}
        self._uses_on_merged: list[tuple[tuple[str, str], Contact, IdentifierUse]] = []

    def add_stored(self, contact_id: int, created_at: int) -> Contact:
        contact = self.contacts[contact_id] = Contact(contact_id, created_at)
        return contact

    def add_link(self, contact: Contact, key: tuple[str, str], link: IdentifierLink) -> None:
        self._links.setdefault(key, {})[contact] = link
        contact.keys.append(key)

    def holders(self, kind: str, value: str) -> dict[Contact, IdentifierLink]:
        return self._links.get((kind, value), {})

    def add_phone(self, phone: str, contact: Contact) -> None:
        self._phones.setdefault(phone, []).append(contact)

    def phone_holders(self, phone: str) -> set[Contact]:
        return {contact.final() for contact in self._phones.get(phone, ())}

    def owner(self, kind: str, value: str) -> Contact | None:
        """Return the contact that an identifier was last seen for."""
        holders = self.holders(kind, value)
        if len(holders) < 2:
            return next(iter(holders), None)
        return max(holders, key=lambda contact: holders[contact].recency)

    def create(self, received_at: int) -> Contact:
        """Create a contact never older than an earlier one, so that ids grow with age."""
        self._newest = max(self._newest, received_at)
        contact = Contact(NEW_RANK + len(self.created), self._newest)
        self.created.append(contact)
        return contact

    def link(self, contact: Contact, key: tuple[str, str], seen_at: int, receipt_id: int) -> None:
        holders = self._links.get(key)
        if holders is None:
            holders = self._links[key] = {}
        link = holders.get(contact)
        if link is None:
            link = holders[contact] = IdentifierLink(seen_at, receipt_id)
            contact.keys.append(key)
        else:
            link.widen(seen_at, receipt_id)
        if link.use is None:
            link.use = IdentifierUse(seen_at, receipt_id)
        else:
            link.use.add(seen_at, receipt_id)
        if key[0] == EMAIL:
            contact.has_email = True
        elif key[0] == TRACKING_ID:
            contact.has_tracking_id = True
        elif key[0] == TRK_TOKEN:
            contact.has_token = True

    def merge(
        self, contact: Contact, merged: Contact, cause: str, receipt_id: int, sender: Sender
    ) -> Contact:
        """Merge the younger contact into the older, and return the older."""
        survivor, loser = (contact, merged) if contact.rank < merged.rank else (merged, contact)
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
        moved_link = holders.pop(loser)
        if moved_link.use is not None:
            self._uses_on_merged.append((key, loser, moved_link.use))
        link = holders.get(survivor)
        if link is None:
            holders[survivor] = IdentifierLink(moved_link.last_seen, moved_link.recency)
            survivor.keys.append(key)
        else:
            link.widen(moved_link.last_seen, moved_link.recency)

    def uses(self) -> Iterator[tuple[tuple[str, str], Contact, IdentifierUse]]:
        """Yield uses of identifiers with their contacts, which may since have been merged."""
        yield from self._uses_on_merged
        for key, holders in self._links.items():
            for contact, link in holders.items():
                if link.use is not None:
                    yield key, contact, link.use
