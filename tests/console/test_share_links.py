"""Share links: one page for anyone who has the link, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields as view_fields
from urllib.parse import quote

import httpx
import psycopg
import pytest

from headwater.console.overview_page.overview import STACK
from headwater.console.overview_page.tiles import TILE
from headwater.console.report_pages import models, paths, share_links
from headwater.console.report_pages.bar import SHAREABLE
from headwater.console.report_pages.breakdown import OPEN
from headwater.console.report_pages.view import NEW_FILTER, NEW_KEY, ReportView
from headwater.reports.questions import paths as path_question
from headwater.reports.questions import report
from headwater.spaces.accounts.roles import Role
from tests.conftest import Running
from tests.console.browsing import Browser
from tests.console.conftest import Person
from tests.console.tables import PageTables
from tests.console.test_channels import HOSTILE, order
from tests.support.campaigns import pick_share
from tests.support.factories import Stage

PARAMETERS = (
    "conversion=any", "period=today", "start_date=2020-01-01&end_date=2020-12-31", "compare=none",
    "attribution_model=linear", "attribution_window=0", "query_mode=company", "date_basis=touch",
    "only=contact:1", "only=channel:email", "filter=contact&key=1", "open=paid", "models=linear",
    "base=linear", "group=landing_page", "sort=amount", "steps=channel", "credit=all", "q=a",
    "page=/events", "query=period%3Dtoday", "space_id=1", "cursor=x", "per_page=1",
)  # fmt: skip


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id, "")


@pytest.fixture
def guest(server: Running) -> Callable[[str], httpx.Response]:
    def get(path: str) -> httpx.Response:
        return httpx.get(server.base_url + path, headers={"Accept": "text/html"})

    return get


def share(person: Person, space_id: int, name: str = "For Ada", **fields: str) -> str:
    """Create a link, and return its path."""
    page = f"/console/spaces/{space_id}/share-links"
    answer = person.browser.fill(page, f"{page}/create", name=name, **fields)
    assert answer.status_code == 200, answer.text
    link = re.search(r"(/shared/[\w-]{43})<", answer.text)
    assert link is not None, answer.text
    return link[1]


def test_it_works(owner: Person, stage: Stage, space_id: int, guest: Callable[[str], httpx.Response]) -> None:
    order(stage, "google_ads", "100.50", campaign_id="c1", campaign_name=HOSTILE)
    query = "attribution_model=linear&open=paid&open=paid/google_ads"
    path = share(owner, space_id, HOSTILE, report=f"/channels?{query}")
    answer = guest(path)
    assert answer.status_code == 200
    page, own_answer = (
        PageTables(answer.text),
        owner.browser.get(f"/console/spaces/{space_id}/channels?{query}"),
    )
    console_page = PageTables(own_answer.text)
    assert page.headlines["Revenue"].value == "100.5"
    for name in ("channels", "course"):
        values = [[cell.value for cell in row] for row in page.tables[name]]
        assert values == [[cell.value for cell in row] for row in console_page.tables[name]]
    assert "Credit by linear" in answer.text
    assert HOSTILE not in answer.text
    assert answer.text.count("&lt;script&gt;") >= 2, "the campaign, and the link's own name"
    assert re.findall(r'href="([^"]+)"', answer.text)[2:] == ["#content"]
    assert "<form" not in answer.text
    assert answer.headers["referrer-policy"] == "no-referrer"
    list_text = owner.browser.get(f"/console/spaces/{space_id}/share-links").text
    assert "For Ada" not in list_text
    assert "owner 1" in list_text


def every_parameter() -> list[str]:
    """Return the parameters above, and one for each parameter name of pages and reports, including future
    ones.
    """
    model_parameters = (models._MODELS, models._BASE, models._GROUP, models._ORDER)
    table_parameters = {"columns", "order", "unpaid", "figure", TILE, STACK}
    report_parameters = (*report.PARAMETERS, *path_question.PARAMETERS)
    names = {field.name for field in view_fields(ReportView)} | {NEW_FILTER, NEW_KEY, OPEN}
    names |= {parameter.name for parameter in (*model_parameters, paths._STEPS, *report_parameters)}
    names |= table_parameters
    assert len(names) > 25
    return [*PARAMETERS, *(f"{name}=1" for name in sorted(names))]


@pytest.mark.parametrize("page", [*SHAREABLE])
def test_no_parameter_changes_it(
    owner: Person, stage: Stage, space_id: int, guest: Callable[[str], httpx.Response], page: str
) -> None:
    contact = stage.contact(name="Ada Lovelace", email="ada@example.com")
    order(stage, "google_ads", "100.50")
    order(stage, "email", "30")
    path = share(owner, space_id, report=f"{page}?only=channel:paid" if page != "/paths" else page)
    page_text = guest(path).text
    assert "100.50" in page_text
    names = every_parameter()
    for parameter in ("&".join(names), *pick_share(names, page, 8)):
        assert guest(f"{path}?{parameter}").text == page_text, parameter
    for text in ("Ada", "ada@example.com", f"/contacts/{contact}", "/events", "/console/spaces"):
        assert text not in page_text.replace("For Ada", "")
    for end in ("/events", "/models", "/report.csv", "/", "?", "/../console"):
        assert guest(path + end).status_code in {200, 404}
    assert guest(f"{path}/events").status_code == 404


def test_revoked_expired_and_unknown_links_are_alike(
    owner: Person, space_id: int, connection: psycopg.Connection,
    guest: Callable[[str], httpx.Response],
) -> None:  # fmt: skip
    paths = [share(owner, space_id) for _ in range(2)]
    assert [guest(path).status_code for path in paths] == [200, 200]
    links = f"/console/spaces/{space_id}/share-links"
    assert owner.browser.fill(links, f"{links}/revoke").status_code == 200
    connection.execute(
        "UPDATE share_links SET expires_at = now() WHERE space_id = %s AND revoked_at IS NULL", (space_id,)
    )
    answers = [guest(path) for path in (*paths, "/shared/" + "A" * 43, "/shared/x")]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.text for answer in answers}) == 1
    _, _, heading = answers[0].text.partition("<h1>")
    assert "expired" in heading  # not a missing page: its visitor can ask for another link
    headers = {name: value for name, value in answers[0].headers.items() if name != "date"}
    for answer in answers:
        assert {name: value for name, value in answer.headers.items() if name != "date"} == headers
    assert "No links yet." in owner.browser.get(links).text


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"name": ""}, "must have 1 to 80 characters"),
        ({"report": "/events"}, "must be an existing page"),
        ({"days": "3650"}, "must be one of 7, 30"),
        ({"report": "/channels?only=contact:1"}, "about one contact or company"),
        ({"report": "/channels?filter=company&key=1"}, "about one contact or company"),
        ({"report": "/channels?x" * 2001}, "at most 2000 characters"),
    ],
)
def test_bad_share_links_are_refused(owner: Person, space_id: int, fields: dict[str, str], rule: str) -> None:
    page = f"/console/spaces/{space_id}/share-links"
    answer = owner.browser.fill(page, f"{page}/create", **{"name": "For Ada", **fields})
    assert answer.status_code == 422
    assert rule in answer.text
    assert "/shared/" not in answer.text


def test_the_view_of_a_page_is_offered(owner: Person, space_id: int) -> None:
    page = owner.browser.get(f"/console/spaces/{space_id}/paths?period=today&steps=channel").text
    query = quote("period=today&steps=channel", safe="")
    link = f"/console/spaces/{space_id}/share-links?page=%2Fpaths&amp;query={query}"
    assert link in page
    form = owner.browser.get(link.replace("&amp;", "&")).text
    assert '<option value="/paths?period=today&amp;steps=channel" selected>' in form


def test_a_saved_view_can_be_shared(
    owner: Person, stage: Stage, space_id: int, guest: Callable[[str], httpx.Response]
) -> None:
    order(stage, "google_ads", "100.50")
    page = f"/console/spaces/{space_id}/channels?only=channel:email"
    view = owner.browser.fill(page, f"/console/spaces/{space_id}/views/save", name="E-mail").url.path
    assert view.endswith("/channels")
    form = owner.browser.get(f"/console/spaces/{space_id}/share-links").text
    (report,) = re.findall(r'<option value="([^"]+)">E-mail \(Channels\)', form)
    assert "100.50" not in guest(share(owner, space_id, report=report.replace("&amp;", "&"))).text


def test_no_more_than_there_may_be(owner: Person, space_id: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share_links, "MOST_LINKS", 1)
    share(owner, space_id)
    page = f"/console/spaces/{space_id}/share-links"
    answer = owner.browser.fill(page, f"{page}/create", name="B")
    assert "there are 1 links" in answer.text


def test_viewers_see_them_and_make_none(person: Callable[..., Person], space_id: int) -> None:
    share(person(Role.ADMIN), space_id, "For Bob")
    page = person(Role.VIEWER).browser.get(f"/console/spaces/{space_id}/share-links").text
    assert "For Bob" in page
    assert "Create link" not in page
    assert "Revoke" not in page


def test_another_space_is_not_in_it(
    owner: Person, space_id: int, make_space: Callable[..., int], connection: psycopg.Connection,
    guest: Callable[[str], httpx.Response],
) -> None:  # fmt: skip
    order(Stage(connection, make_space(), ""), "google_ads", "777")
    assert "777" not in guest(share(owner, space_id)).text


def test_guests_are_not_logged_in(browser: Browser, owner: Person, space_id: int) -> None:
    assert browser.get(share(owner, space_id)).status_code == 200
    assert browser.get("/console", follow=False).status_code == 303
