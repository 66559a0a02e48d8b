"""Pages and their static files are compressed, and no form token can be guessed from their length; answers of
the API are not compressed.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable

import httpx
import psycopg
import pytest

from headwater.console.forms import form_token
from tests.conftest import Running
from tests.console.browsing import strip_tokens
from tests.console.conftest import Person
from tests.support.factories import Stage


def get(url: str, coding: str, key: str = "", **cookies: str) -> tuple[httpx.Headers, bytes]:
    """Return the headers of a page and its body as sent, still compressed."""
    headers = {"Accept-Encoding": coding} | ({"Authorization": f"Bearer {key}"} if key else {})
    with httpx.Client(cookies=cookies, headers=headers) as client, client.stream("GET", url) as answer:
        assert answer.status_code == 200
        return answer.headers, b"".join(answer.iter_raw())


def assert_packed(url: str, **cookies: str) -> None:
    plain_headers, plain = get(url, "identity", **cookies)
    headers, packed_body = get(url, "gzip", **cookies)
    assert "content-encoding" not in plain_headers
    assert headers["content-encoding"] == "gzip"
    assert "Accept-Encoding" in headers["vary"]
    assert "Accept-Encoding" in plain_headers["vary"], "a cache keeps both"
    assert strip_tokens(gzip.decompress(packed_body).decode()) == strip_tokens(plain.decode())
    assert len(packed_body) < len(plain) / 2


def test_it_works(owner: Person, console: Running, space_id: int) -> None:
    path = f"/console/spaces/{space_id}/setup"
    page = f"{console.base_url}{path}"
    cookies = dict(owner.browser.client.cookies)
    assert_packed(page, **cookies)
    html = owner.browser.get(path).text
    (style,) = re.findall(r'href="(/console/static/[^"]+\.css)"', html)
    assert_packed(f"{console.base_url}{style}")


@pytest.mark.parametrize(
    "address", ["/docs", "/docs/events", "/docs/reference.css", "/public-api/v1/openapi.json"]
)
def test_the_reference(console: Running, address: str) -> None:
    assert_packed(f"{console.base_url}{address}")


def test_what_is_short_comes_as_it_is(console: Running) -> None:
    headers, body = get(f"{console.base_url}/favicon.ico", "gzip")
    assert "content-encoding" not in headers
    assert len(body) < 1000


def test_answers_of_the_api_come_as_they_are(
    console: Running, connection: psycopg.Connection, space_id: int, make_key: Callable[..., str]
) -> None:
    key = make_key(space_id)
    stage = Stage(connection, space_id, key)
    for _ in range(20):
        stage.event(stage.contact())
    days = "start_date=2026-05-01 00:00:00&end_date=2026-05-31 00:00:00"
    headers, body = get(f"{console.base_url}/public-api/v1/events?{days}", "gzip", key)
    assert "content-encoding" not in headers
    assert len(body) > 1000


def test_a_token_reads_differently_each_time_and_is_good_each_time(owner: Person, space_id: int) -> None:
    tokens = [form_token(owner.form_key, "a form") for _ in range(20)]
    halves = [half for token in tokens for half in (token[:64], token[64:])]
    assert len(set(halves)) == len(halves), "no part of it repeats"
    first, second = (owner.browser.form(f"/console/spaces/{space_id}/setup", "/logout") for _ in range(2))
    token = dict(first.fields)["form_token"]
    assert token != dict(second.fields)["form_token"]
    for bad_token in ("", "x", "zz" * 64, tokens[0], token[:-2], f"{token}00"):
        assert owner.browser.send(first, form_token=bad_token).status_code == 403, bad_token
    assert owner.browser.send(first).status_code == 200
