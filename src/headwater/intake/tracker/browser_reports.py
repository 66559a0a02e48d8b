"""Validate a browser's report except its items. Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Raw, Struct, field

from headwater.events.browsing.accepted import COOKIES, AcceptedLanding
from headwater.events.browsing.agents import Agent
from headwater.events.browsing.places import Place
from headwater.http.errors import Invalid
from headwater.http.json_decoder import NOT_AN_OBJECT, decode_items
from headwater.intake.ingest.forms import (
    LONGEST_ADDRESS,
    Address,
    Check,
    Form,
    Identifier,
    keep_nonblank_texts,
)
from headwater.intake.ingest.payload import Consent
from headwater.sources.addresses import read_address

MAX_ITEMS = 50
MAX_AGO = 7 * 86_400_000
"""A week: how long browsers keep unsent items, in milliseconds."""
LONGEST_COOKIE = {**dict.fromkeys(COOKIES, 255), "fbc": 1024, "oppref": 1024}

TOKEN = re.compile(r"[A-Za-z0-9._~-]{1,255}")
_LANGUAGE = re.compile(r"([A-Za-z]{2,3})((?:[-_][A-Za-z0-9]{1,8}){0,4})")

_encode = msgspec.json.encode


class BrowserReport(Struct, frozen=True, kw_only=True):
    """Fields that apply to all items."""

    token: str | None = None
    fingerprint: str | None = None
    language: str | None = None
    consent: Consent = field(default_factory=Consent)
    cookies: dict[str, str] = field(default_factory=dict[str, str])
    landing: AcceptedLanding | None = None


class _ReportPayload(msgspec.Struct, frozen=True, kw_only=True):
    token: Identifier = None
    fingerprint: Identifier = None
    language: Identifier = None
    consent: Consent | None = None
    cookies: dict[str, Any] | None = None
    landing: Any = None


class _Landing(msgspec.Struct, frozen=True):
    url: Annotated[str, Meta(max_length=LONGEST_ADDRESS)]
    ago: int | float
    referrer: Address = None


def _normalize(payload: _ReportPayload, current_time: float, check: Check) -> BrowserReport:
    texts = keep_nonblank_texts(payload, ("token", "fingerprint"))
    if not TOKEN.fullmatch(texts.get("token", "-")):
        check.add("token", "must be letters, digits and - . _ ~ only.")
    return BrowserReport(
        token=texts.get("token"),
        fingerprint=texts.get("fingerprint"),
        language=language_tag(payload.language),
        consent=payload.consent or Consent(),
        cookies=_read_cookies(payload.cookies or {}),
        landing=_read_landing(payload.landing, current_time),
    )


def _read_landing(value: Any, current_time: float) -> AcceptedLanding | None:
    """Return None if invalid."""
    try:
        landing = msgspec.convert(value, _Landing)
    except msgspec.ValidationError:
        return None
    if not 0 <= landing.ago <= MAX_AGO or not read_address(landing.url):
        return None
    return AcceptedLanding(
        occurred_at=int(current_time * 1000 - landing.ago), url=landing.url, referrer=landing.referrer
    )


def _read_cookies(cookies: dict[str, Any]) -> dict[str, str]:
    """Drop invalid cookies: other scripts may set them."""
    return {
        name: value
        for name, longest in LONGEST_COOKIE.items()
        if isinstance(value := cookies.get(name), str) and value.strip() and len(value) <= longest
    }


REPORT_FORM = Form(
    _ReportPayload,
    _normalize,
    {
        "consent": "must be an object of ad_user_data and ad_personalization, each true or false.",
        "cookies": "must be an object.",
    },
    {},
)

_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_text = msgspec.json.Decoder(str).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode


class Body:
    def __init__(self, body: bytes) -> None:
        """Raise Invalid without naming a field, because the site isn't known."""
        try:
            self._members = decode_items(body, _decode_members)
        except msgspec.ValidationError:
            raise Invalid(NOT_AN_OBJECT) from None

    def site(self) -> str:
        try:
            return _decode_text(self._members.get("site", b'""'))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return ""

    def items(self) -> list[Raw]:
        """Raise Invalid for bad input."""
        try:
            items = _decode_list(self._members.get("items", b"null"))
        except msgspec.DecodeError:
            raise Invalid.of("items", "must be an array of items.") from None
        if not 1 <= len(items) <= MAX_ITEMS:
            raise Invalid.of("items", f"must hold 1 to {MAX_ITEMS} items.")
        return items

    def report(self, current_time: float) -> BrowserReport:
        """Return the report without items. Raises Invalid."""
        other_members = {name: raw for name, raw in self._members.items() if name in _REPORT_FIELDS}
        return REPORT_FORM.accept(_encode(other_members), current_time)


_REPORT_FIELDS = frozenset(_ReportPayload.__struct_fields__)


@lru_cache(maxsize=1024)
def language_tag(text: str | None) -> str | None:
    """Return the first language of an Accept-Language header or browser list."""
    match = _LANGUAGE.fullmatch((text or "").split(",")[0].split(";")[0].strip())
    if match is None:
        return None
    parts = match[2].replace("_", "-").split("-")[1:]
    return "-".join([match[1].lower(), *map(_subtag, parts)])


def _subtag(text: str) -> str:
    if len(text) == 2:
        return text.upper()
    return text.title() if len(text) == 4 else text.lower()


class Browser(BrowserReport, frozen=True, kw_only=True):
    """The sender of a report, and what its request says."""

    ip: str | None
    user_agent: str
    agent: Agent
    place: Place
    address_key: str
    """The sender's address as a key in `identity.joins`."""

    def visitor(self) -> dict[str, str]:
        """Return the identifiers. An address identifies only with a fingerprint."""
        identifiers = {"trk_token": self.token} if self.token else {}
        if self.fingerprint and self.ip:
            identifiers |= {"fingerprint": self.fingerprint, "ip": self.ip}
        return identifiers
