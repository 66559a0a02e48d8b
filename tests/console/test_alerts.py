"""The alerts page: open and ended alerts, rules and channels."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

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
    """Store an alert with its first transition."""
    fields = {"title": "Visits stopped", "cause": "The tag is gone.", "ended_at": None, **columns}
    row = stage.connection.execute(
        "INSERT INTO alerts (space_id, rule, subject, title, cause, began, opened_at, ended_at)"
        " VALUES (%s, %s, %s, %s, %s, '2026-05-13 10:00', '2026-05-13 11:00Z', %s) RETURNING id",
        (stage.space_id, rule, subject, fields["title"], fields["cause"], fields["ended_at"]),
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


def rules_page(space_id: int) -> str:
    return f"{make_page(space_id)}/rules"


def reports_page(space_id: int) -> str:
    return f"{make_page(space_id)}/reports"


def add_channel(person: Person, space_id: int, **fields: str) -> str:
    """Add a channel, and return the page after it."""
    values = {"kind": "webhook", "name": "Team", "address": "https://hooks.example/T1/secret", **fields}
    action = f"{make_page(space_id)}/channels/create"
    return person.browser.fill(rules_page(space_id), action, **values).text


def test_it_works(owner: Person, stage: Stage, space_id: int) -> None:
    """An alert is on every page, can be acknowledged, and is listed in the history when it has ended."""
    alert = put_alert(stage)
    put_alert(stage, "orders_fell", title="Orders fell", ended_at=datetime.now(UTC))
    for end in ("/members", "/setup"):
        assert "Visits stopped" in owner.browser.get(f"/console/spaces/{space_id}{end}").text
    text = owner.browser.get(make_page(space_id)).text
    assert "The tag is gone." in text
    assert "0 in an hour, usually 19 to 41" in text
    assert text.index("Visits stopped") < text.index("Orders fell")
    form = owner.browser.form(make_page(space_id), f"{make_page(space_id)}/acknowledge")
    answer = owner.browser.send(form)
    assert "be notified again until" in answer.text
    assert "Marked as seen" in answer.text
    assert "by <bdi>owner 1</bdi>" in answer.text
    assert f'name="alert" value="{alert}"' not in answer.text
    again = owner.browser.send(form).text
    assert "be notified again until" not in again
    assert "Marked as seen" in again


def test_the_history_writes_figures_like_the_title(owner: Person, stage: Stage, space_id: int) -> None:
    """A range that contains the figure would not explain the alert."""
    alert_id = put_alert(stage)
    stage.connection.execute(
        "UPDATE alert_steps SET usual_low = 0 WHERE space_id = %s AND alert_id = %s", (space_id, alert_id)
    )
    assert "0 in an hour, usually about 30" in owner.browser.get(make_page(space_id)).text


def test_nothing_is_wrong(owner: Person, space_id: int) -> None:
    for page, words in (
        (make_page, "Nothing is wrong."), (make_page, "No alert has ended yet."),
        (rules_page, "No rules of your own yet"), (rules_page, "Alerts are shown only here"),
        (rules_page, "HEADWATER_SMTP_URL"), (reports_page, "No scheduled reports yet"),
    ):  # fmt: skip
        assert words in owner.browser.get(page(space_id)).text


def test_a_problem_of_this_moment_is_there_at_once(owner: Person, stage: Stage, space_id: int) -> None:
    destination = stage.destination(status="held", status_reason=HOSTILE)
    text = owner.browser.get(make_page(space_id)).text
    assert "connection expired: 0 conversions not sent" in text
    assert f'href="/console/spaces/{space_id}/platforms/{destination}"' in text
    assert "<script>alert" not in text


def test_a_recorded_problem_is_listed_once(owner: Person, stage: Stage, space_id: int) -> None:
    recorded, fresh = (stage.destination(status="held") for _ in range(2))
    alert_id = put_alert(stage, "destination_held", str(recorded), title="TikTok Ads is held")
    items = re.findall(
        "<li[^>]*>(?:<h3>|\\s*<h3>).*?</li>", owner.browser.get(make_page(space_id)).text, re.DOTALL
    )
    assert [f"/platforms/{recorded}" in item for item in items] == [False, True]
    assert f"/platforms/{fresh}" in items[0]
    assert f'id="alert-{alert_id}"' in items[1]


def test_rules_are_chosen(owner: Person, stage: Stage, space_id: int) -> None:
    page = rules_page(space_id)
    action = f"{page}/built-in"
    answer = owner.browser.fill(
        page, action, hidden_values={"rule": "visits_fell"}, sensitivity="low", mute="7"
    )
    assert "muted until" in answer.text
    assert ", low sensitivity" in answer.text
    form = owner.browser.form(page, action, rule="visits_fell")
    form.fields = [pair for pair in form.fields if pair[0] != "is_on"]
    assert "off, low sensitivity" in owner.browser.send(form).text
    refusal = owner.browser.send(form, rule="nothing")
    assert refusal.status_code == 422
    (row,) = stage.connection.execute(
        "SELECT is_on, muted_until > now() + interval '6 days' FROM alert_rules"
        " WHERE space_id = %s", (space_id,),
    ).fetchall()  # fmt: skip
    assert row == (False, True)


def change_page(person: Person, space_id: int) -> str:
    """Return the address of the form of the only rule."""
    page = rules_page(space_id)
    (link,) = re.findall(rf'href="({page}\?change=[0-9]+)', person.browser.get(page).text)
    return link


def test_a_rule_of_ones_own(owner: Person, stage: Stage, space_id: int) -> None:
    """A rule such as "ROAS of Meta below 2" takes three selects and a number; it can be changed, muted and
    deleted.
    """
    page = rules_page(space_id)
    form = owner.browser.form(page, f"{page}/create")
    text = owner.browser.send(form, filter="platform:meta", threshold="2").text
    assert "<bdi>ROAS of Meta ads is below 2</bdi>" in text
    assert "Not checked yet" in text
    ((rule_id,),) = stage.connection.execute(
        "SELECT id FROM custom_alert_rules WHERE space_id = %s", (space_id,)
    ).fetchall()
    put_alert(stage, "custom", f"{rule_id}", title="ROAS of Meta ads is below 2", cause="1.5.")
    assert "alert open" in owner.browser.get(page).text
    assert "Compare the figure with its report" in owner.browser.get(make_page(space_id)).text
    assert "ROAS of Meta ads is below 2" in owner.browser.get(f"/console/spaces/{space_id}").text
    change = owner.browser.form(f"{page}?change={rule_id}", f"{page}/change", rule=f"{rule_id}")
    assert ("filter", "platform:meta") in change.fields
    changed_text = owner.browser.send(change, condition="above", threshold="4.5", days="30").text
    assert "<bdi>ROAS of Meta ads is above 4.5</bdi>" in changed_text
    assert "the last 30 full days" in changed_text
    assert "alert open" not in changed_text
    assert "muted until" in owner.browser.fill(page, f"{page}/mute", mute="7").text
    assert "No rules of your own yet" in owner.browser.fill(page, f"{page}/delete").text


@pytest.mark.parametrize(
    ("measure", "condition"), [("roas", "platform:meta"), ("revenue", "source:email"), ("spend", "")]
)
def test_the_figure_of_a_rule_leads_to_its_report(
    owner: Person, stage: Stage, space_id: int, measure: str, condition: str
) -> None:
    page = rules_page(space_id)
    form = owner.browser.form(page, f"{page}/create")
    created = owner.browser.send(form, measure=measure, filter=condition, threshold="2", days="7")
    assert created.status_code == 200
    stage.connection.execute(
        "UPDATE custom_alert_rules SET checked_at = now(), figure = 1.5 WHERE space_id = %s", (space_id,)
    )
    (link,) = re.findall(r'data-label="now"><a href="([^"]*)"', owner.browser.get(page).text)
    report = owner.browser.get(html.unescape(link))
    assert report.status_code == 200
    today = datetime.now(UTC).date()
    for day in (today - timedelta(days=7), today - timedelta(days=1)):
        assert f'value="{day}"' in report.text
    links = re.findall(r'href="[^"]*[?;]only=([^"&]*)', report.text)
    assert not condition or quote(condition) in links


def test_a_rule_about_spend_without_orders(owner: Person, space_id: int) -> None:
    page = rules_page(space_id)
    form = owner.browser.form(page, f"{page}/create", rule="spend")
    refusal = owner.browser.send(form, threshold="0", group_by="campaign")
    assert refusal.status_code == 422
    assert "must be above 0" in refusal.text
    form = owner.browser.form(page, f"{page}/create", rule="spend")
    text = owner.browser.send(form, threshold="50", group_by="campaign").text
    assert re.search("A campaign spent 50.00 [A-Z]{3} or more without orders", text)


def test_a_rule_keeps_the_filter_of_a_removed_source(owner: Person, stage: Stage, space_id: int) -> None:
    page = rules_page(space_id)
    stage.network("taboola_ads", platform="taboola")
    form = owner.browser.form(page, f"{page}/create")
    owner.browser.send(form, filter="source:taboola_ads", threshold="2")
    stage.connection.execute("UPDATE paid_networks SET removed_at = now() WHERE space_id = %s", (space_id,))
    change = change_page(owner, space_id)
    assert (
        "ROAS of Taboola ads is below 3" in owner.browser.fill(change, f"{page}/change", threshold="3").text
    )


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"measure": "nothing"}, "The measure must be a figure from the list."),
        ({"condition": "near"}, "The condition must be one of"),
        ({"threshold": ""}, "The threshold must be a number"),
        ({"threshold": "2,5"}, "The threshold must be a number"),
        ({"threshold": "1e9"}, "The threshold must be a number"),
        ({"threshold": "NaN"}, "The threshold must be a number"),
        ({"threshold": "٣"}, "The threshold must be a number"),
        ({"days": "8"}, "The days must be one of 1, 7, 30."),
        ({"filter": "platform:nothing"}, "The filter must be a platform"),
        ({"filter": "contact:1"}, "The filter must be a platform"),
        ({"filter": HOSTILE}, "The filter must be a platform"),
    ],
)
def test_bad_rules_are_refused(owner: Person, space_id: int, fields: dict[str, str], rule: str) -> None:
    page = rules_page(space_id)
    form = owner.browser.form(page, f"{page}/create")
    answer = owner.browser.send(form, **{"threshold": "2", **fields})
    assert answer.status_code == 422
    assert rule in answer.text


def test_rules_of_another_space_are_not_found(owner: Person, space_id: int) -> None:
    page = rules_page(space_id)
    owner.browser.send(owner.browser.form(page, f"{page}/create"), threshold="2")
    rule_page = change_page(owner, space_id)
    for action in ("change", "mute", "delete"):
        form = owner.browser.form(rule_page, f"{page}/{action}")
        assert owner.browser.send(form, rule="999999999").status_code == 404


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
    page, action = rules_page(space_id), f"{make_page(space_id)}/channels/change"
    answer = owner.browser.fill(page, action, name="Nobody", rules=[])
    assert "no alerts" in answer.text
    removal_text = owner.browser.fill(page, action, hidden_values={"remove": "yes"}).text
    assert "its address are deleted" in removal_text
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
        ({"kind": "email", "address": "=?utf-8?q?x?=@b.example"}, "must be a deliverable address"),
        ({"kind": "email", "address": "a@b.example\nBcc: c@d.example"}, "valid e-mail address"),
        ({"kind": "pigeon"}, "must be email or webhook"),
        ({"rules": "nothing"}, "must be existing alert rules"),
    ],
)
def test_bad_channels_are_refused(owner: Person, space_id: int, fields: dict[str, str], rule: str) -> None:
    text = add_channel(owner, space_id, **fields)
    assert rule in text
    assert "T1/secret" not in text, "an address that may be a secret is not shown again"


def test_no_more_channels_than_there_may_be(
    owner: Person, space_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channels, "MOST_CHANNELS", 1)
    add_channel(owner, space_id)
    assert "there are 1 channels" in add_channel(owner, space_id)


def test_a_test_that_cannot_go_out(owner: Person, space_id: int) -> None:
    """If there is no mail server, or the webhook's address is on this machine, the page says what to do."""
    page, action = rules_page(space_id), f"{make_page(space_id)}/channels/test"
    add_channel(owner, space_id, address="https://127.0.0.1/hook")
    text = owner.browser.fill(page, action).text
    assert "The test failed: <bdi>127.0.0.1 has an address that is" in text
    assert "Check the address of the webhook." in text
    assert "The last message" in owner.browser.get(page).text
    add_channel(owner, space_id, kind="email", name="Me", address=owner.user.email)
    form = owner.browser.forms(page)
    tests = [test_form for test_form in form if test_form.action.startswith(action)]
    assert "No mail server is configured" in owner.browser.send(tests[1]).text


def test_somebody_elses_address_agrees_first(
    owner: Person, browser: Browser, stage: Stage, space_id: int
) -> None:
    text = add_channel(owner, space_id, kind="email", address="ada@elsewhere.example")
    assert "waiting for the recipient" in text
    page = rules_page(space_id)
    test_text = owner.browser.fill(page, f"{make_page(space_id)}/channels/test").text
    assert "The address is not confirmed yet" in test_text
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


def test_viewers_see_and_change_nothing(person: Callable[..., Person], stage: Stage, space_id: int) -> None:
    put_alert(stage)
    add_channel(person(Role.ADMIN), space_id)
    viewer = person(Role.VIEWER).browser
    pages = (make_page(space_id), rules_page(space_id), reports_page(space_id))
    alerts_text, rules, reports = (viewer.get(page).text for page in pages)
    assert "Visits stopped" in alerts_text
    assert "hooks.example" in rules
    for word in ("Add a channel", "Add a rule", "Mark as seen", "/channels/test", "Schedule a report"):
        assert word not in alerts_text + rules + reports


def test_names_are_text(owner: Person, stage: Stage, space_id: int) -> None:
    put_alert(stage, title=HOSTILE, cause=HOSTILE)
    put_alert(stage, "source_visits_fell", "email", title=HOSTILE, ended_at=datetime.now(UTC))
    add_channel(owner, space_id, name=HOSTILE)
    text = "".join(owner.browser.get(page(space_id)).text for page in (make_page, rules_page))
    assert "<script>alert" not in text
    assert text.count("&lt;script&gt;alert") >= 4
