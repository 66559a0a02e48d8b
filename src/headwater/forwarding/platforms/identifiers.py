"""Identifiers by which the ad platforms recognise a person, in the forms they compare: normalised, then
hashed with SHA-256. Pure. Platforms differ in the normal form, so each chooses its own. A value that is
already a hash is sent unchanged, because the hash of a hash matches no person.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable

import phonenumbers
from phonenumbers import PhoneNumberFormat, ValidationResult

from headwater.forwarding.platforms.models import ConvertedPerson
from headwater.http.inputs.emails import parse_written_email

_HASH = re.compile(r"[0-9A-Fa-f]{64}")
_GOOGLE_MAIL = frozenset({"gmail.com", "googlemail.com"})
_LONGEST_PHONE = 64

Form = Callable[[str], str | None]
"""Plain text to what a platform hashes; None where that leaves nothing."""


def already_hashed(text: str) -> str | None:
    """Return the hash in lower case, when the text is a SHA-256 in hex."""
    trimmed = text.strip()
    return trimmed.lower() if _HASH.fullmatch(trimmed) else None


def hashed(text: str) -> str:
    """Return SHA-256 of the UTF-8 text in lower-case hex; a text that is such a hash stays one."""
    return already_hashed(text) or hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def hash_in_form(text: str | None, form: Form) -> str | None:
    """Return the hash of a value in a platform's form; None when there is no such value."""
    if text is None:
        return None
    if known_hash := already_hashed(text):
        return known_hash
    normal = form(text)
    return hashed(normal) if normal else None


def plain_email(text: str) -> str | None:
    """Return an address trimmed and lower-case; None when the text is no address. An
    international domain stays as it is written: another spelling has another hash.
    """
    try:
        return parse_written_email(text)
    except ValueError:
        return None


def google_email(text: str) -> str | None:
    """Return an address like `plain_email`; at Google's own mail domains without dots and `+…`, as
    those spellings are one mailbox.
    """
    if (address := plain_email(text)) is None:
        return None
    user, _, domain = address.rpartition("@")
    if domain not in _GOOGLE_MAIL:
        return address
    mailbox = user.partition("+")[0].replace(".", "")
    return f"{mailbox}@{domain}" if mailbox else None


def reddit_email(text: str) -> str | None:
    """Return an address like `plain_email`; at any domain without `+…` and with only letters and
    digits before the @.
    """
    if (address := plain_email(text)) is None:
        return None
    user, _, domain = address.rpartition("@")
    mailbox = "".join(filter(str.isalnum, user.partition("+")[0]))
    return f"{mailbox}@{domain}" if mailbox else None


def read_phone(text: str, region: str | None) -> str | None:
    """Return a number as people write it in E.164 with `+`, or None when it cannot be read as one.

    `region` (ISO 3166-1 alpha-2) is the country of a number without country code. There is no check
    that the number is in use: numbering plans change faster than tables of them. A number that can
    only be dialled locally is not read: it lacks its area code and would be another person's.
    """
    if len(text) > _LONGEST_PHONE:
        return None
    try:
        number = phonenumbers.parse(text, region)
    except phonenumbers.NumberParseException:
        return None
    if phonenumbers.is_possible_number_with_reason(number) != ValidationResult.IS_POSSIBLE:
        return None
    return phonenumbers.format_number(number, PhoneNumberFormat.E164)


def phone_with_plus(e164: str) -> str | None:
    """Return the form most platforms hash: `+`, country code, number."""
    return e164.strip() or None


def phone_digits(e164: str) -> str | None:
    """Return the form without the `+`."""
    return e164.strip().removeprefix("+") or None


def meta_name(text: str) -> str | None:
    """Return a first or last name as Meta, Pinterest and Snapchat compare it: lower case, without
    punctuation; letters of every script stay as they are.
    """
    letters = (sign for sign in text.lower() if unicodedata.category(sign)[0] not in "PS")
    return " ".join("".join(letters).split()) or None


def google_name(text: str) -> str | None:
    """Return a name as Google and TikTok compare it: trimmed, lower case."""
    return text.strip().lower() or None


def meta_place(text: str) -> str | None:
    """Return a city, state or country as Meta, Pinterest and Snapchat compare it: lower case,
    without spaces and punctuation.
    """
    name = meta_name(text)
    return name.replace(" ", "") if name else None


def hashed_person(person: ConvertedPerson) -> dict[str, list[str]]:
    """Return a person's hashes, each in a list, in the forms that Meta, Pinterest and Snapchat
    compare.
    """
    hashes = {
        "em": hash_in_form(person.email, plain_email),
        "ph": hash_in_form(person.phone, phone_digits),
        "fn": hash_in_form(person.first_name, meta_name),
        "ln": hash_in_form(person.last_name, meta_name),
        "ct": hash_in_form(person.city, meta_place),
        "st": hash_in_form(person.state, meta_place),
        "country": hash_in_form(person.country, meta_place),
        "external_id": hashed(person.external_id) if person.external_id else None,
    }
    return {name: [value] for name, value in hashes.items() if value}
