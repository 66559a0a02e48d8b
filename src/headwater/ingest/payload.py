"""The creation payload: one definition that decodes, validates and documents it.

A valid body passes through compiled decoding and a few checks. Only a body that fails is read a
second time, field by field, so that the answer names everything wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from ipaddress import ip_address
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from headwater.contacts.fields import (
    DATE_FORMS,
    DATE_SLOTS,
    NUMBER_SLOTS,
    SLOTS,
    TEXT_SLOTS,
    parse_slot_date,
    parse_slot_number,
)
from headwater.events.accepted import EVENT_NAMES, AcceptedEvent
from headwater.http.bodies import NOT_AN_OBJECT, UNDECODABLE, refuse_bad_text, undecodable
from headwater.http.decimals import decimal_text
from headwater.http.errors import Errors, Invalid
from headwater.http.instants import FORMS
from headwater.identity.emails import parse_email
from headwater.ingest.times import parse_event_time

Identifier = Annotated[str, Meta(max_length=255)] | None
Name = Annotated[str, Meta(max_length=255)] | None
Address = Annotated[str, Meta(max_length=2048)] | None
Attribution = Annotated[str, Meta(max_length=512)] | None
SlotText = Annotated[str, Meta(max_length=10_240)] | None
SlotNumber = str | int | float | None
Time = str | int | float | None

MAX_AMOUNT = Decimal(10) ** 14


class _Fields(msgspec.Struct, frozen=True, kw_only=True):
    event_name: Literal[EVENT_NAMES]  # type: ignore[valid-type]  # the list is the type
    email: Annotated[str, Meta(max_length=320)] | None = None
    trk_token: Identifier = None
    fingerprint: Identifier = None
    ip: Annotated[str, Meta(max_length=64)] | None = None
    tracking_id: Identifier = None
    company_external_id: str | int | None = None
    company_name: str | int | None = None
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
    idempotency_key: Identifier = None
    do_not_capi: bool | None = None


def slot_type(slot: int) -> Any:
    """What a profile field's JSON value may be."""
    if slot in TEXT_SLOTS:
        return SlotText
    return SlotNumber if slot in NUMBER_SLOTS else Time


TrackPayload: Any = msgspec.defstruct(
    "TrackPayload",
    [(name, slot_type(number), None) for number, name in SLOTS],
    bases=(_Fields,), frozen=True, kw_only=True,
)  # fmt: skip
"""The creation payload as it arrives."""

# Text copied over as it is; a blank one counts as absent.
PLAIN_TEXT = (
    "trk_token", "fingerprint", "tracking_id", "phone", "user_agent", "url", "order_id",
    "order_name", "checkout_token", "upsell_common_id", "full_name", "first_name", "last_name",
    "trk_source", "trk_network", "trk_campaign", "trk_ad_group", "trk_ad_id", "trk_keyword",
    "trk_type", "idempotency_key",
)  # fmt: skip

IDENTIFYING = {"email", "trk_token", "fingerprint", "ip"}

_decoder = msgspec.json.Decoder(TrackPayload)
_fields = {info.name: info for info in msgspec.structs.fields(TrackPayload)}


def accept(raw: bytes | Raw, now: float) -> AcceptedEvent:
    """The event in a JSON body received at `now` (Unix seconds). Raises Invalid, naming every
    field at fault.
    """
    body = bytes(raw)
    try:
        if not body.isascii():
            body.decode()  # the decoder does not look into what it skips
        payload = _decoder.decode(raw)
    except msgspec.ValidationError:
        raise _explain(body, now) from None
    except UNDECODABLE as error:
        raise undecodable(body, error) from None
    if b"\\u0000" in body:
        refuse_bad_text(msgspec.json.decode(raw))
    return _normalise(payload, now)


def _normalise(payload: Any, now: float) -> AcceptedEvent:
    """What the types cannot say: blanks, identification, formats. Collects every error."""
    check = Check()
    values: dict[str, Any] = {}
    for name in PLAIN_TEXT:
        value = getattr(payload, name)
        if value is not None and value.strip():
            values[name] = value
    email = check(_email, "email", payload.email)
    ip = check(_ip, "ip", payload.ip)
    fingerprint = values.get("fingerprint")
    # An address that is there but wrong has its own error: it need not be missed as well.
    if (fingerprint is None) != (ip is None) and "ip" not in check.errors:
        missing, given = ("ip", "fingerprint") if ip is None else ("fingerprint", "ip")
        check.add(missing, f"is required when {given} is given.")
    elif not (email or fingerprint or "trk_token" in values) and "email" not in check.errors:
        check.add("email", "is required unless trk_token, or fingerprint with ip, is given.")
    event = AcceptedEvent(
        event_name=payload.event_name,
        event_time=check(parse_event_time, "event_time", payload.event_time, now) or 0,
        email=email,
        ip=ip,
        company_external_id=check(_company_text, "company_external_id",
                                  payload.company_external_id, 190),
        company_name=check(_company_text, "company_name", payload.company_name, 255),
        amount=check(parse_amount, "amount", payload.amount),
        is_upsell=payload.is_upsell or False,
        do_not_capi=payload.do_not_capi or False,
        profile_fields=_profile_fields(payload, check),
        **values,
    )  # fmt: skip
    if check.errors:
        raise Invalid(check.errors)
    return event


class Check:
    """Runs parsers and keeps what they complain of, under the field's name."""

    def __init__(self) -> None:
        self.errors: Errors = {}

    def __call__(self, parse: Callable[..., Any], name: str, value: Any, *more: Any) -> Any:
        """What `parse` makes of the value, or None with its ValueError kept."""
        try:
            return parse(value, *more)
        except ValueError as error:
            self.add(name, str(error))
            return None

    def add(self, name: str, rule: str) -> None:
        """`rule` completes the sentence "The <name> …"."""
        self.errors.setdefault(name, []).append(f"The {name} {rule}")


def _profile_fields(payload: Any, check: Check) -> dict[int, str]:
    fields: dict[int, str] = {}
    for number, name in SLOTS:
        value = getattr(payload, name)
        if value is None or (isinstance(value, str) and not value.strip()):
            continue
        if number in TEXT_SLOTS:
            fields[number] = value
        else:
            parse = parse_slot_number if number in NUMBER_SLOTS else parse_slot_date
            fields[number] = check(parse, name, value)
    return fields


def _explain(raw: bytes, now: float) -> Invalid:
    """Everything wrong with a body whose types are off: each field is tried on its own, and the
    sound ones go on to the other checks.
    """
    try:
        value = msgspec.json.decode(raw)
    except UNDECODABLE as error:  # the types were off before the decoder came to it
        return undecodable(raw, error)
    if not isinstance(value, dict):
        return Invalid(NOT_AN_OBJECT)
    refuse_bad_text(value)
    errors: Errors = {}
    sound: dict[str, Any] = {"event_name": EVENT_NAMES[0]}
    for name, info in _fields.items():
        if name in value:
            try:
                sound[name] = (
                    Raw(msgspec.json.encode(value[name])) if name == "amount"
                    else msgspec.convert(value[name], info.type)
                )  # fmt: skip
            except msgspec.ValidationError:
                errors[name] = [f"The {name} {_rule(name)}"]
        elif info.required:
            errors[name] = [f"The {name} is required."]
    try:
        _normalise(TrackPayload(**sound), now)
    except Invalid as more:
        # An identification of the wrong type is not missing as well.
        known = IDENTIFYING if errors.keys() & IDENTIFYING else set[str]()
        errors |= {field: told for field, told in more.errors.items() if field not in known}
    return Invalid(errors)


_RULES = {
    "event_name": "must be a standard event name or custom_event_1 to custom_event_50.",
    "event_time": FORMS,
    **dict.fromkeys(("company_external_id", "company_name"), "must be a string or an integer."),
    **dict.fromkeys(("is_upsell", "do_not_capi"), "must be true or false."),
    **{f"profile_field_{slot}": "must be a number or text holding one." for slot in NUMBER_SLOTS},
    **{f"profile_field_{slot}": DATE_FORMS for slot in DATE_SLOTS},
}


def _rule(name: str) -> str:
    """What a field of the wrong type or length should have been."""
    if name in _RULES:
        return _RULES[name]
    longest = msgspec.json.schema(_fields[name].type)["anyOf"][0]["maxLength"]
    return f"must be a string of at most {longest} characters."


# ------------------------------------------------------------------------------- single values


def parse_amount(raw: Raw | UnsetType) -> str | None:
    """An amount as decimal text with at most 4 decimals, from a JSON number.

    Raises ValueError for anything but a finite number of at most 1e14 either way.
    """
    text = "null" if isinstance(raw, UnsetType) else bytes(raw).decode()
    if text == "null":
        return None
    if text[0] not in "-0123456789":
        raise ValueError("must be a number.")
    try:
        return decimal_text(Decimal(text), MAX_AMOUNT, "0.0001")
    except InvalidOperation:
        raise ValueError("must be a finite number.") from None


def _company_text(value: str | int | None, longest: int) -> str | None:
    if value is None:
        return None
    text = str(value).strip()
    if len(text) > longest:
        raise ValueError(f"must be at most {longest} characters long.")
    return text or None


def _ip(value: str | None) -> str | None:
    if value is None or not value.strip():
        return None
    try:
        address = ip_address(value.strip())
    except ValueError:
        address = None
    # The zone of an IPv6 address is any text, and means nothing elsewhere.
    if address is None or "%" in value:
        raise ValueError("must be an IPv4 or IPv6 address.")
    return str(address)


def _email(value: str | None) -> str | None:
    if value is None or not value.strip():
        return None
    return parse_email(value.strip().lower())
