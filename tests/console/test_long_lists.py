"""Lists of ten thousand rows: a page at a time, searchable, and small however many rows there are."""

from __future__ import annotations

import re
from collections.abc import Callable

import psycopg
import pytest

from headwater.console.list_page import PER_PAGE
from tests.console.conftest import Person

MANY = 10_000
LARGEST = 100_000
"""Bytes of a page with such a list, before compression."""

FILL = {
    "/sites": """
        INSERT INTO sites (space_id, name, site_key, origins, revoked_at)
        SELECT %(space)s, 'Shop ' || i, 'many-' || %(space)s || '-' || i,
               ARRAY['https://shop' || i || '.example'], CASE WHEN i %% 4 = 0 THEN now() END
        FROM generate_series(1, %(many)s) i""",
    "/orders": """
        INSERT INTO webhooks (space_id, type, name, token_hash, hint, revoked_at)
        SELECT %(space)s, 'generic', 'Shop ' || i, sha256(('many ' || %(space)s || i)::bytea),
               'abcd', CASE WHEN i %% 4 = 0 THEN now() END
        FROM generate_series(1, %(many)s) i""",
    "/keys": """
        INSERT INTO api_keys (space_id, name, key_hash, hint, scopes, revoked_at)
        SELECT %(space)s, 'Shop ' || i, sha256(('many ' || %(space)s || i)::bytea), 'hint', '{}',
               CASE WHEN i %% 4 = 0 THEN now() END
        FROM generate_series(1, %(many)s) i""",
    "/sources": """
        INSERT INTO source_names (space_id, name, source)
        SELECT %(space)s, 'shop ' || lpad(i::text, 5, '0'), 'email'
        FROM generate_series(1, %(many)s) i""",
    "/members": """
        WITH team AS (
            INSERT INTO users (email, name)
            SELECT 'm' || %(space)s || '-' || i || '@example.com', 'Member ' || lpad(i::text, 5, '0')
            FROM generate_series(2, %(many)s) i RETURNING id
        )
        INSERT INTO memberships (space_id, user_id, role) SELECT %(space)s, id, 'viewer' FROM team""",
}
SEARCH = {"/sources": "own"}
KEPT = {"/sources": MANY, "/members": MANY}
"""How many rows are still in use: three quarters, or all if they can't be ended."""


@pytest.fixture
def fill(connection: psycopg.Connection, space_id: int) -> Callable[[str], None]:
    def run(end: str) -> None:
        connection.execute(FILL[end], {"space": space_id, "many": MANY})

    return run


def rows(page: str) -> list[str]:
    """Return the titles of the rows in the first table."""
    table = re.search(r"<table.*?</table>", page, re.DOTALL)
    assert table is not None, page
    return re.findall(r'<th scope="row">.*?<bdi>(.*?)</bdi>', table[0])


@pytest.mark.parametrize("end", list(FILL))
def test_it_works(owner: Person, fill: Callable[[str], None], space_id: int, end: str) -> None:
    fill(end)
    path, search = f"/console/spaces/{space_id}{end}", SEARCH.get(end, "find")
    row_count = KEPT.get(end, MANY * 3 // 4)
    first = owner.browser.get(path)
    assert len(first.content) < LARGEST
    assert f"{row_count:,} " in first.text
    assert len(rows(first.text)) == PER_PAGE
    more = re.search(r'<a rel="next" href="([^"]+)"', first.text)
    assert more is not None
    second = owner.browser.get(more[1]).text
    assert len(rows(second)) == PER_PAGE
    assert not set(rows(first.text)) & set(rows(second))
    last = owner.browser.get(f"{path}?page=999999").text
    assert rows(last)
    assert 'rel="next"' not in last
    search_name = rows(second)[7]
    result = owner.browser.get(f"{path}?{search}={search_name.upper()}").text
    assert search_name in rows(result)
    assert all(search_name in name for name in rows(result))
    nothing = owner.browser.get(f"{path}?{search}=<script>")
    assert nothing.status_code == 200
    assert "<script>" not in nothing.text
    for odd in ("0", "-1", "x", "1e3", "9" * 400):
        assert owner.browser.get(f"{path}?page={odd}").status_code == 200


def test_a_refused_change_keeps_a_key_of_a_later_page(
    owner: Person, fill: Callable[[str], None], space_id: int
) -> None:
    fill("/keys")
    path = f"/console/spaces/{space_id}/keys"
    form = owner.browser.form(f"{path}?page=2", f"{path}/restrict?page=2")
    key = re.findall(r'<option value="(\d+)"', owner.browser.get(f"{path}?page=2").text)[7]
    refusal = owner.browser.send(form, key=key, addresses="office")
    assert refusal.status_code == 422
    assert f'<option value="{key}" selected>' in refusal.text


def test_invitations(owner: Person, connection: psycopg.Connection, space_id: int) -> None:
    connection.execute(
        """INSERT INTO invitations (space_id, email, role, token_hash, expires_at)
           SELECT %(space)s, 'invited' || i || '@example.com', 'viewer',
                  sha256(('many ' || %(space)s || i)::bytea), now() + interval '1 day'
           FROM generate_series(1, %(many)s) i""",
        {"space": space_id, "many": MANY},
    )
    path = f"/console/spaces/{space_id}/members"
    page = owner.browser.get(path)
    assert len(page.content) < LARGEST
    assert f"{MANY:,} invitations, page 1" in page.text
    last = owner.browser.get(f"{path}?page={MANY // PER_PAGE}").text
    assert f"invited{MANY}@example.com" in last
    found = owner.browser.get(f"{path}?invited=INVITED7777@").text
    assert "invited7777@example.com" in found
    assert "invited1@example.com" not in found


def test_sessions(owner: Person, connection: psycopg.Connection) -> None:
    """A program that logs in every few minutes leaves thousands."""
    connection.execute(
        """INSERT INTO sessions (token_hash, user_id, device, expires_at)
           SELECT sha256(('many ' || %(user)s || '-' || i)::bytea), %(user)s,
                  'Robot ' || i || ' on Linux', now() + interval '1 day'
           FROM generate_series(1, %(many)s) i""",
        {"user": owner.user.id, "many": MANY},
    )
    page = owner.browser.get("/console/account")
    assert len(page.content) < LARGEST
    assert f"{MANY + 1:,} sessions, page 1" in page.text
    assert page.text.count('action="/console/account/sessions/close"') >= PER_PAGE - 1
    found = owner.browser.get("/console/account?find=ROBOT 7777 on").text
    assert "Robot 7777 on Linux" in found
    assert "Robot 1 on Linux" not in found


def test_names_on_data_quality(owner: Person, fill: Callable[[str], None], space_id: int) -> None:
    fill("/sources")
    page = owner.browser.get(f"/console/spaces/{space_id}/data-quality")
    assert len(page.content) < LARGEST
    assert "which lists all 10,000" in page.text


def test_a_short_list_has_no_search(owner: Person, space_id: int) -> None:
    for end in FILL:
        page = owner.browser.get(f"/console/spaces/{space_id}{end}").text
        assert 'aria-label="Pages of' not in page
        assert "Find among" not in page
