"""The part of a Space's identities that a batch can touch, held in memory.

It begins as a faithful picture of what is stored and is then changed event by event in the order
of arrival, so deciding a batch at once and deciding its events one by one are the same thing.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

EMAIL = "email"
TRACKING_ID = "tracking_id"
TRK_TOKEN = "trk_token"  # noqa: S105 - the name of a kind
FINGERPRINT = "fingerprint"

NEW_RANK = 1 << 62
CROWD = 50
"""A weak identifier listed for more contacts than this tells nobody apart."""


class Contact:
    """One contact. A new one has `id` 0 until its number is drawn; `rank` orders both kinds by
    age. Contacts are compared by identity.
    """

    __slots__ = ("created_at", "has_email", "has_tracking_id", "id", "keys", "merged_into", "rank")

    def __init__(self, rank: int, created_at: int) -> None:
        self.rank = rank
        self.id = rank if rank < NEW_RANK else 0
        self.created_at = created_at
        self.has_email = False
        self.has_tracking_id = False
        self.keys: list[tuple[str, str]] = []
        self.merged_into: Contact | None = None

    @property
    def is_new(self) -> bool:
        """Whether this contact was made by the batch at hand."""
        return self.rank >= NEW_RANK

    @property
    def is_anonymous(self) -> bool:
        """Whether nothing strong identifies this contact."""
        return not (self.has_email or self.has_tracking_id)

    def final(self) -> Contact:
        """The contact this one has ended up in: itself unless merged."""
        contact = self
        while contact.merged_into is not None:
            contact = contact.merged_into
        return contact


class Link:
    """An identifier seen for a contact: when (µs since 1970) and by which receipt last."""

    __slots__ = ("first_seen", "last_seen", "recency", "touched")

    def __init__(self, first_seen: int, last_seen: int, recency: int, *, touched: bool) -> None:
        self.first_seen = first_seen
        self.last_seen = last_seen
        self.recency = recency
        self.touched = touched

    def widen(self, first_seen: int, last_seen: int, recency: int) -> None:
        """Take in another sighting, or several."""
        self.first_seen = min(self.first_seen, first_seen)
        self.last_seen = max(self.last_seen, last_seen)
        self.recency = max(self.recency, recency)


class Merge(msgspec.Struct, frozen=True, gc=False):
    """One contact absorbed by an older one, because of a receipt's identifier of kind `cause`."""

    survivor: Contact
    loser: Contact
    cause: str
    receipt_id: int


class Directory:
    """Contacts and their identifiers, as loaded and as changed since."""

    def __init__(self) -> None:
        self.contacts: dict[int, Contact] = {}
        """Stored contacts by id."""
        self.created: list[Contact] = []
        self.merges: list[Merge] = []
        self._links: dict[tuple[str, str], dict[Contact, Link]] = {}

    def add_stored(self, contact_id: int, created_at: int) -> Contact:
        contact = self.contacts[contact_id] = Contact(contact_id, created_at)
        return contact

    def add_link(self, contact: Contact, key: tuple[str, str], link: Link) -> None:
        """Take in a stored link; `key` is its kind and value. A contact that others were merged
        into can have several of one key.
        """
        holders = self._links.setdefault(key, {})
        known = holders.get(contact)
        if known is None:
            holders[contact] = link
            contact.keys.append(key)
        else:
            known.widen(link.first_seen, link.last_seen, link.recency)

    def holders(self, kind: str, value: str) -> dict[Contact, Link]:
        """Every contact the identifier is listed for."""
        return self._links.get((kind, value), {})

    def owner(self, kind: str, value: str) -> Contact | None:
        """The contact an identifier belongs to: the one it was last seen for."""
        holders = self.holders(kind, value)
        if len(holders) < 2:
            return next(iter(holders), None)
        return max(holders, key=lambda contact: holders[contact].recency)

    def create(self, received_at: int) -> Contact:
        contact = Contact(NEW_RANK + len(self.created), received_at)
        self.created.append(contact)
        return contact

    def link(self, contact: Contact, key: tuple[str, str], at: int, receipt_id: int) -> None:
        """Note that an event at `at` showed the identifier on the contact."""
        holders = self._links.get(key)
        if holders is None:
            holders = self._links[key] = {}
        link = holders.get(contact)
        if link is None:
            holders[contact] = Link(at, at, receipt_id, touched=True)
            contact.keys.append(key)
        else:
            link.widen(at, at, receipt_id)
            link.touched = True
        if key[0] == EMAIL:
            contact.has_email = True
        elif key[0] == TRACKING_ID:
            contact.has_tracking_id = True

    def merge(self, one: Contact, other: Contact, cause: str, receipt_id: int) -> Contact:
        """Let the older of two contacts absorb the other, and return it."""
        survivor, loser = (one, other) if one.rank < other.rank else (other, one)
        for key in loser.keys:
            self._move(key, loser, survivor)
        loser.keys.clear()
        survivor.has_email |= loser.has_email
        survivor.has_tracking_id |= loser.has_tracking_id
        loser.merged_into = survivor
        self.merges.append(Merge(survivor, loser, cause, receipt_id))
        return survivor

    def _move(self, key: tuple[str, str], loser: Contact, survivor: Contact) -> None:
        holders = self._links[key]
        moved = holders.pop(loser)
        link = holders.get(survivor)
        if link is None:
            holders[survivor] = moved
            survivor.keys.append(key)
        else:
            link.widen(moved.first_seen, moved.last_seen, moved.recency)
            link.touched |= moved.touched

    def touched(self) -> Iterator[tuple[tuple[str, str], Contact, Link]]:
        """Every link that an event of the batch made or renewed."""
        for key, holders in self._links.items():
            for contact, link in holders.items():
                if link.touched:
                    yield key, contact, link
