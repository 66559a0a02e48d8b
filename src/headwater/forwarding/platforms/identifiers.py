"""Normalize and hash identifiers (SHA-256). Pure.

A value that is already a hash is sent unchanged.
"""

from __future__ import annotations

import hashlib
import re
import string
import unicodedata
from collections.abc import Callable

import phonenumbers
from phonenumbers import PhoneNumberFormat, ValidationResult

from headwater.forwarding.platforms.models import ConvertedPerson
from headwater.http.inputs.emails import parse_written_email

_HASH = re.compile(r"[0-9A-Fa-f]{64}")
_GOOGLE_MAIL = frozenset({"gmail.com", "googlemail.com"})
_LONGEST_PHONE = 64
_ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)

Form = Callable[[str], str | None]
"""Returns the text to hash, or None."""


def read_hash(text: str) -> str | None:
    """Return a hex SHA-256 in lower case, else None."""
    trimmed = text.strip()
    return trimmed.lower() if _HASH.fullmatch(trimmed) else None


def hash_text(text: str) -> str:
    """Return hex, unless the text already is a hash."""
    return read_hash(text) or hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def hash_in_form(text: str | None, form: Form) -> str | None:
    if text is None:
        return None
    if known_hash := read_hash(text):
        return known_hash
    normal = form(text)
    return hash_text(normal) if normal else None


def plain_email(text: str) -> str | None:
    """Return a trimmed, lower-case address, or None. International domains stay as written, because spellings
    have different hashes.
    """
    try:
        return parse_written_email(text)
    except ValueError:
        return None


def google_email(text: str) -> str | None:
    """Normalize like `plain_email`, without dots and `+…` at Google's mail domains."""
    address = plain_email(text)
    is_google = address is not None and address.rpartition("@")[2] in _GOOGLE_MAIL
    return microsoft_email(text) if is_google else address


def microsoft_email(text: str) -> str | None:
    """Normalize like `plain_email`, without dots and `+…` before the @."""
    if (address := plain_email(text)) is None:
        return None
    user, _, domain = address.rpartition("@")
    mailbox = user.partition("+")[0].replace(".", "")
    return f"{mailbox}@{domain}" if mailbox else None


def reddit_email(text: str) -> str | None:
    """Normalize like `plain_email`, without `+…` and signs before the @."""
    if (address := plain_email(text)) is None:
        return None
    user, _, domain = address.rpartition("@")
    mailbox = "".join(filter(str.isalnum, user.partition("+")[0]))
    return f"{mailbox}@{domain}" if mailbox else None


def read_phone(text: str, region: str | None) -> str | None:
    """Return E.164 with `+`, or None. `region` (ISO 3166-1 alpha-2) is the default country.

    Numbers may be out of use, because numbering plans change. Local numbers without an area code would match
    someone else.
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
    """Return the form most platforms hash."""
    return e164.strip() or None


def phone_digits(e164: str) -> str | None:
    """Return the number without `+`."""
    return e164.strip().removeprefix("+") or None


def meta_name(text: str) -> str | None:
    """Normalize for Meta, Pinterest and Snapchat: lower case without punctuation, any script."""
    letters = (sign for sign in text.lower() if unicodedata.category(sign)[0] not in "PS")
    return " ".join("".join(letters).split()) or None


def google_name(text: str) -> str | None:
    """Normalize for Google and TikTok: trimmed, lower case."""
    return text.strip().lower() or None


def openai_name(text: str) -> str | None:
    """Return lower case without spaces and ASCII punctuation; other signs stay."""
    return "".join(text.lower().split()).translate(_ASCII_PUNCTUATION) or None


def meta_place(text: str) -> str | None:
    """Normalize for Meta, Pinterest and Snapchat: lower case, no spaces or punctuation."""
    name = meta_name(text)
    return name.replace(" ", "") if name else None


def plain_external_id(text: str | None) -> str | None:
    """Return an id that is sent in clear text, unless it is an email address, which is only sent hashed."""
    return None if text is None or "@" in text else text


def hash_person(person: ConvertedPerson) -> dict[str, list[str]]:
    """Return hashes for Meta, Pinterest and Snapchat."""
    hashes = {
        "em": hash_in_form(person.email, plain_email),
        "ph": hash_in_form(person.phone, phone_digits),
        "fn": hash_in_form(person.first_name, meta_name),
        "ln": hash_in_form(person.last_name, meta_name),
        "ct": hash_in_form(person.city, meta_place),
        "st": hash_in_form(person.state, meta_place),
        "country": hash_in_form(person.country, meta_place),
        "external_id": hash_text(person.external_id) if person.external_id else None,
    }
    return {name: [value] for name, value in hashes.items() if value}
