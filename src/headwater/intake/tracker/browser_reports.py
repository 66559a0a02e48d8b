"""A browser's report, validated except for its items: the site, the browser, and the visitor's
consent and cookies. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Raw

from headwater.events.browsing.accepted import COOKIES, AcceptedLanding
from headwater.events.browsing.agents import Agent
from headwater.events.browsing.places import Place
from headwater.http.errors import Invalid
from headwater.http.json_decoder import NOT_AN_OBJECT, decode_typed
from headwater.intake.ingest.forms import Address, Check, Form, Identifier, nonblank_texts
from headwater.intake.ingest.payload import Consent
from headwater.sources.addresses import read_address

MAX_ITEMS = 50
MAX_AGO = 7 * 86_400_000
"""A week, in milliseconds, for which an item that could not be sent may wait in a browser."""
LONGEST_COOKIE = {**dict.fromkeys(COOKIES, 255), "fbc": 1024}

TOKEN = re.compile(r"[A-Za-z0-9._~-]{1,255}")
_LANGUAGE = re.compile(r"([A-Za-z]{2,3})((?:[-_][A-Za-z0-9]{1,8}){0,4})")

_encode = msgspec.json.encode


@dataclass(frozen=True, kw_only=True)
class BrowserReport:
    """The members of a body that apply to all of its items."""

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
    url: Annotated[str, Meta(max_length=2048)]
    ago: int | float
    referrer: Address = None


def _normalise(payload: _ReportPayload, now: float, check: Check) -> BrowserReport:
    texts = nonblank_texts(payload, ("token", "fingerprint"))
    if not TOKEN.fullmatch(texts.get("token", "-")):
        check.add("token", "must be letters, digits and - . _ ~ only.")
    return BrowserReport(
        token=texts.get("token"),
        fingerprint=texts.get("fingerprint"),
        language=language_tag(payload.language),
        consent=payload.consent or Consent(),
        cookies=_cookies(payload.cookies or {}),
        landing=_landing(payload.landing, now),
    )


def _landing(value: Any, now: float) -> AcceptedLanding | None:
    """Return the page view by which the visitor came. One that cannot be one is left out: it only
    adds to what the items say.
    """
    try:
        landing = msgspec.convert(value, _Landing)
    except msgspec.ValidationError:
        return None
    if not 0 <= landing.ago <= MAX_AGO or not read_address(landing.url):
        return None
    return AcceptedLanding(
        occurred_at=int(now * 1000 - landing.ago), url=landing.url, referrer=landing.referrer
    )


def _cookies(cookies: dict[str, Any]) -> dict[str, str]:
    """Return the cookies that can be stored. Others are left out without an error, as another
    script may have set them.
    """
    return {
        name: value
        for name, longest in LONGEST_COOKIE.items()
        if isinstance(value := cookies.get(name), str) and value.strip() and len(value) <= longest
    }


REPORT_FORM = Form(
    _ReportPayload,
    _normalise,
    {
        "consent": "must be an object of ad_user_data and ad_personalization, each true or false.",
        "cookies": "must be an object.",
    },
    {},
)

_members_of = msgspec.json.Decoder(dict[str, Raw]).decode
_text_of = msgspec.json.Decoder(str).decode
_list_of = msgspec.json.Decoder(list[Raw]).decode


class Body:
    """A body whose members are not yet validated, as its site has to be known first."""

    def __init__(self, body: bytes) -> None:
        """Read a body. Raises Invalid for one that is no JSON object, without naming the field at
        fault: its site is not known.
        """
        try:
            self._members = decode_typed(body, _members_of, name_fields=False)
        except msgspec.ValidationError:
            raise Invalid(NOT_AN_OBJECT) from None

    def site(self) -> str:
        """Return the site key; "" when there is none."""
        try:
            return _text_of(self._members.get("site", b'""'))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return ""

    def items(self) -> list[Raw]:
        """Return the items. Raises Invalid."""
        try:
            items = _list_of(self._members.get("items", b"null"))
        except msgspec.DecodeError:
            raise Invalid.of("items", "must be an array of items.") from None
        if not 1 <= len(items) <= MAX_ITEMS:
            raise Invalid.of("items", f"must hold 1 to {MAX_ITEMS} items.")
        return items

    def report(self, now: float) -> BrowserReport:
        """Return all members except the items. Raises Invalid naming every member at fault."""
        others = {name: raw for name, raw in self._members.items() if name in _REPORTED}
        return REPORT_FORM.accept(_encode(others), now)


_REPORTED = frozenset(_ReportPayload.__struct_fields__)


@lru_cache(maxsize=1024)
def language_tag(text: str | None) -> str | None:
    """Return the first language of an Accept-Language header or of a browser's list, as a tag."""
    match = _LANGUAGE.fullmatch((text or "").split(",")[0].split(";")[0].strip())
    if match is None:
        return None
    parts = match[2].replace("_", "-").split("-")[1:]
    return "-".join([match[1].lower(), *map(_subtag, parts)])


def _subtag(text: str) -> str:
    if len(text) == 2:
        return text.upper()
    return text.title() if len(text) == 4 else text.lower()


@dataclass(frozen=True)
class Browser:
    """The browser that sent a report, by the report and the request."""

    token: str | None
    fingerprint: str | None
    ip: str | None
    user_agent: str
    agent: Agent
    place: Place
    language: str | None
    cookies: dict[str, str]
    consent: Consent
    address_key: str
    """Of the address the report came from, as `identity.joins` counts it."""
    landing: AcceptedLanding | None = None

    def visitor(self) -> dict[str, str]:
        """Return the identifiers of the visitor. An address counts only with a fingerprint."""
        identifiers = {"trk_token": self.token} if self.token else {}
        if self.fingerprint and self.ip:
            identifiers |= {"fingerprint": self.fingerprint, "ip": self.ip}
        return identifiers
