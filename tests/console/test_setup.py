"""The Setup page: connections, missing steps and recent data; and choosing a Space."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from headwater.base.settings import MERGE_ALERT
from headwater.console.setup_pages import setup
from headwater.spaces.accounts.members import add_member
from headwater.spaces.accounts.roles import Role
from tests.console.conftest import Person
from tests.support.accounts import Accounts
from tests.support.factories import Stage


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id, "")


def days_on(html: str) -> list[str]:
    """Return the figures of the days, oldest first."""
    return re.findall(r"<title>\w{3} \d{1,2} \w{3}: ([\d,+]+)</title>", html)


def test_it_works(owner: Person, stage: Stage, space_id: int) -> None:
    contact, now = stage.contact(), datetime.now(UTC)
    for day in (1, 1, 3, 40):
        stage.event(contact, event_time=now - timedelta(days=day), amount="1234.5")
    stage.label_event("custom_event_1", "Demo booked")
    stage.event(contact, event_name="custom_event_1", event_time=now - timedelta(days=3))
    page = owner.browser.get(f"/console/spaces/{space_id}/setup").text
    assert days_on(page) == ["0"] * 10 + ["2", "0", "2", "0"]
    assert "1,234.50" in page
    assert "Demo booked" in page
    assert "everything is processed" in page


def test_ignored_events_are_listed(owner: Person, stage: Stage, space_id: int) -> None:
    path = f"/console/spaces/{space_id}/setup"
    assert "Ignored events" not in owner.browser.get(path).text
    columns = {"name": "Song <Played>", "reason": "unknown_event", "times": 1200, "last_day": "2026-11-20"}
    stage._insert("ignored_names", columns, column="space_id")
    page = owner.browser.get(path).text
    assert "Ignored events" in page
    for text in ("Song &lt;Played&gt;", "no custom event has this label", "1,200", "20 Nov 2026"):
        assert text in page


def add_key(
    connection: psycopg.Connection, space_id: int, name: str, last_used: datetime | None = None
) -> None:
    connection.execute(
        "INSERT INTO api_keys (space_id, name, key_hash, hint, scopes, last_used_at)"
        " VALUES (%s, %s, sha256(%s), 'hint', '{}', %s)",
        (space_id, name, f"{name} {space_id}".encode(), last_used),
    )


def ticks(html: str) -> dict[str, bool]:
    """Return the lines of the checklist, and whether they are done."""
    lines = re.findall(r'<li class="(done|open)">.*?<h3>(.*?) <span', html, re.DOTALL)
    return {title: state == "done" for state, title in lines}


def test_nothing_is_connected(owner: Person, space_id: int) -> None:
    page = owner.browser.get(f"/console/spaces/{space_id}/setup")
    assert ticks(page.text) == dict.fromkeys(
        ["API key", "Site", "First order", "Orders tied to a visit",
         "Orders with an e-mail address", "Ad platforms", "Assistant", "Backup"], False,
    )  # fmt: skip
    assert "data-refresh" in page.text
    assert "Refresh" in page.text


def test_everything_is_connected(
    owner: Person, stage: Stage, connection: psycopg.Connection, space_id: int
) -> None:
    now = datetime.now(UTC) - timedelta(minutes=1)
    add_key(connection, space_id, "shop", last_used=now)
    connection.execute(
        "INSERT INTO sites (space_id, name, site_key, origins) VALUES (%s, 'Shop', %s, '{}')",
        (space_id, f"site-{space_id}"),
    )
    contact = stage.contact(email="a@b.org")
    visit = stage.visit(contact, started_at=now, last_hit_at=now)
    stage.hit(contact, visit, occurred_at=now, url="https://User@Shop.example:8443/a?b")
    stage.touchpoint(contact, "google_ads", occurred_at=now)
    order = stage.event(contact, event_time=now, received_at=now, amount="5", sender="api_key")
    destination = stage.destination(status="active")
    stage.add_delivery(destination, order, status="delivered", finished_at=now)
    page = owner.browser.get(f"/console/spaces/{space_id}/setup").text
    assert ticks(page) == {
        "API key": True, "Site": True, "First order": True, "Orders tied to a visit": True,
        "Orders with an e-mail address": True, "Ad platforms": True, "Destination tested": False,
        "Assistant": False, "Backup": False,
    }  # fmt: skip
    assert "<bdi>shop.example</bdi>" in page
    assert page.count("100.0 %") == 2
    assert f"/console/spaces/{space_id}/events/{order}" in page
    assert "data-refresh" not in page
    stage.event(stage.contact(), event_time=now, received_at=now, amount="5")
    page = owner.browser.get(f"/console/spaces/{space_id}/setup").text
    assert not ticks(page)["Orders tied to a visit"]
    assert page.count("50.0 %") == 2


def test_the_last_use_of_keys(owner: Person, connection: psycopg.Connection, space_id: int) -> None:
    path = f"/console/spaces/{space_id}/setup"
    add_key(connection, space_id, "<Shop>")
    page = owner.browser.get(path).text
    assert "no key has been used yet" in page
    assert not ticks(page)["API key"]
    add_key(connection, space_id, "CRM", last_used=datetime(2026, 5, 4, 3, 2, tzinfo=UTC))
    page = owner.browser.get(path).text
    assert ticks(page)["API key"]
    (line,) = re.findall(r"Last used: (.*?)</p>", page, re.DOTALL)
    last_use = re.sub(r"<.*?>", "", line).strip()
    assert last_use == "CRM …hint, 4 May 2026, 03:02; &lt;Shop&gt; …hint, never used."


def test_tests_of_destinations(owner: Person, stage: Stage, space_id: int) -> None:
    path = f"/console/spaces/{space_id}/setup"
    tested_at = datetime(2026, 5, 4, 3, 2, tzinfo=UTC)
    stage.destination(name="A", tested_at=tested_at, test_ok=True, test_message="Fine.")
    stage.destination(name="LinkedIn has no test mode", platform="linkedin")
    page = owner.browser.get(path).text
    assert ticks(page)["Destination tested"]
    assert "passed, <time" in page
    assert "Fine." not in page
    stage.destination(name="B", tested_at=tested_at, test_ok=False, test_message="No <token>.")
    untested_id = stage.destination(name="C")
    page = owner.browser.get(path).text
    assert not ticks(page)["Destination tested"]
    assert "<q>No &lt;token&gt;.</q>" in page
    assert f'href="/console/spaces/{space_id}/platforms/{untested_id}/test"' in page


def test_days_are_the_spaces(
    person: Callable[..., Person], make_space: Callable[..., int], connection: psycopg.Connection
) -> None:
    now = datetime.now(UTC)
    hours_ahead = 14 if now.hour in range(11, 22) else 9  # so that its midnight is an hour ago or longer
    space_id = make_space(timezone=f"Etc/GMT-{hours_ahead}")
    stage = Stage(connection, space_id, "")
    midnight = (now + timedelta(hours=hours_ahead)).replace(hour=0, minute=0, second=0, microsecond=0)
    for minutes in (-1, 1):
        moment = midnight - timedelta(hours=hours_ahead) + timedelta(minutes=minutes)
        stage.event(stage.contact(), event_time=moment)
    page = person(Role.VIEWER, space_id).browser.get(f"/console/spaces/{space_id}/setup").text
    assert days_on(page)[-2:] == ["1", "1"]


def test_a_busy_day_is_counted_so_far(
    owner: Person, stage: Stage, space_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup, "MOST_COUNTED", 3)
    for _ in range(5):
        stage.event(stage.contact(), event_time=datetime.now(UTC) - timedelta(days=1))
    page = owner.browser.get(f"/console/spaces/{space_id}/setup").text
    assert days_on(page)[-2] == "3+"


def test_what_waits_and_what_went_wrong(owner: Person, connection: psycopg.Connection, space_id: int) -> None:
    for table, more, values in (("inbox", "", ""), ("rejected", ", reason, detail", ", 'invalid', 'x'")):
        connection.execute(
            f"INSERT INTO {table} (space_id, id, kind, sender, received_at, payload{more})"
            " VALUES (%s, nextval('receipt_ids'), 'none', 'api_key',"
            " now() - interval '90 seconds', '{}'"
            f"{values})",
            (space_id,),
        )
    page = owner.browser.get(f"/console/spaces/{space_id}/setup").text
    connection.execute("DELETE FROM inbox WHERE space_id = %s", (space_id,))
    assert re.search(r"waiting, the oldest for 9\d s", page)
    assert "1 event could not be processed" in page
    assert "headwater queue rejected" in page
    assert "nothing went wrong" not in page


def test_a_held_destination_is_on_every_page(
    owner: Person, connection: psycopg.Connection, stage: Stage, space_id: int
) -> None:
    """Money not reported to a platform in time is lost, so no member may overlook it."""
    paths = [f"/console/spaces/{space_id}{end}" for end in ("/setup", "", "/keys", "/settings")]
    assert [path for path in paths if 'class="count"' in owner.browser.get(path).text] == []
    row = connection.execute(
        "INSERT INTO destinations (space_id, platform, name, status, status_reason, held_since)"
        " VALUES (%s, 'meta', '<Shop>', 'held', 'HTTP 401: Invalid OAuth <token>', now())"
        " RETURNING id",
        (space_id,),
    ).fetchone()
    assert row is not None
    event = stage.event(stage.contact(), event_time=datetime.now(UTC))
    connection.execute(
        "INSERT INTO deliveries (space_id, destination_id, event_id, dedup_id) VALUES (%s, %s, %s, 'x')",
        (space_id, row[0], event),
    )
    overview, *other_pages = (owner.browser.get(path).text for path in paths)
    title = "Meta Ads “&lt;Shop&gt;” connection expired: 1 conversion not sent"
    assert "Needs attention" in overview
    assert all('class="count"' in page and title in page for page in [overview, *other_pages])
    assert "HTTP 401: Invalid OAuth &lt;token&gt;" in overview
    resume = f"headwater destination resume --space {space_id} --destination {row[0]}"
    assert resume in overview


def test_the_snippet_of_a_site(owner: Person, connection: psycopg.Connection, space_id: int) -> None:
    path = f"/console/spaces/{space_id}/setup"
    assert f'href="/console/spaces/{space_id}/sites"' in owner.browser.get(path).text
    assert "Create a site" in owner.browser.get(path).text
    connection.execute(
        "INSERT INTO sites (space_id, name, site_key, origins) VALUES (%s, 'Shop', %s, '{}')",
        (space_id, f"site-{space_id}"),
    )
    page = owner.browser.get(path).text
    assert f"/t.js&#34; data-site=&#34;site-{space_id}&#34;&gt;" in page


def test_choosing(owner: Person, make_space: Callable[..., int], accounts: Accounts, space_id: int) -> None:
    assert owner.browser.get("/console").url.path == f"/console/spaces/{space_id}/setup"
    other_space_id = make_space(name="Zebra", subscription="inactive")
    accounts.run(lambda c: add_member(c, other_space_id, owner.user.id, Role.VIEWER))
    make_space(name="Secret")
    page = owner.browser.get("/console")
    assert page.url.path == "/console"
    assert re.findall(r'href="/console/spaces/(\d+)"', page.text) == [str(space_id), str(other_space_id)]
    assert "subscription inactive" in page.text
    assert "Secret" not in page.text
    assert "is inactive" in owner.browser.get(f"/console/spaces/{other_space_id}").text


def test_who_has_no_space(accounts: Accounts, browser: object) -> None:
    user = accounts.user()
    page = browser.log_in(user)  # type: ignore[attr-defined]
    assert "You are not a member of any Space yet." in page.text


def test_a_burst_of_merges_is_shown(owner: Person, stage: Stage, space_id: int) -> None:
    def merge(count: int) -> str:
        stage.connection.execute(
            "INSERT INTO merges (space_id, merged_id, survivor_id, cause)"
            " SELECT %s, number + 1, number, 'email' FROM generate_series(1, %s) number",
            (space_id, count),
        )
        return owner.browser.get(f"/console/spaces/{space_id}/setup").text

    assert "headwater contact merges" not in merge(MERGE_ALERT - 1)
    assert "headwater contact merges" in merge(1)
