"""Telephone numbers in a batch: those that alone say whose an event is, and who has them. Pure."""

from __future__ import annotations

import re

from headwater.forwarding.platforms.identifiers import read_phone
from headwater.intake.pipeline.batch import Batch, Item, SpaceRules
from headwater.people.identity.directory import Contact
from headwater.people.identity.queries import PHONE_DIGITS
from headwater.people.identity.senders import BUSINESS_RECORDS, Sender

_NO_DIGITS = re.compile(r"[^0-9]")
_RUNS = ("0123456789", "1234567890", "9876543210")


def read_only_phone(text: str | None, sender: Sender, space: SpaceRules) -> str | None:
    """Return the number, in E.164, that an event of the business's records is identified by where
    it has nothing else. None for other senders, and for numbers that are nobody's.
    """
    if text is None or sender not in BUSINESS_RECORDS or text in space.junk:
        return None
    number = read_phone(text, space.phone_region)
    return None if number is None or _is_made_up(_NO_DIGITS.sub("", text)) else number


def _is_made_up(digits: str) -> bool:
    """Return whether a number was typed to get past a form: one digit repeated, or a run."""
    return len(set(digits[-PHONE_DIGITS:])) == 1 or any(digits in run * 2 for run in _RUNS)


def note_stored_phones(batch: Batch) -> None:
    """Note the stored contacts that have numbers which events of the batch are identified by."""
    for kind, value, contact_id, *_ in batch.links:
        number = read_phone(value, batch.space.phone_region) if kind == "phone" else None
        if number is not None:
            batch.directory.note_phone(number, batch.directory.contacts[contact_id])


def note_phone(batch: Batch, item: Item, wanted: set[str]) -> None:
    """Note the number that an item gives its contact, if another may be identified by it."""
    described = item.event or item.person
    text = described.phone if described is not None else None
    if text is None or _NO_DIGITS.sub("", text)[-PHONE_DIGITS:] not in wanted:
        return
    number = read_phone(text, batch.space.phone_region)
    if number is not None and _takes(batch, item, item.contact):
        batch.directory.note_phone(number, item.contact)


def _takes(batch: Batch, item: Item, contact: Contact) -> bool:
    """Return whether a contact takes a number on: a page fills only what is empty."""
    return item.identity.sender.is_trusted or batch.profiles.of(contact).phone is None


def wanted_digits(batch: Batch) -> set[str]:
    """Return the last digits of the numbers that events of the batch are identified by."""
    return {item.identity.phone[-PHONE_DIGITS:] for item in batch.items if item.identity.phone}
