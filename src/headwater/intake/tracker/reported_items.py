"""Validate a browser's items. Pure."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Raw, Struct

from headwater.events.browsing.accepted import AcceptedHit, AcceptedPerson
from headwater.http.errors import Invalid
from headwater.http.inputs.emails import parse_written_email
from headwater.intake.inbox.accepted_rows import NewRow
from headwater.intake.ingest.forms import (
    LONGEST_ADDRESS,
    Address,
    Check,
    Code,
    Form,
    Identifier,
    keep_nonblank_texts,
)
from headwater.intake.ingest.payload import EVENT_FORM, RAW_SLOTS, SLOT_MEMBERS, Consent, profile_fields
from headwater.intake.tracker.browser_reports import MAX_AGO, Browser
from headwater.people.identity.joins import SIGNED_ONLY
from headwater.people.identity.senders import Sender
from headwater.sources.addresses import read_address
from headwater.spaces.custom_fields import TYPE_RULES
from headwater.spaces.sites.refusals import RefusalReason
from headwater.spaces.sites.signatures import Signature, WrongTimeError
from headwater.spaces.sites.sites import ActiveSite

_KEY = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SECONDS = re.compile(r"[0-9]{1,12}", re.ASCII)

_encode = msgspec.json.encode
_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode


class WrongClock(Invalid):
    """An item whose time can't be right."""


class _Item(msgspec.Struct, frozen=True, kw_only=True):
    type: Literal["page", "identify", "event"]
    key: str
    ago: int | float


class _Page(_Item, frozen=True, kw_only=True):
    url: Annotated[str, Meta(max_length=LONGEST_ADDRESS)]
    referrer: Address = None


_NAMES = ("full_name", "first_name", "last_name", "phone", "tracking_id")


class _Named(_Item, frozen=True, kw_only=True):
    email: Annotated[str, Meta(max_length=320)] | None = None
    tracking_id: Identifier = None
    full_name: Identifier = None
    first_name: Identifier = None
    last_name: Identifier = None
    phone: Annotated[str, Meta(max_length=64)] | None = None


_Person: Any = msgspec.defstruct("_Person", SLOT_MEMBERS, bases=(_Named,), frozen=True, kw_only=True)


class _KeyAndTime(Struct, frozen=True):
    key: str
    occurred_at: int


def _read_key_and_time(payload: _Item, current_time: float, check: Check) -> _KeyAndTime:
    if not _KEY.fullmatch(payload.key):
        check.add("key", _RULES["key"])
    if not 0 <= payload.ago <= MAX_AGO:
        check.add("ago", _RULES["ago"])
        return _KeyAndTime("", 0)
    return _KeyAndTime(payload.key.lower(), int(current_time * 1000 - payload.ago))


def _normalize_page(payload: _Page, current_time: float, check: Check) -> AcceptedHit:
    item = _read_key_and_time(payload, current_time, check)
    if not payload.url.lower().startswith(("https://", "http://")) or not read_address(payload.url):
        check.add("url", _RULES["url"])
    referrer = keep_nonblank_texts(payload, ("referrer",)).get("referrer")
    return AcceptedHit(key=item.key, occurred_at=item.occurred_at, url=payload.url, referrer=referrer)


def _normalize_person(payload: Any, current_time: float, check: Check) -> AcceptedPerson:
    item = _read_key_and_time(payload, current_time, check)
    texts: dict[str, Any] = keep_nonblank_texts(payload, ("email", *_NAMES))
    if "email" in texts:
        texts["email"] = check(parse_written_email, "email", texts["email"])
    fields = profile_fields(payload, check)
    if not (texts or fields or check.errors):
        check.add("email", "is required unless another field is given.")
    return AcceptedPerson(occurred_at=item.occurred_at, profile_fields=fields, **texts)


class _Signed(msgspec.Struct, frozen=True):
    signed_at: Code = None
    signature: Identifier = None


def _normalize_signature(payload: _Signed, _: float, check: Check) -> Signature | None:
    signed_at = "" if payload.signed_at is None else str(payload.signed_at).strip()
    digest = (payload.signature or "").strip()
    if not digest:
        return None
    if not _SECONDS.fullmatch(signed_at):
        check.add("signed_at", _RULES["signed_at"])
    return Signature(signed_at, digest)


_RULES = {
    "signed_at": "must be the Unix seconds that were signed.",
    "type": "must be page, identify or event.",
    "key": "must be a UUID.",
    "ago": f"must be a number of milliseconds from 0 to {MAX_AGO}.",
    "url": f"must be an http:// or https:// address of at most {LONGEST_ADDRESS} characters.",
    **TYPE_RULES,
}
_STAND_INS: dict[str, Any] = {"type": "page", "key": "00000000-0000-0000-0000-000000000000", "ago": 0}

WHEN_FORM = Form(_Item, _read_key_and_time, _RULES, _STAND_INS)
PAGE_FORM = Form(_Page, _normalize_page, _RULES, {**_STAND_INS, "url": "https://shop.example/"})
PERSON_FORM = Form(_Person, _normalize_person, _RULES, _STAND_INS, raw=RAW_SLOTS, alternatives=())
SIGNATURE_FORM = Form(_Signed, _normalize_signature, _RULES, {}, alternatives=())


class _Type(msgspec.Struct):
    type: Any = None


_decode_type = msgspec.json.Decoder(_Type).decode


def describe_fault(raw: Raw, invalid: Invalid) -> tuple[RefusalReason, str]:
    """Return the reason, and the item's type and field."""
    fields = list(invalid.errors)
    is_clock = isinstance(invalid, WrongClock) or fields == ["ago"]
    reason = RefusalReason.CLOCK if is_clock else RefusalReason.INVALID
    return reason, f"{_read_type(raw)}.{fields[0] if fields else 'item'}"


def _read_type(raw: Raw) -> str:
    kind = _find_type(raw)
    return kind if kind in ("page", "identify", "event") else "item"


def is_page(raw: Raw) -> bool:
    return _find_type(raw) == "page"


def _find_type(raw: Raw) -> Any:
    """Return None for an item that the forms refuse whole: it is no object, or not Unicode."""
    try:
        return _decode_type(raw).type
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def accept_item(raw: Raw, browser: Browser, site: ActiveSite, current_time: float) -> NewRow:
    """Return an inbox row. Raises Invalid with all wrong fields."""
    kind = _find_type(raw)
    if kind == "event":
        return NewRow("event", _make_event_row(raw, browser, site, current_time), Sender.BROWSER)
    if kind not in ("page", "identify"):
        WHEN_FORM.accept(raw, current_time)  # always raises
    visitor = browser.visitor()
    if not visitor:
        raise Invalid.of("token", "is required unless fingerprint is given.")
    if kind == "identify":
        person = PERSON_FORM.accept(raw, current_time)
        claim = make_claim(browser, site)
        landing = None if browser.token else browser.landing
        row = _encode(msgspec.structs.replace(person, **visitor, **claim, landing=landing))
        return NewRow("identify", row, _verify_sender(raw, person, site, current_time))
    hit = PAGE_FORM.accept(raw, current_time)
    row = _encode(msgspec.structs.replace(hit, **visitor, **describe_visit(browser)))
    return NewRow("hit", row, Sender.BROWSER)


def _verify_sender(raw: Raw, person: AcceptedPerson, site: ActiveSite, current_time: float) -> Sender:
    """Return the business if signed. Raises Invalid for a wrong signature."""
    signature = SIGNATURE_FORM.accept(raw, current_time)
    if signature is None:
        return Sender.BROWSER
    try:
        signature.check(person.email, person.tracking_id, site.secrets, current_time)
    except WrongTimeError as error:
        raise WrongClock.of("signature", str(error)) from None
    except ValueError as error:
        raise Invalid.of("signature", str(error)) from None
    return Sender.SIGNED_BROWSER


def make_claim(browser: Browser, site: ActiveSite) -> dict[str, Any]:
    rule = SIGNED_ONLY if site.signed_only else None
    return {"address_key": browser.address_key, "join_rule": rule}


def describe_visit(browser: Browser) -> dict[str, Any]:
    return {
        "cookies": browser.cookies,
        "country": browser.place.country,
        "state": browser.place.state,
        "city": browser.place.city,
        "device_type": browser.agent.device_type,
        "browser": browser.agent.browser,
        "os": browser.agent.os,
        "language": browser.language,
    }


_REQUEST_FIELDS = ("type", "key", "ago", "trk_token", "fingerprint", "ip", "user_agent", "event_time")


def _make_event_row(raw: Raw, browser: Browser, site: ActiveSite, current_time: float) -> bytes:
    """Override the untrusted page's fields by the request's."""
    item = WHEN_FORM.accept(raw, current_time)
    members = _decode_members(raw)
    for name in _REQUEST_FIELDS:
        members.pop(name, None)
    defaults: dict[str, Any] = {"idempotency_key": item.key, **browser.cookies}
    if browser.consent != Consent():
        defaults["consent"] = browser.consent
    request_fields: dict[str, Any] = {**browser.visitor(), "event_time": item.occurred_at / 1000}
    if browser.user_agent:
        request_fields["user_agent"] = browser.user_agent
    event = EVENT_FORM.accept(_encode({**defaults, **members, **request_fields}), current_time)
    if event.amount is not None:
        check_amount(event.amount, site)
    if event.email or event.tracking_id:
        event = msgspec.structs.replace(event, **make_claim(browser, site))
    return _encode(event)


def check_amount(amount: str, site: ActiveSite) -> None:
    if not site.accepts_amounts:
        raise Invalid.of("amount", "is not accepted from pages of this site.")
    if Decimal(amount) < 0:
        raise Invalid.of("amount", "must not be negative: a page cannot report refunds.")
