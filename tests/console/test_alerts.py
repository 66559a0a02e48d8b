"""The page of alerts: what is open and what was, the rules, channels, and scheduled reports."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from headwater.alerts.notifications import channels
from headwater.spaces.accounts.roles import Role
from tests.console.browsing import Browser
from tests.console.conftest import Person
from tests.support.factories import Stage

HOSTILE = '"><script>alert(1)</script>' + "ö" * 40


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id, "")


def put_alert(stage: Stage, rule: str = "visits_fell", subject: str = "", **columns: object) -> int:
    """An alert with its first step."""
    given = {"title": "Visits stopped", "cause": "The tag is gone.", "ended_at": None, **columns}
    row = stage.connection.execute(
        "INSERT INTO alerts (space_id, rule, subject, title, cause, began, opened_at, ended_at)"
        " VALUES (%s, %s, %s, %s, %s, '2026-05-13 10:00', '2026-05-13 11:00Z', %s) RETURNING id",
        (stage.space_id, rule, subject, given["title"], given["cause"], given["ended_at"]),
    ).fetchone()
    assert row is not None
    stage.connection.execute(
        "INSERT INTO alert_steps (space_id, alert_id, step, at, observed, usual_low, usual_middle,"
        " usual_high, span) VALUES (%s, %s, 'opened', '2026-05-13 11:00Z', 0, 19, 30, 41, 1)",
        (stage.space_id, row[0]),
    )
    return row[0]


def make_page(space_id: int) -> str:
    return f"/console/spaces/{space_id}/alerts"


def add_channel(person: Person, space_id: int, **fields: str) -> str:
    """The page after a channel was added."""
    page = make_page(space_id)
    values = {"kind": "webhook", "name": "Team", "address": "https://hooks.example/T1/secret", **fields}
    return person.browser.fill(page, f"{page}/channels/create", **values).text


def test_it_works(owner: Person, stage: Stage, space_id: int) -> None:
    """An alert is on every page, is dealt with, and is in the history when it has ended."""
    alert = put_alert(stage)
    put_alert(stage, "orders_fell", title="Orders fell", ended_at=datetime.now(UTC))
    for end in ("/members", "/setup"):
        assert "Visits stopped" in owner.browser.get(f"/console/spaces/{space_id}{end}").text
    text = owner.browser.get(make_page(space_id)).text
    assert "The tag is gone." in text
    assert "0 in 1 hour, usually 19 to 41" in text
    assert text.index("Visits stopped") < text.index("Orders fell")
    answer = owner.browser.fill(make_page(space_id), f"{make_page(space_id)}/acknowledge")
    assert "be notified again until" in answer.text
    assert "Acknowledged" in answer.text
    assert "by <bdi>owner 1</bdi>" in answer.text
    assert f'name="alert" value="{alert}"' not in answer.text


def test_nothing_is_wrong(owner: Person, space_id: int) -> None:
    text = owner.browser.get(make_page(space_id)).text
    for words in ("Nothing is wrong.", "No alert has ended yet.", "Alerts are shown only here",
                  "Add a channel first", "HEADWATER_SMTP_URL"):  # fmt: skip
        assert words in text


def test_a_problem_of_this_moment_is_there_at_once(owner: Person, stage: Stage, space_id: int) -> None:
    destination = stage.destination(status="held", status_reason=HOSTILE)
    text = owner.browser.get(make_page(space_id)).text
    assert "is held: 0 conversions waiting" in text
    assert f'href="/console/spaces/{space_id}/platforms/{destination}"' in text
    assert "<script>alert" not in text


def test_rules_are_chosen(owner: Person, stage: Stage, space_id: int) -> None:
    page = make_page(space_id)
    action = f"{page}/rule"
    answer = owner.browser.fill(page, action, holding={"rule": "visits_fell"}, sensitivity="low", mute="7")
    assert "muted until" in answer.text
    assert ", low sensitivity" in answer.text
    form = owner.browser.form(page, action, rule="visits_fell")
    form.fields = [pair for pair in form.fields if pair[0] != "is_on"]
    assert "off, low sensitivity" in owner.browser.send(form).text
    refused = owner.browser.send(form, rule="nothing")
    assert refused.status_code == 422
    (row,) = stage.connection.execute(
        "SELECT is_on, muted_until > now() + interval '6 days' FROM alert_rules"
        " WHERE space_id = %s", (space_id,),
    ).fetchall()  # fmt: skip
    assert row == (False, True)


def test_a_webhook_is_a_secret(owner: Person, stage: Stage, space_id: int) -> None:
    text = add_channel(owner, space_id)
    assert "Channel created." in text
    assert "hooks.example/…cret" in text
    assert "T1/secret" not in text
    ((secret, address),) = stage.connection.execute(
        "SELECT secret, address FROM channels WHERE space_id = %s", (space_id,)
    ).fetchall()
    assert b"secret" not in secret
    assert address is None
    page = make_page(space_id)
    changed = owner.browser.fill(page, f"{page}/channels/change", name="Nobody", rules=[])
    assert "no alerts" in changed.text
    gone = owner.browser.fill(
        page, f"{page}/channels/change", holding={"remove": "yes"}
    ).text  # fmt: skip
    assert "its address are deleted" in gone
    ((secret,),) = stage.connection.execute(
        "SELECT secret FROM channels WHERE space_id = %s", (space_id,)
    ).fetchall()
    assert secret is None


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"name": " "}, "must have 1 to 80 characters"),
        ({"address": "hooks.example/x"}, "must be the complete address"),
        ({"address": "https://" + "x" * 2000}, "must be the complete address"),
        ({"kind": "email", "address": "nobody"}, "must be a valid e-mail address"),
        ({"kind": "email", "address": "a@b.example\nBcc: c@d.example"}, "valid e-mail address"),
        ({"kind": "pigeon"}, "must be email or webhook"),
        ({"rules": "nothing"}, "must be existing alert rules"),
    ],
)
def test_what_is_no_channel(owner: Person, space_id: int, fields: dict[str, str], rule: str) -> None:
    text = add_channel(owner, space_id, **fields)
    assert rule in text
    assert "T1/secret" not in text, "an address that may be a secret is not shown again"


def test_no_more_channels_than_there_may_be(
    owner: Person, space_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channels, "MOST", 1)
    add_channel(owner, space_id)
    assert "there are 1 channels" in add_channel(owner, space_id)


def test_a_test_that_cannot_go_out(owner: Person, space_id: int) -> None:
    """Without a mail server, and to an address of this machine, the page says what to do."""
    page = make_page(space_id)
    add_channel(owner, space_id, address="https://127.0.0.1/hook")
    text = owner.browser.fill(page, f"{page}/channels/test").text
    assert "The test failed: <bdi>127.0.0.1 has an address that is" in text
    assert "Check the address of the webhook." in text
    assert "The last message" in owner.browser.get(page).text
    add_channel(owner, space_id, kind="email", name="Me", address=owner.user.email)
    form = owner.browser.forms(page)
    tests = [each for each in form if each.action.startswith(f"{page}/channels/test")]
    assert "No mail server is configured" in owner.browser.send(tests[1]).text


def test_somebody_elses_address_agrees_first(
    owner: Person, browser: Browser, stage: Stage, space_id: int
) -> None:
    text = add_channel(owner, space_id, kind="email", address="ada@elsewhere.example")
    assert "waiting for the recipient" in text
    page = make_page(space_id)
    tested = owner.browser.fill(page, f"{page}/channels/test").text
    assert "The address is not confirmed yet" in tested
    ((link,),) = stage.connection.execute(
        "SELECT content ->> 'link' FROM messages WHERE space_id = %s", (space_id,)
    ).fetchall()
    assert "Send them" in browser.get(link).text
    assert "Thank you" in browser.fill(link, link, answer="agree").text
    assert "waiting for the recipient" not in owner.browser.get(page).text
    assert "Nothing is sent" in browser.fill(link, link, answer="refuse").text
    assert "ada@elsewhere.example" not in owner.browser.get(page).text
    bad = link[:-3] + ("AAA" if link[-3:] != "AAA" else "BBB")
    for wrong in (bad, "/mail/x", "/mail/1.1.", "/mail/1.1.%20", f"/mail/{'9' * 30}.1.x"):
        assert browser.get(wrong).status_code == 404


def test_a_report_is_scheduled(owner: Person, stage: Stage, space_id: int) -> None:
    add_channel(owner, space_id)
    page = make_page(space_id)
    action = f"{page}/reports/schedule"
    wanted = f"{page}?page=%2Fmodels&query=period%3Dyesterday"
    answer = owner.browser.fill(
        wanted, action, name="Models", cadence="weekly", day="1", hour="8", with_csv="yes"
    )
    assert "every Tuesday at 08:00, with CSV" in answer.text
    assert f'href="/console/spaces/{space_id}/models?period=yesterday"' in answer.text
    ((next_at,),) = stage.connection.execute(
        "SELECT next_at FROM scheduled_reports WHERE space_id = %s", (space_id,)
    ).fetchall()
    assert (next_at.weekday(), next_at.hour) == (1, 8)
    assert next_at - datetime.now(UTC) <= timedelta(days=7)
    assert "no longer sent" in owner.browser.fill(page, f"{page}/reports/remove").text


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"name": ""}, "must have 1 to 80 characters"),
        ({"page": "/events"}, "must be an existing"),
        ({"query": "only=contact:1"}, "about one contact or company"),
        ({"cadence": "hourly"}, "must be one of daily, weekly, monthly"),
        ({"day": "7"}, "must be from 0 to 6"),
        ({"cadence": "monthly", "day": "0"}, "must be from 1 to 31"),
        ({"hour": "24"}, "must be from 0 to 23"),
        ({"channels": "999"}, "at least one existing"),
    ],
)
def test_what_cannot_be_scheduled(owner: Person, space_id: int, fields: dict[str, str], rule: str) -> None:
    add_channel(owner, space_id)
    page = make_page(space_id)
    answer = owner.browser.fill(
        page, f"{page}/reports/schedule", **{"name": "Weekly", **fields}
    )  # fmt: skip
    assert answer.status_code == 422
    assert rule in answer.text


def test_a_saved_view_is_scheduled(owner: Person, space_id: int) -> None:
    add_channel(owner, space_id)
    base = f"/console/spaces/{space_id}"
    page = f"{base}?period=last%207%20days"
    owner.browser.fill(page, f"{base}/views/save", name="Last week")
    form = owner.browser.get(make_page(space_id)).text
    (view,) = re.findall(r'<option value="(\d+)">Last week', form)
    action = f"{make_page(space_id)}/reports/schedule"
    answer = owner.browser.fill(make_page(space_id), action, view=view)
    assert "<bdi>Last week</bdi>" in answer.text
    assert "every Monday at 07:00" in answer.text


def test_viewers_see_and_change_nothing(person: Callable[..., Person], stage: Stage, space_id: int) -> None:
    put_alert(stage)
    add_channel(person(Role.ADMIN), space_id)
    text = person(Role.VIEWER).browser.get(make_page(space_id)).text
    assert "Visits stopped" in text
    assert "hooks.example" in text
    for word in ("Add a channel", "Acknowledge", "/channels/test", "Schedule a report"):
        assert word not in text


def test_names_are_text(owner: Person, stage: Stage, space_id: int) -> None:
    put_alert(stage, title=HOSTILE, cause=HOSTILE)
    put_alert(stage, "source_visits_fell", "email", title=HOSTILE, ended_at=datetime.now(UTC))
    add_channel(owner, space_id, name=HOSTILE)
    text = owner.browser.get(make_page(space_id)).text
    assert "<script>alert" not in text
    assert text.count("&lt;script&gt;alert") >= 4
