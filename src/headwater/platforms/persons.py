"""What several platforms are told of a person in the same way: the hashes Pinterest and Snapchat
compare, which uses of their data the person refused, and what that forbids. Pure.
"""

from __future__ import annotations

from headwater.platforms.identifiers import (
    hash_in_form,
    hashed,
    meta_name,
    meta_place,
    phone_digits,
    plain_email,
)
from headwater.platforms.models import Conversion, ConvertedPerson, SkipReason
from headwater.platforms.payload_parts import lacks_currency


def hashed_person(person: ConvertedPerson) -> dict[str, list[str]]:
    """Lists of hashes, in Meta's normal forms."""
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


def why_never(conversion: Conversion, consent_denied: str) -> SkipReason | None:
    """What keeps a conversion from any platform: that the person refused, where the destination's
    `consent_denied` is `skip`, or a value in no currency.
    """
    if is_refused(conversion) and consent_denied == "skip":
        return SkipReason.NO_CONSENT
    return SkipReason.NO_CURRENCY if lacks_currency(conversion) else None


def is_refused(conversion: Conversion) -> bool:
    """Whether the person does not want their data used for ads."""
    return conversion.consent.ad_user_data is False


def is_limited(conversion: Conversion) -> bool:
    """Whether the person refuses any of the uses."""
    return is_refused(conversion) or conversion.consent.ad_personalization is False
