"""Reports by e-mail: scheduled from their page, listed, edited, paused, sent immediately and deleted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import psycopg
import pytest

from headwater.base.settings import Settings
from headwater.console.scheduled_reports import scheduled_reports
from headwater.spaces.accounts.roles import Role
from tests.conftest import Running, run_application
from tests.console.conftest import Counting, Person
from tests.console.test_alerts import HOSTILE, add_channel, reports_page
from tests.support.commands import run_command


@pytest.fixture(scope="module")
def console(
    database_url: str, tmp_path_factory: pytest.TempPathFactory, passwords: Counting
) -> Iterator[Running]:
    """The application with a mail server that no test needs to reach."""
    folder: Path = tmp_path_factory.mktemp("scheduled")
    settings = Settings(
        rate_limit_factor=1000, data_dir=folder, smtp_url="smtp://127.0.0.1:9",
        mail_from="alerts@example.com",
    )  # fmt: skip
    application = run_application(settings, database_url, passwords)
    yield application
    application.stop()


def form_page(space_id: int, page: str = "/channels", query: str = "") -> str:
    return f"{reports_page(space_id)}/new?{urlencode({'page': page, 'query': query})}"


def schedule(person: Person, space_id: int, **fields: str | list[str]) -> str:
    """Schedule a report, and return the page after it."""
    action = f"{reports_page(space_id)}/schedule"
    return person.browser.fill(form_page(space_id), action, **fields).text


def next_times(connection: psycopg.Connection, space_id: int) -> list[datetime]:
    return [
        row[0]
        for row in connection.execute(
            "SELECT next_at FROM scheduled_reports WHERE space_id = %s ORDER BY id", (space_id,)
        ).fetchall()
    ]


def test_it_works(owner: Person, connection: psycopg.Connection, space_id: int) -> None:
    """With the form's defaults, the page's view is sent to the user every Monday at eight."""
    base = f"/console/spaces/{space_id}"
    page = owner.browser.get(f"{base}/models?period=this+year&only=channel%3Apaid&attribution_window=7").text
    (link,) = re.findall('href="([^"]+)">Schedule by e-mail<', page)
    link = link.replace("&amp;", "&")
    text = owner.browser.fill(link, f"{reports_page(space_id)}/schedule").text
    assert "every Monday at 08:00" in text
    assert "<bdi>Models</bdi>" in text
    assert f'href="{base}/models?attribution_window=7&amp;only=channel%3Apaid"' in text
    (next_at,) = next_times(connection, space_id)
    assert (next_at.weekday(), next_at.hour) == (0, 8)
    assert next_at - datetime.now(UTC) <= timedelta(days=7)
    row = connection.execute(
        "SELECT address, rules FROM channels WHERE space_id = %s", (space_id,)
    ).fetchall()
    assert row == [(owner.user.email, [])]
    schedule(owner, space_id)
    ((number,),) = connection.execute(
        "SELECT count(*) FROM channels WHERE space_id = %s", (space_id,)
    ).fetchall()
    assert number == 1, "the second report goes to the same channel"


def test_several_days_a_week(owner: Person, connection: psycopg.Connection, space_id: int) -> None:
    """They are one schedule, and editing it shows and keeps all of its days."""
    text = schedule(owner, space_id, weekdays=["3", "0", "3"], time="17:45", with_csv="yes")
    assert "every Monday and Thursday at 17:45, with CSV" in text
    (next_at,) = next_times(connection, space_id)
    assert next_at.weekday() in (0, 3)
    page = reports_page(space_id)
    (edit,) = re.findall(f'href="({page}/[0-9]+)"', text)
    assert re.findall('name="weekdays" value="([0-9])" checked', owner.browser.get(edit).text) == ["0", "3"]
    renamed_text = owner.browser.fill(edit, f"{page}/change", name="Twice a week").text
    assert "<bdi>Twice a week</bdi>" in renamed_text
    assert "every Monday and Thursday at 17:45, with CSV" in renamed_text
    changed_text = owner.browser.fill(edit, f"{page}/change", weekdays=["1", "2", "6"]).text
    assert "every Tuesday, Wednesday and Sunday at 17:45" in changed_text


def test_daily_and_monthly(owner: Person, space_id: int) -> None:
    assert "every day at 08:00" in schedule(owner, space_id, cadence="daily")
    assert "on the first of each month at 08:00" in schedule(owner, space_id, cadence="monthly")


def test_a_report_is_edited_paused_sent_and_deleted(
    owner: Person, connection: psycopg.Connection, space_id: int
) -> None:
    schedule(owner, space_id)
    page = reports_page(space_id)
    (edit,) = re.findall(f'href="({page}/[0-9]+)"', owner.browser.get(page).text)
    changed_text = owner.browser.fill(
        edit, f"{page}/change", name="Weekend", weekdays="5", time="23:59"
    ).text  # fmt: skip
    assert "<bdi>Weekend</bdi>" in changed_text
    assert "every Saturday at 23:59" in changed_text
    assert ">Paused<" in owner.browser.fill(page, f"{page}/pause").text
    assert "/send" not in owner.browser.get(page).text
    resumed = owner.browser.fill(page, f"{page}/pause").text
    assert ">Paused<" not in resumed
    (next_at,) = next_times(connection, space_id)
    assert (next_at.weekday(), next_at.hour, next_at.minute) == (5, 23, 59)
    assert "on its way" in owner.browser.fill(page, f"{page}/send").text
    (next_at,) = next_times(connection, space_id)
    assert next_at <= datetime.now(UTC)
    assert "No scheduled reports yet" in owner.browser.fill(page, f"{page}/remove").text
    assert owner.browser.get(edit).status_code == 404


def test_reports_keep_their_local_time_in_another_time_zone(
    owner: Person, connection: psycopg.Connection, space_id: int, database_url: str
) -> None:
    """Sent at the old time, a monthly report is a day early and about the month before."""
    for cadence in ("daily", "monthly"):
        schedule(owner, space_id, cadence=cadence)
    owner.browser.fill(reports_page(space_id), f"{reports_page(space_id)}/send")
    due_at, _ = next_times(connection, space_id)
    settings = f"/console/spaces/{space_id}/settings"
    owner.browser.fill(settings, settings, timezone="Pacific/Apia")
    assert next_times(connection, space_id)[0] == due_at, "a report that is due is sent"
    monthly_at = next_times(connection, space_id)[1].astimezone(ZoneInfo("Pacific/Apia"))
    assert (monthly_at.day, monthly_at.hour) == (1, 8)
    run_command(
        "space", "set", "--space", str(space_id), "timezone=America/Los_Angeles",
        HEADWATER_DATABASE_URL=database_url,
    )  # fmt: skip
    monthly_at = next_times(connection, space_id)[1].astimezone(ZoneInfo("America/Los_Angeles"))
    assert (monthly_at.day, monthly_at.hour) == (1, 8)


def test_only_figures_of_a_period_name_it(owner: Person, space_id: int) -> None:
    """The period of Cohorts selects first orders, and stays as it is."""
    assert "Every day: yesterday&#39;s figures" in owner.browser.get(form_page(space_id)).text
    assert "yesterday" not in owner.browser.get(form_page(space_id, "/cohorts")).text


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"name": ""}, "must have 1 to 80 characters"),
        ({"page": "/events"}, "must be an existing"),
        ({"query": "only=contact:1"}, "about one contact or company"),
        ({"cadence": "hourly"}, "must be one of daily, weekly, monthly"),
        ({"weekdays": "7"}, "must contain at least one day of the week"),
        ({"weekdays": []}, "must contain at least one day of the week"),
        ({"time": "24:00"}, "must be a time of day"),
        ({"time": "08:60"}, "must be a time of day"),
        ({"time": "8:30"}, "must be a time of day"),
        ({"time": ""}, "must be a time of day"),
        ({"channels": []}, "must contain at least one recipient"),
        ({"channels": "999"}, "must be existing recipients"),
        ({"channels": HOSTILE}, "must be existing recipients"),
    ],
)
def test_bad_schedules_are_refused(
    owner: Person, space_id: int, fields: dict[str, str | list[str]], rule: str
) -> None:
    action = f"{reports_page(space_id)}/schedule"
    answer = owner.browser.fill(form_page(space_id), action, **fields)
    assert answer.status_code == 422
    assert rule in answer.text
    assert "<script>alert" not in answer.text


def test_every_wrong_field_is_shown_at_once(owner: Person, space_id: int) -> None:
    action = f"{reports_page(space_id)}/schedule"
    fields: dict[str, str | list[str]] = {"name": "", "weekdays": [], "time": "25:00", "channels": []}
    answer = owner.browser.fill(form_page(space_id), action, **fields)
    assert answer.status_code == 422
    refused_fields = set(re.findall('id="([a-z]+)-refusal"', answer.text))
    assert refused_fields == {"name", "weekdays", "time", "channels"}


def test_no_more_reports_than_there_may_be(
    owner: Person, connection: psycopg.Connection, space_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduled_reports, "MOST_REPORTS", 1)
    schedule(owner, space_id)
    assert "there are 1, delete one first" in schedule(owner, space_id)
    assert len(next_times(connection, space_id)) == 1


def test_viewers_may_not_schedule(person: Callable[..., Person], space_id: int) -> None:
    schedule(person(Role.ADMIN), space_id)
    viewer = person(Role.VIEWER).browser
    text = viewer.get(reports_page(space_id)).text
    assert "every Monday at 08:00" in text
    for word in ("/pause", "/send", "/remove", "Edit"):
        assert word not in text
    assert viewer.get(form_page(space_id)).status_code == 403


def test_channels_can_be_recipients(owner: Person, space_id: int) -> None:
    add_channel(owner, space_id, name=HOSTILE)
    form = owner.browser.form(form_page(space_id), f"{reports_page(space_id)}/schedule")
    page = owner.browser.get(form_page(space_id)).text
    (channel,) = re.findall(r'name="channels" value="([0-9]+)"', page)
    text = owner.browser.send(form, channels=channel).text
    assert "&lt;script&gt;alert" in text
    assert "<script>alert" not in text
