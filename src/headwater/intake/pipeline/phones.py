"""Match events with only a phone number to contacts. Pure."""

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
    """Return a business record's E.164 number; None for made-up numbers."""
    if text is None or sender not in BUSINESS_RECORDS or text in space.junk:
        return None
    number = read_phone(text, space.phone_region)
    return None if number is None or _is_made_up(_NO_DIGITS.sub("", text)) else number


def _is_made_up(digits: str) -> bool:
    """Recognize one repeated digit, or a sequence."""
    return len(set(digits[-PHONE_DIGITS:])) == 1 or any(digits in run * 2 for run in _RUNS)


def register_stored_phones(batch: Batch) -> None:
    for kind, value, contact_id, *_ in batch.links:
        number = read_phone(value, batch.space.phone_region) if kind == "phone" else None
        if number is not None:
            batch.directory.add_phone(number, batch.directory.contacts[contact_id])


def register_phone(batch: Batch, item: Item, digits: set[str]) -> None:
    """Register an item's number if other events need it."""
    record = item.event or item.person
    text = record.phone if record is not None else None
    if text is None or _NO_DIGITS.sub("", text)[-PHONE_DIGITS:] not in digits:
        return
    number = read_phone(text, batch.space.phone_region)
    if number is not None and _accepts_phone(batch, item, item.contact):
        batch.directory.add_phone(number, item.contact)


def _accepts_phone(batch: Batch, item: Item, contact: Contact) -> bool:
    """Refuse a page's number unless the value is empty."""
    return item.identity.sender.is_trusted or batch.profiles.get(contact).phone is None


def list_phone_digits(batch: Batch) -> set[str]:
    return {item.identity.phone[-PHONE_DIGITS:] for item in batch.items if item.identity.phone}
