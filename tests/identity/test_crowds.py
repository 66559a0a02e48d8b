"""A fingerprint shared by too many contacts matches none of them. Up to the limit it matches the most recent
one.
"""

from __future__ import annotations

import pytest

from headwater.people.identity.directory import (
    FINGERPRINT,
    MAX_SHARED_CONTACTS,
    Contact,
    Directory,
    IdentifierLink,
)
from headwater.people.identity.resolution import ItemIdentity, identify

SHARED = "f|10.0.0.1"
MONTH = 30 * 86_400 * 1_000_000
NOW = 60 * MONTH


def directory_with(contacts: int) -> tuple[Directory, Contact]:
    """Return a directory where contacts share a fingerprint, and the contact seen just now."""
    directory = Directory(0, 0)
    for number in range(1, contacts + 1):
        contact = Contact(number, 0)
        directory.contacts[number] = contact
        last_seen = NOW if number == contacts else NOW - MONTH
        directory.add_link(contact, (FINGERPRINT, SHARED), IdentifierLink(last_seen, number))
    return directory, contact


@pytest.mark.parametrize(
    ("contacts", "is_found"), [(1, True), (MAX_SHARED_CONTACTS, True), (MAX_SHARED_CONTACTS + 1, False)]
)
def test_it_works(contacts: int, is_found: bool) -> None:
    directory, recent = directory_with(contacts)
    contact = identify(directory, ItemIdentity(1, NOW, NOW, fingerprint=SHARED))[0]
    assert (contact is recent) is is_found
    assert contact.is_new is not is_found
