"""Make the payloads of rows from a message's members, by the forms of the API and the tracker. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode, urlsplit
from uuid import UUID, uuid5

import msgspec
from msgspec import Raw

from headwater.events.accepted import AcceptedEvent
from headwater.events.browsing.accepted import AcceptedHit, AcceptedPerson
from headwater.http.decimals import AMOUNT_STEP, MAX_AMOUNT, decimal_text
from headwater.http.errors import Invalid
from headwater.intake.ingest.forms import LONGEST_ADDRESS, Form
from headwater.intake.ingest.payload import COMMON_AMOUNT, COUNTER_FORM
from headwater.intake.protocols.values import LONGEST_ID, Members, read_members, read_text
from headwater.intake.tracker.reported_items import PAGE_FORM, PERSON_FORM
from headwater.intake.webhooks.values import to_number
from headwater.spaces.currencies import parse_currency

LONGEST_EMAIL = 320
_KEYS = UUID("8d4f3c7e-6d0b-4f0e-9d6a-3f0f5f6f2c11")
"""Makes the key of a page view from its message's."""
_NEVER_DROPPED = {"amount", "currency", "order_id"}
_TRAITS = {
    "email": ("email", LONGEST_EMAIL),
    "firstName": ("first_name", LONGEST_ID),
    "first_name": ("first_name", LONGEST_ID),
    "lastName": ("last_name", LONGEST_ID),
    "last_name": ("last_name", LONGEST_ID),
    "name": ("full_name", LONGEST_ID),
    "phone": ("phone", 64),
}
"""Fields of a person by trait, with the most characters."""

_encode = msgspec.json.encode


def read_traits(traits: Members, fields: Mapping[str, str]) -> dict[str, Any]:
    """Return the person's fields: addresses, names, and profile fields whose label is a trait's name."""
    payload: dict[str, Any] = {}
    for trait, value in traits.items():
        if trait in _TRAITS:
            name, longest = _TRAITS[trait]
            text = read_text(value, longest)
            if text is not None:
                payload.setdefault(name, text)
        slot = fields.get(trait.strip().casefold()) if fields else None
        if slot is not None and isinstance(value, str | int | Decimal):
            payload[slot] = str(value)
    return payload


def read_amount(properties: Members, *names: str) -> str | None:
    """Return the decimal text of the first amount that is given. Raises Invalid."""
    for name in names:
        value = properties.get(name)
        if type(value) in (int, Decimal) and COMMON_AMOUNT.fullmatch(text := str(value)):
            return text
        if value is not None and value != "":
            try:
                return decimal_text(to_number(value), MAX_AMOUNT, AMOUNT_STEP)
            except ValueError as error:
                raise Invalid.of(name, str(error)) from None
    return None


def read_currency(properties: Members) -> str | None:
    """Raise Invalid unless missing, blank or a code."""
    value = properties.get("currency")
    try:
        return parse_currency(str(value)) if value not in (None, "") else None
    except ValueError as error:
        raise Invalid.of("currency", str(error)) from None


def read_order_id(properties: Members) -> str | None:
    """Raise Invalid unless missing, blank or an id, because only the id shows that an order is a repeat."""
    value = properties.get("order_id")
    text = read_text(value)
    if text is None and value is not None and not (isinstance(value, str) and not value.strip()):
        raise Invalid.of("order_id", "must be text of at most 255 characters.")
    return text


def find_page(properties: Members, context: Members, name: str) -> str | None:
    """Return a page's `url` or `referrer`, at most as long as addresses here."""
    for members in (properties, read_members(context, "page") if "page" in context else None):
        value = members.get(name) if members else None
        if isinstance(value, str) and value.strip():
            return value.strip()[:LONGEST_ADDRESS]
    return None


def add_campaign(url: str, campaign: Members) -> str:
    """Add the campaign to an address without one."""
    names = {
        "name": "utm_campaign",
        **{name: f"utm_{name}" for name in ("source", "medium", "term", "content")},
    }
    values = {names[name]: text for name in names if (text := read_text(campaign.get(name)))}
    try:
        query = urlsplit(url).query
    except ValueError:
        return url
    if not values or "utm_" in query:
        return url
    address, hash_sign, fragment = url.partition("#")
    campaign_url = f"{address}{'&' if '?' in address else '?'}{urlencode(values)}{hash_sign}{fragment}"
    return campaign_url if len(campaign_url) <= LONGEST_ADDRESS else url


def make_event(payload: dict[str, Any], amount: str | None, received_at: float) -> AcceptedEvent:
    """Raise Invalid for wrong money. Other wrong fields are left out."""
    if amount is not None:
        payload["amount"] = Raw(amount.encode())
    return _accept_leniently(COUNTER_FORM, payload, received_at)


def make_person(payload: dict[str, Any], received_at: float) -> AcceptedPerson:
    """Leave wrong fields out. Raise Invalid if nothing is left."""
    item = {"type": "identify", "key": str(_KEYS), "ago": 0, **payload}
    return _accept_leniently(PERSON_FORM, item, received_at)


def make_hit(message_id: str, url: str, referrer: str | None, received_at: float) -> AcceptedHit:
    """Raise Invalid unless `url` is an address of the web."""
    key = str(uuid5(_KEYS, message_id))
    item = {"type": "page", "key": key, "ago": 0, "url": url, "referrer": referrer}
    return PAGE_FORM.accept(Raw(_encode(item)), received_at)


def _accept_leniently(form: Form[Any], payload: dict[str, Any], received_at: float) -> Any:
    try:
        return form.accept(Raw(_encode(payload)), received_at)
    except Invalid as invalid:
        if not invalid.errors.keys() <= payload.keys() - _NEVER_DROPPED:
            raise
        remaining_members = {name: value for name, value in payload.items() if name not in invalid.errors}
        return form.accept(Raw(_encode(remaining_members)), received_at)
