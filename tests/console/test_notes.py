"""Notes on days: marked in the revenue chart, listed below it, changed and deleted by forms."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from html import unescape

import httpx
import psycopg
import pytest

from headwater.console.report_pages.charts import chart_notes
from headwater.spaces.accounts.roles import Role
from tests.conftest import Running
from tests.console.browsing import Forms
from tests.console.conftest import Person
from tests.console.test_channels import HOSTILE, order
from tests.console.test_share_links import share
from tests.support.factories import Stage

TODAY = datetime.now(UTC).date()


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    stage = Stage(connection, space_id, "")
    order(stage, "google_ads", "100.50")
    return stage


def add(person: Person, space_id: int, text: str, days_ago: int = 1) -> httpx.Response:
    page = f"/console/spaces/{space_id}/notes"
    day = (TODAY - timedelta(days=days_ago)).isoformat()
    return person.browser.fill(page, f"{page}/add", day=day, text=text)


def marks(page: str) -> list[str]:
    return re.findall(r'<text x="[\d.]+%" y="14">([^<]+)<title>', page)


def list_notes(page: str) -> list[str]:
    match = re.search(r'id="notes">(.*?)<details>', page, re.DOTALL)
    return [unescape(text) for text in re.findall(r"<bdi>(.*?)</bdi>", match[1])] if match else []


@pytest.mark.usefixtures("stage")
def test_it_works(owner: Person, space_id: int) -> None:
    """A note is added on the chart's page, which is shown again afterwards; then changed and deleted."""
    base, view = f"/console/spaces/{space_id}", "?attribution_model=linear&period=last+7+days"
    day = (TODAY - timedelta(days=2)).isoformat()
    page = owner.browser.fill(f"{base}{view}", f"{base}/notes/add", day=day, text=f"  {HOSTILE}  relaunch ")
    assert page.status_code == 200
    assert dict(page.url.params) == {
        "attribution_model": "linear", "period": "last 7 days",
    }  # fmt: skip
    assert "Note added" in page.text
    assert marks(page.text) == ["1"]
    assert page.text.count('class="note-line"') == 1
    assert list_notes(page.text)[0] == f"{HOSTILE} relaunch"
    assert "by <bdi>owner 1</bdi>" in page.text
    assert HOSTILE not in page.text
    link = re.search(rf'href="({base}/notes/\d+)"', page.text)
    assert link is not None
    note = link[1]
    answer = owner.browser.fill(note, f"{note}/change", text="Relaunch")
    assert "The note is changed." in answer.text
    assert "changed by <bdi>owner 1</bdi>" in answer.text
    assert "Relaunch" in answer.text
    assert "The note is deleted." in owner.browser.fill(note, f"{note}/remove").text
    assert owner.browser.get(note).status_code == 404
    assert 'class="note-line"' not in owner.browser.get(f"{base}{view}").text


def test_a_note_that_was_deleted_while_it_was_changed(owner: Person, space_id: int) -> None:
    """The typed text is offered as a new note."""
    page = f"/console/spaces/{space_id}/notes"
    link = re.search(rf'href="({page}/\d+)"', add(owner, space_id, "Relaunch").text)
    assert link is not None
    change = owner.browser.form(link[1], f"{link[1]}/change")
    owner.browser.fill(link[1], f"{link[1]}/remove")
    answer = owner.browser.send(change, text="Relaunch of the shop")
    assert answer.status_code == 422
    new_note = next(form for form in Forms(answer.text).forms if form.action == f"{page}/add")
    assert dict(new_note.fields)["text"] == "Relaunch of the shop"
    assert "Relaunch of the shop" in owner.browser.send(new_note).text


@pytest.mark.usefixtures("stage")
@pytest.mark.parametrize("view", ["", "?attribution_model=linear"])
def test_a_note_below_the_chart_of_channels_returns_there(owner: Person, space_id: int, view: str) -> None:
    base = f"/console/spaces/{space_id}"
    page = owner.browser.fill(f"{base}/channels{view}", f"{base}/notes/add", text="relaunch")
    assert page.url.path == f"{base}/channels"
    assert f"?{page.url.query.decode()}".rstrip("?") == view
    assert list_notes(page.text)[0] == "relaunch"


def test_notes_of_one_step_share_a_mark(owner: Person, stage: Stage, space_id: int) -> None:
    """Marks are numbered by day. A year has a mark for each month or week; an hourly chart has no marks, but
    still lists the notes.
    """
    for text, days_ago in (("c", 1), ("a", 3), ("b", 3), ("long ago", 800)):
        add(owner, space_id, text, days_ago)
    base = f"/console/spaces/{space_id}/channels"
    page = owner.browser.get(f"{base}?period=last+7+days").text
    assert marks(page) == ["1", "3"]
    assert [text for text in list_notes(page) if len(text) == 1] == ["a", "b", "c"]
    assert "long ago" not in page
    year = f"start_date={TODAY - timedelta(days=365)}&end_date={TODAY}"
    weeks = owner.browser.get(f"{base}?{year}").text
    assert "by channel and week" in weeks
    assert marks(weeks)
    assert len(list_notes(weeks)) == 6, "three texts and their authors"
    order(stage, "email", "1", days=1)
    hours = owner.browser.get(f"{base}?period=yesterday").text
    assert "by channel and hour" in hours
    assert not marks(hours)
    assert list_notes(hours)[0] == "c"


@pytest.mark.usefixtures("stage")
def test_the_marks_of_a_chart_of_20_days_are_numbered(owner: Person, space_id: int) -> None:
    """Numbers nearer than a twentieth of the width would cover each other on a phone."""
    for days_ago in (1, 2, 3):
        add(owner, space_id, "Sale", days_ago)
    chart = f"/console/spaces/{space_id}/channels?end_date={TODAY}"
    for days_before, numbers in ((19, ["1", "2", "3"]), (20, ["1", "3"])):
        page = owner.browser.get(f"{chart}&start_date={TODAY - timedelta(days=days_before)}")
        assert marks(page.text) == numbers


@pytest.mark.parametrize(
    ("day", "text", "rule"),
    [
        ("2026-05-31", "", "Enter a note of 1 to 200 characters."),
        ("2026-05-31", "x" * 201, "Enter a note of 1 to 200 characters."),
        ("2026-05-31", "a\u202eb", "Remove the control characters."),
        ("31.05.2026", "Sale", "Enter a day of this century"),
        ("1999-12-31", "Sale", "Enter a day of this century"),
        ("", "Sale", "Enter a day of this century"),
    ],
)
def test_bad_notes_are_refused(owner: Person, space_id: int, day: str, text: str, rule: str) -> None:
    page = f"/console/spaces/{space_id}/notes"
    answer = owner.browser.fill(page, f"{page}/add", day=day, text=text)
    assert answer.status_code == 422
    assert rule in answer.text
    assert f'value="{text}"' in answer.text, "what was typed is still there"
    assert "No notes yet." in owner.browser.get(page).text


def test_no_more_than_there_may_be_and_pages(
    owner: Person, space_id: int, monkeypatch: pytest.MonkeyPatch, connection: psycopg.Connection
) -> None:
    connection.execute(
        "INSERT INTO chart_notes (space_id, day, text)"
        " SELECT %s, date '2026-01-01' + n, 'note ' || n FROM generate_series(1, 60) n",
        (space_id,),
    )
    page = f"/console/spaces/{space_id}/notes"
    first, second = owner.browser.get(page).text, owner.browser.get(f"{page}?page=2").text
    assert "note 60<" in first
    assert "note 10<" not in first
    assert "note 10<" in second
    assert "a former member" in second
    for odd in ("0", "-1", "x", "99999", "11"):
        assert owner.browser.get(f"{page}?page={odd}").status_code == 200
    monkeypatch.setattr(chart_notes, "MOST_NOTES", 60)
    assert "There are 60 notes" in add(owner, space_id, "one too many").text


@pytest.mark.usefixtures("stage")
def test_a_chart_lists_the_latest_notes_and_says_when_there_are_more(
    owner: Person, space_id: int, connection: psycopg.Connection
) -> None:
    """Twenty are listed; the twenty-first replaces the oldest."""
    chart = f"/console/spaces/{space_id}/channels?period=last+7+days"
    connection.execute(
        "INSERT INTO chart_notes (space_id, day, text)"
        " SELECT %s, %s::date - (n = 0)::int, 'note ' || n FROM generate_series(0, 19) n",
        (space_id, TODAY - timedelta(days=1)),
    )
    full = owner.browser.get(chart).text
    assert "note 0" in list_notes(full)
    assert "latest 20 notes" not in full
    add(owner, space_id, "one more")
    chart_text = owner.browser.get(chart).text
    assert "latest 20 notes" in chart_text
    assert "note 0" not in list_notes(chart_text)
    assert {"note 1", "one more"} <= {*list_notes(chart_text)}


def test_roles(person: Callable[..., Person], space_id: int) -> None:
    """Owners and admins write; a viewer reads."""
    page = f"/console/spaces/{space_id}/notes"
    assert add(person(Role.ADMIN), space_id, "By Ada").status_code == 200
    viewer = person(Role.VIEWER)
    text = viewer.browser.get(page).text
    assert "By Ada" in text
    assert "Add note" not in text
    link = re.search(rf'href="({page}/\d+)"', text)
    assert link is not None
    assert "<form" not in viewer.browser.get(link[1]).text.partition("<main")[2]


def test_a_form_of_a_space_that_its_sender_has_left(
    person: Callable[..., Person], space_id: int, connection: psycopg.Connection
) -> None:
    """The page does not say that its address was mistyped: a form has none."""
    admin, page = person(Role.ADMIN), f"/console/spaces/{space_id}/notes"
    form = admin.browser.form(page, f"{page}/add")
    connection.execute("DELETE FROM memberships WHERE user_id = %s", [admin.user.id])
    answer = admin.browser.send(form, text="Relaunch")
    assert answer.status_code == 404
    assert "mistyped" not in answer.text


def test_another_space(person: Callable[..., Person], space_id: int, make_space: Callable[..., int]) -> None:
    add(person(), space_id, "Secret")
    other_space_id = make_space()
    stranger = person(Role.OWNER, other_space_id)
    notes_text = person().browser.get(f"/console/spaces/{space_id}/notes").text
    link = re.search(r"/notes/(\d+)\"", notes_text)
    assert link is not None
    assert stranger.browser.get(f"/console/spaces/{other_space_id}/notes/{link[1]}").status_code == 404
    assert "Secret" not in stranger.browser.get(f"/console/spaces/{other_space_id}/notes").text


@pytest.mark.usefixtures("stage")
def test_a_share_link_has_them_only_when_chosen(owner: Person, space_id: int, server: Running) -> None:
    """Without their authors, and without any link."""
    add(owner, space_id, "Ada left")

    def open_shared(**fields: str) -> str:
        return httpx.get(server.base_url + share(owner, space_id, **fields)).text

    assert "Ada left" not in open_shared()
    assert 'class="note-line"' not in open_shared()
    with_notes = open_shared(notes="yes")
    assert list_shared_notes(with_notes) == ["Ada left"]
    assert "owner 1" not in with_notes
    assert "/notes" not in with_notes
    assert "Ada left" not in open_shared(notes="yes", report="/models")
    assert "with notes" in owner.browser.get(f"/console/spaces/{space_id}/share-links").text


def list_shared_notes(page: str) -> list[str]:
    match = re.search(r'id="notes">(.*?)</ol>', page, re.DOTALL)
    return re.findall(r"<bdi>(.*?)</bdi>", match[1]) if match else []
