"""Hostile tracker reports: all input of a browser or an impostor is stored completely or refused."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.events.accepted import AcceptedEvent
from headwater.events.browsing.accepted import AcceptedHit, AcceptedPerson
from headwater.events.browsing.agents import read_agent
from headwater.events.browsing.places import NOWHERE
from headwater.http.errors import Invalid
from headwater.intake.tracker.browser_reports import Body, Browser, language_tag
from headwater.intake.tracker.reported_items import accept_item, is_page
from headwater.people.identity.senders import Sender
from headwater.spaces.access import Caller
from headwater.spaces.sites.origins import cookie_domain, is_among, parse_origin, sent_host
from headwater.spaces.sites.signatures import SigningSecret
from headwater.spaces.sites.sites import ActiveSite
from tests.support.campaigns import campaign_size
from tests.support.sites import event, identify, page

NOW = 1_790_000_000.0
AGENT = read_agent("x")
SITE = ActiveSite(1, Caller(1, 1, frozenset()), (), secrets=(SigningSecret(b"secret"),))
KINDS: dict[str, type[msgspec.Struct]] = {
    "hit": AcceptedHit, "identify": AcceptedPerson, "event": AcceptedEvent,
}  # fmt: skip

TEXT = st.text() | st.sampled_from(
    ["", " ", "\0", "\ud800", "page", "identify", "event", "https://shop.example/", "javascript:",
     "https://[", "http://\u2100", "ada@example.com", "x" * 3000, "5", "-1", "1e999"]
)  # fmt: skip
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT
    | st.sampled_from([10**400, -(10**400), 1e308])
)  # fmt: skip
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)
)
NAMES = st.sampled_from(
    ["type", "key", "ago", "url", "referrer", "email", "phone", "profile_field_1", "amount",
     "profile_field_16", "profile_field_26", "event_name", "consent", "fbp", "idempotency_key",
     "signed_at", "signature"]
)  # fmt: skip


FEW = settings(
    max_examples=campaign_size("HEADWATER_HOSTILE_REPORTS", 30, 2000), deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip


def browser(report: Any) -> Browser:
    return Browser(
        token=report.token, fingerprint=report.fingerprint, ip="192.0.2.1", user_agent="x",
        agent=AGENT, place=NOWHERE, language=report.language, cookies=report.cookies,
        consent=report.consent, address_key="",
    )  # fmt: skip


def read(body: bytes) -> list[tuple[str, bytes]]:
    """Return the rows of a body, without refused ones."""
    rows: list[tuple[str, bytes]] = []
    try:
        report_body = Body(body)
        assert isinstance(report_body.site(), str)
        report, items = report_body.report(NOW), report_body.items()
    except Invalid:
        return rows
    for raw in items:
        is_page(raw)
        with suppress(Invalid):
            item = accept_item(raw, browser(report), SITE, NOW)
            assert item.sender is Sender.BROWSER  # a signature can't be guessed
            rows.append((item.kind, item.payload))
    return rows


@FEW
@given(st.binary() | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_body(body: bytes) -> None:
    read(body)


@FEW
@given(
    st.dictionaries(
        st.sampled_from(["site", "token", "fingerprint", "language", "consent", "cookies"]), JSON
    ),
    st.lists(
        st.tuples(st.sampled_from([page, identify, event]), st.dictionaries(NAMES, JSON)),
        min_size=1, max_size=3,
    ),
)  # fmt: skip
def test_any_member(members: dict[str, Any], items: list[tuple[Any, dict[str, Any]]]) -> None:
    item_bodies = [{**make(), **changes} for make, changes in items]
    body = json.dumps({"fingerprint": "f", **members, "items": item_bodies}).encode()
    for kind, row in read(body):
        assert b"\n" not in row
        assert b"\\u0000" not in row
        assert msgspec.json.decode(row, type=KINDS[kind])


@FEW
@given(TEXT, TEXT)
def test_any_origin_and_host(origin: str, host: str) -> None:
    page_host = sent_host(origin)
    if page_host is not None:
        is_among(origin, ["https://*.shop.example"])
        cookie_domain(page_host, sent_host(f"http://{host}") or "")
    with suppress(ValueError):
        parsed_origin = parse_origin(origin)
        assert parse_origin(parsed_origin) == parsed_origin


@FEW
@given(TEXT | st.from_regex(r"[a-zA-Z_-]{2,20}"))
def test_any_language(text: str) -> None:
    tag = language_tag(text)
    assert tag is None or language_tag(tag) == tag
