"""The limit on known contacts that an unsigned browser joins. The address in an `identify` proves
nothing: without a limit, one request could give a browser's past to every customer whose address
somebody knows. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from headwater.people.identity.directory import Contact

MAX_JOINED = 3
"""Known contacts that one browser, or one address, joins in an hour."""
WITHIN = 3600 * 1_000_000
"""The hour, in µs."""

SIGNED_ONLY = "signed"
"""The rule of a site that leaves it to its server to say which known contact a browser is."""

Mark = int | Contact
"""A contact by its id, or itself before it has one."""


def browser_key(token: str | None) -> str | None:
    """Return the key of a browser by its token, as a hash in hexadecimal digits."""
    return None if token is None else _digest(f"token {token}")


def address_key(address: str) -> str:
    """Return the key of an address, likewise."""
    return _digest(f"address {address}")


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:32]


class Joins:
    """The contacts that browsers and addresses joined, as loaded and as changed since."""

    def __init__(self, stored: Iterable[tuple[str, int, int]] = ()) -> None:
        """Take stored joins: the key, the contact's id and the time (µs since 1970)."""
        self._joined: dict[str, dict[Mark, int]] = {}
        self.added: list[tuple[str, Contact, int]] = []
        self.refused: dict[int, int] = {}
        """Receipt ids of items that joined nobody because of the limit, and when they came."""
        for key, contact_id, joined_at in stored:
            self._joined.setdefault(key, {})[contact_id] = joined_at

    def admit(self, keys: Iterable[str], contact: Contact, receipt_id: int, at: int) -> bool:
        """Record that a browser joins a contact at `at`; return False at the limit of a key."""
        mark = contact.id or contact
        lately = [(key, self._lately(key, at)) for key in keys]
        if any(mark not in joined and len(joined) >= MAX_JOINED for _, joined in lately):
            self.refused[receipt_id] = at
            return False
        for key, joined in lately:
            if mark not in joined:
                self._joined.setdefault(key, {})[mark] = at
                self.added.append((key, contact, at))
        return True

    def _lately(self, key: str, at: int) -> set[Mark]:
        joined = self._joined.get(key, {})
        return {mark for mark, joined_at in joined.items() if abs(at - joined_at) < WITHIN}
