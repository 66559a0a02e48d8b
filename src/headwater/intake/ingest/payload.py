"""The event payload: decoded, validated and documented by one definition."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from headwater.events.accepted import EVENT_NAMES, EVENT_NAMES_IN_WORDS, AcceptedEvent
from headwater.events.browsing.accepted import COOKIES
from headwater.http.decimals import AMOUNT_STEP, MAX_AMOUNT, decimal_text
from headwater.http.inputs.instants import FORMS
from headwater.http.inputs.suggestions import Names
from headwater.http.json_decoder import decode_exact
from headwater.intake.ingest.forms import (
    IDENTIFICATION,
    Address,
    Attribution,
    Check,
    Code,
    Form,
    Identification,
    Identifier,
    Parser,
    Time,
    code,
    keep_nonblank_texts,
    require_identification,
)
from headwater.intake.ingest.times import parse_event_time
from headwater.spaces.currencies import CURRENCY_RULE, parse_currency
from headwater.spaces.custom_fields import (
    DATE_SLOTS,
    LONGEST_TEXT,
    NUMBER_FIELD,
    NUMBER_SLOTS,
    SLOTS,
    TEXT_SLOTS,
    TYPE_RULES,
    parse_slot_date,
    slot_name,
)

Name = Annotated[str, Meta(max_length=255)] | None
SlotText = Annotated[str, Meta(max_length=LONGEST_TEXT)] | None
SlotNumber = Raw | UnsetType
"""Raw, because a float would lose digits."""


class Consent(msgspec.Struct, frozen=True):
    """A person's consent; None if unknown."""

    ad_user_data: bool | None = None
    ad_personalization: bool | None = None


class _Fields(Identification, frozen=True, kw_only=True):
    event_name: Literal[EVENT_NAMES]  # type: ignore[valid-type] # the list is the type
    company_external_id: Code = None
    company_name: Code = None
    full_name: Name = None
    first_name: Name = None
    last_name: Name = None
    phone: Annotated[str, Meta(max_length=64)] | None = None
    user_agent: Address = None
    event_time: Time = None
    url: Address = None
    amount: Raw | UnsetType = UNSET
    order_id: Identifier = None
    order_name: Name = None
    checkout_token: Identifier = None
    is_upsell: bool | None = None
    upsell_common_id: Identifier = None
    trk_source: Attribution = None
    trk_network: Attribution = None
    trk_campaign: Attribution = None
    trk_ad_group: Attribution = None
    trk_ad_id: Attribution = None
    trk_keyword: Attribution = None
    trk_type: Attribution = None
    heard_about_us: Attribution = None
    idempotency_key: Identifier = None
    do_not_capi: bool | None = None
    currency: str | None = None
    consent: Consent | None = None
    fbp: Identifier = None
    fbc: Annotated[str, Meta(max_length=1024)] | None = None
    ttp: Identifier = None
    scid: Identifier = None
    rdt_uuid: Identifier = None
    oppref: Annotated[str, Meta(max_length=1024)] | None = None
    obref: Identifier = None


def slot_type(slot: int) -> Any:
    if slot in TEXT_SLOTS:
        return SlotText
    return SlotNumber if slot in NUMBER_SLOTS else Time


_NO_SLOTS = tuple(UNSET if number in NUMBER_SLOTS else None for number, _ in SLOTS)
SLOT_MEMBERS = [
    (name, slot_type(number), default) for (number, name), default in zip(SLOTS, _NO_SLOTS, strict=True)
]
RAW_SLOTS = frozenset(map(slot_name, NUMBER_SLOTS))
_RAW = RAW_SLOTS | {"amount"}

TrackPayload: Any = msgspec.defstruct(
    "TrackPayload", SLOT_MEMBERS, bases=(_Fields,), frozen=True, kw_only=True
)

# Text copied unchanged; blank counts as absent.
PLAIN_TEXT = (
    "trk_token",
    "fingerprint",
    "tracking_id",
    "phone",
    "user_agent",
    "url",
    "order_id",
    "order_name",
    "checkout_token",
    "upsell_common_id",
    "full_name",
    "first_name",
    "last_name",
    "trk_source",
    "trk_network",
    "trk_campaign",
    "trk_ad_group",
    "trk_ad_id",
    "trk_keyword",
    "trk_type",
    "heard_about_us",
    "idempotency_key",
)


def _currency(value: str) -> str | None:
    return parse_currency(value) if value.strip() else None


def parse_amount(raw: Raw) -> str | None:
    """Return decimal text, at most 4 decimals. Raises ValueError unless at most 1e14 in absolute value."""
    text = bytes(raw).decode()
    if COMMON_AMOUNT.fullmatch(text):  # twice as fast as Decimal
        return text
    if text == "null":
        return None
    if text[0] not in "-0123456789":
        raise ValueError("must be a number.")
    try:
        return decimal_text(Decimal(text), MAX_AMOUNT, AMOUNT_STEP)
    except InvalidOperation:
        raise ValueError("must be a finite number.") from None


COMMON_AMOUNT = re.compile(r"(?:0|[1-9][0-9]{0,13})(?:\.[0-9]{0,3}[1-9])?")
"""Amounts written as they are stored."""

_PARSERS: dict[str, Parser] = {
    **IDENTIFICATION,
    "company_external_id": partial(code, longest=190),
    "company_name": partial(code, longest=255),
    "amount": parse_amount,
    "currency": _currency,
}


class Needs(StrEnum):
    """The identification an event needs."""

    IDENTIFIER = "identifier"
    IDENTIFIER_OR_PHONE = "identifier_or_phone"
    NOTHING = "nothing"


def _normalize(
    payload: Any, current_time: float, check: Check, *, needs: Needs = Needs.IDENTIFIER
) -> AcceptedEvent:
    # Most of the forty fields are absent, and each access costs time.
    values: dict[str, Any] = keep_nonblank_texts(payload, PLAIN_TEXT)
    values["event_name"] = payload.event_name
    values["event_time"] = check(parse_event_time, "event_time", payload.event_time, current_time) or 0
    values |= check.present(payload, _PARSERS)
    if needs is Needs.IDENTIFIER or (
        needs is Needs.IDENTIFIER_OR_PHONE and ("phone" not in values or "ip" in values)
    ):
        require_identification(values, check)
    if payload.is_upsell:
        values["is_upsell"] = True
    if payload.do_not_capi:
        values["do_not_capi"] = True
    if payload.consent is not None:
        values |= msgspec.structs.asdict(payload.consent)
    cookies = keep_nonblank_texts(payload, COOKIES)
    if cookies:
        values["cookies"] = cookies
    fields = profile_fields(payload, check)
    if fields:
        values["profile_fields"] = fields
    return AcceptedEvent(**values)


def profile_fields(payload: Any, check: Check) -> dict[int, str]:
    fields: dict[int, str] = {}
    values = msgspec.structs.astuple(payload)[-len(SLOTS) :]  # the last fields of the payload
    if values == _NO_SLOTS:
        return fields
    for (number, name), value in zip(SLOTS, values, strict=True):
        if value is None or value is UNSET or (isinstance(value, str) and not value.strip()):
            continue
        if number in TEXT_SLOTS:
            fields[number] = value
        elif number in DATE_SLOTS:
            fields[number] = check(parse_slot_date, name, value)
        elif (number_text := check(_parse_raw_number, name, value)) is not None:
            fields[number] = number_text
    return fields


def _parse_raw_number(raw: Raw) -> str | None:
    """Return None if null or blank text. Raises ValueError."""
    try:
        value = decode_exact(raw)
    except (InvalidOperation, msgspec.ValidationError):  # more digits than a number can have
        raise ValueError("must be a finite number.") from None
    return NUMBER_FIELD.read(value)


_EVENT_NAMES = Names(EVENT_NAMES, EVENT_NAMES_IN_WORDS)


def _event_name_rule(value: Any) -> str:
    return _EVENT_NAMES.refusal(value if isinstance(value, str) else "")


_RULES = {
    "event_name": _event_name_rule,
    "event_time": FORMS,
    **dict.fromkeys(("company_external_id", "company_name"), "must be a string or an integer."),
    **dict.fromkeys(("is_upsell", "do_not_capi"), "must be true or false."),
    "currency": CURRENCY_RULE,
    "consent": "must be an object of ad_user_data and ad_personalization, each true or false.",
    **TYPE_RULES,
}


EVENT_FORM = Form(TrackPayload, _normalize, _RULES, {"event_name": EVENT_NAMES[0]}, raw=_RAW, warns=True)
RECORD_FORM = Form(
    TrackPayload,
    partial(_normalize, needs=Needs.IDENTIFIER_OR_PHONE),
    _RULES,
    {"event_name": EVENT_NAMES[0]},
    raw=_RAW,
    warns=True,
)
"""For business records such as orders: a phone number is enough."""
COUNTER_FORM = Form(
    TrackPayload,
    partial(_normalize, needs=Needs.NOTHING),
    _RULES,
    {"event_name": EVENT_NAMES[0]},
    raw=_RAW,
    warns=True,
)
"""For orders without a visit: the buyer may be unknown."""
