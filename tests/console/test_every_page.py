"""Properties of every page: its headers, its headings, and that it works without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape, unescape
from itertools import pairwise

import httpx
import pytest

from headwater.console.navigation import ENTRIES
from headwater.spaces.accounts.roles import Role
from tests.conftest import Running
from tests.console.browsing import Browser, Forms, headings, strip_tokens
from tests.console.conftest import Person

IN_SPACE = (
    "", "?period=today", "?tile=roas&stack=channel&open=meta", "/channels",
    "/models", "/paths", "/campaigns", "/ads/comparison", "/cohorts", "/self-reported",
    "/completeness", "/changes", "/changes/since", "/campaigns/changes", "/spend", "/events",
    "/spend/connections", "/events?conversion=any", "/people", "/people?q=nobody",
    "/companies", "/setup", "/data-quality",
    "/sources", "/sources?url=shop.example&referrer=t.co&find=x",
    "/links", "/links/many", "/links?address=shop.example&source=email&campaign=1",
    "/live", "/live?kind=problems&reload=on",
    "/sites", "/orders", "/members", "/keys", "/alerts", "/alerts/rules", "/alerts/reports",
    "/share-links", "/notes", "/rates",
    "/trained-models", "/mcp",
    "/settings",
    "/platforms",
)  # fmt: skip
OUTSIDE = ("/console?all", "/console/account")
GUESTS = ("/login", "/console/set-up/x", "/console/reset/x", "/console/join/x")
UNKNOWN = ("/console/nothing", "/console/spaces/0", "/console/spaces/x", "/console/spaces/1/x")

FETCHING = ("/links", "/live")
"""Pages whose script fetches other pages of the service."""

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
}


def check(page: httpx.Response) -> None:
    # Assistants open the login in its own window, and wait for its message.
    policy = HEADERS["content-security-policy"]
    if page.url.path.endswith(FETCHING) and page.status_code == 200:
        policy = policy.replace("form-action", "connect-src 'self'; form-action")
    opener = {"cross-origin-opener-policy": "unsafe-none"} if page.url.path == "/login" else {}
    assert {name: page.headers.get(name) for name in HEADERS} == HEADERS | opener | {
        "content-security-policy": policy
    }
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    html = page.text
    levels = headings(html)
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert '<html lang="en">' in html
    assert html.count("<main") == html.count("<header") == 1
    assert not re.findall(r"\s(?:on\w+|style)=", html)
    assert "<script>" not in html
    assert "<style" not in html
    ids = re.findall(r'\sid="([^"]*)"', html)
    assert len(ids) == len(set(ids))
    for target in re.findall(r'(?:\sfor|aria-labelledby)="([^"]*)"', html):
        assert target in ids
    for targets in re.findall(r'aria-describedby="([^"]*)"', html):
        assert set(targets.split()) <= set(ids)
    assert all(form.action.startswith("/") for form in Forms(html).forms)


def test_it_works(owner: Person, space_id: int) -> None:
    home = owner.browser.get("/")
    assert home.url.path == f"/console/spaces/{space_id}/setup"
    for path in [*OUTSIDE, *(f"/console/spaces/{space_id}{end}" for end in IN_SPACE)]:
        page = owner.browser.get(path)
        assert page.status_code == 200, path
        check(page)


def test_no_link_of_a_viewer_s_pages_is_forbidden(person: Callable[..., Person], space_id: int) -> None:
    browser, base = person(Role.VIEWER).browser, f"/console/spaces/{space_id}"
    pages = (browser.get(f"{base}{end}").text for end in IN_SPACE)
    links = {
        unescape(link).partition("?")[0]: unescape(link)
        for page in pages
        for link in re.findall(f'href="({base}[^"#]*)', page)
    }
    assert len(links) > len(IN_SPACE) / 2
    assert [link for link in links.values() if browser.get(link).status_code == 403] == []


ENTRY_HEADED = ("Performance", "General", "Overview", "Open")
"""Tabs with a common name; the heading of their page is the name of the menu entry."""


def test_a_page_is_headed_like_its_tab(owner: Person, space_id: int) -> None:
    for entry in ENTRIES:
        for tab in entry.tabs:
            choice = "&" if "?" in tab.link else "?"
            page = owner.browser.get(f"/console/spaces/{space_id}{tab.link}{choice}period=today").text
            link = f"{tab.link}?period=today" if tab.has_period else tab.link
            assert f'href="/console/spaces/{space_id}{escape(link)}" aria-current' in page
            (heading,) = re.findall(r"<h1[^>]*>([^<]+)", page)
            assert heading == (entry.title if tab.title in ENTRY_HEADED else tab.title)
            assert re.findall(r"<title>([^<·]+)", page)[0].strip() == heading


@pytest.mark.parametrize("path", GUESTS)
def test_a_guest(browser: Browser, path: str) -> None:
    page = browser.get(path)
    assert page.status_code == (200 if path == "/login" else 404)
    check(page)


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.OWNER])
def test_every_role_sees_every_page(person: Callable[..., Person], space_id: int, role: Role) -> None:
    """The same pages as an owner."""
    person(Role.OWNER)
    visitor = person(role)
    for end in IN_SPACE:
        page = visitor.browser.get(f"/console/spaces/{space_id}{end}")
        assert page.status_code == 200
        check(page)


@pytest.mark.parametrize("path", UNKNOWN)
def test_unknown_paths_are_not_found(owner: Person, browser: Browser, path: str) -> None:
    page = owner.browser.get(path)
    assert page.status_code == 404
    check(page)
    assert owner.user.name in page.text
    assert browser.get(path).url.path in {path, "/login"}


def test_another_space_is_as_no_space(owner: Person, make_space: Callable[..., int]) -> None:
    other_space_id = make_space(name="Secret")
    for end in IN_SPACE:
        other_answer = owner.browser.get(f"/console/spaces/{other_space_id}{end}")
        unknown_answer = owner.browser.get(f"/console/spaces/999999999{end}")
        assert (other_answer.status_code, unknown_answer.status_code) == (404, 404)
        assert strip_tokens(other_answer.text) == strip_tokens(unknown_answer.text)


@pytest.mark.parametrize(
    ("method", "path"),
    [("DELETE", "/login"), ("PUT", "/console"), ("GET", "/logout"), ("GET", f"{OUTSIDE[1]}/name")],
)
def test_another_method(browser: Browser, method: str, path: str) -> None:
    page = browser.client.request(method, path)
    assert page.status_code == 405
    assert page.headers["allow"]
    check(page)


def test_what_fails_is_a_page(owner: Person, console: Running) -> None:
    """For a malformed form, a form that is too large, and a form of another type."""
    for content, kind, status in (
        (b"a=%ff", "application/x-www-form-urlencoded", 422),
        (b"a=" + b"x" * 300_000, "application/x-www-form-urlencoded", 413),
        (b"a=b&" * 600, "application/x-www-form-urlencoded", 422),
        (b"{}", "application/json", 415),
    ):
        headers = {"Content-Type": kind}
        page = owner.browser.client.post("/logout", content=content, headers=headers)
        assert page.status_code == status
        check(page)
    assert httpx.get(f"{console.base_url}/public-api/v1/nothing").headers["content-type"] == (
        "application/json"
    )


def test_assets_are_kept_for_good(browser: Browser) -> None:
    page = browser.get("/login").text
    loaded = re.findall(r'(?:src|href)="(/console/static/[^"]*)"', page)
    assert len(loaded) == 2
    for address in loaded:
        asset = browser.get(address)
        assert asset.status_code == 200
        assert "immutable" in asset.headers["cache-control"]
        assert asset.headers["content-type"].endswith("; charset=utf-8")
        assert asset.headers["x-content-type-options"] == "nosniff"
        assert "url(" not in asset.text
        assert "http" not in asset.text.replace("plain http from", "")
    for wrong in ("console.css", "console.0000000000000000.css", "../pages.py", "%2e%2e/pages.py"):
        assert browser.get(f"/console/static/{wrong}").status_code == 404
