"""Limit the known contacts that an unsigned browser can join: the email in an `identify` proves nothing, so
one request could attach a browser's past to any customer. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from headwater.people.identity.directory import Contact

MAX_JOINED = 3
"""Known contacts that one browser or one address may join within JOIN_PERIOD."""
JOIN_PERIOD = 3600 * 1_000_000
"""One hour, in µs."""

SIGNED_ONLY = "signed"
"""The rule of sites where only signed identifies may link a browser to a known contact."""

ContactMark = int | Contact


def browser_key(token: str | None) -> str | None:
    """Hash a browser's token to hexadecimal digits."""
    return None if token is None else _digest(f"token {token}")


def address_key(address: str) -> str:
    """Hash an IP address to hexadecimal digits."""
    return _digest(f"address {address}")


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:32]


class Joins:
    def __init__(self, stored_joins: Iterable[tuple[str, int, int]] = ()) -> None:
        """Load stored joins: key, contact id and time (µs since 1970)."""
        self._times_by_key: dict[str, dict[ContactMark, int]] = {}
        self.added_joins: list[tuple[str, Contact, int]] = []
        self.refused_receipts: dict[int, int] = {}
        """Receipt ids of items refused because of the limit, and when they arrived."""
        for key, contact_id, joined_at in stored_joins:
            self._times_by_key.setdefault(key, {})[contact_id] = joined_at

    def admit(self, keys: Iterable[str], contact: Contact, receipt_id: int, joined_at: int) -> bool:
        """Record a join. Return False if a key has reached its limit."""
        mark = contact.id or contact
        recent = [(key, self._recent_marks(key, joined_at)) for key in keys]
        if any(mark not in marks and len(marks) >= MAX_JOINED for _, marks in recent):
            self.refused_receipts[receipt_id] = joined_at
            return False
        for key, marks in recent:
            if mark not in marks:
                self._times_by_key.setdefault(key, {})[mark] = joined_at
                self.added_joins.append((key, contact, joined_at))
        return True

    def _recent_marks(self, key: str, moment: int) -> set[ContactMark]:
        times_by_mark = self._times_by_key.get(key, {})
        return {mark for mark, joined_at in times_by_mark.items() if abs(moment - joined_at) < JOIN_PERIOD}
