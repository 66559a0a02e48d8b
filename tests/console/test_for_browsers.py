"""Addresses that a person may open although they are for programs, or lead nowhere."""

from __future__ import annotations

import pytest

from tests.console.browsing import Browser, Forms
from tests.console.conftest import Person

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.mark.parametrize("path", ["/nonsense", "/docs/nothing", "/x/y/z"])
def test_people_get_a_page_where_nothing_is(browser: Browser, path: str) -> None:
    page = browser.client.get(path, headers=HTML)
    assert page.status_code == 404
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert "There is nothing here" in page.text
    program = browser.client.get(path)
    assert program.status_code == 404
    assert program.json() == {"message": "Not Found."}


def test_the_api_answers_json_to_everybody(browser: Browser) -> None:
    answer = browser.client.get("/public-api/v1/nonsense", headers=HTML)
    assert (answer.status_code, answer.json()) == (404, {"message": "Not Found."})


def test_an_assistants_address_explains_itself(browser: Browser, space_id: int) -> None:
    path = f"/mcp/{space_id}/public-api"
    page = browser.client.get(path, headers=HTML)
    assert page.status_code == 200
    assert "This address is for your assistant" in page.text
    assert f"{browser.client.base_url}{path}".replace("//mcp", "/mcp") in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    nobodys = browser.client.get("/mcp/999999999/public-api", headers=HTML)
    assert nobodys.text.replace("999999999", str(space_id)) == page.text
    program = browser.client.get(path, headers={"Accept": "text/event-stream"})
    assert program.status_code == 401


def test_there_is_an_icon(browser: Browser) -> None:
    icon = browser.client.get("/favicon.ico")
    assert (icon.status_code, icon.headers["content-type"]) == (200, "image/svg+xml")
    assert 'href="/favicon.ico"' in browser.get("/login").text


@pytest.mark.parametrize(
    ("form", "page"),
    [
        ("/settings", "/settings"), ("/keys/create", "/keys"), ("/members/invite", "/members"),
        ("/nothing/at/all", ""),
    ],
)  # fmt: skip
def test_a_session_that_ended_leads_back_to_the_form(
    owner: Person, space_id: int, form: str, page: str
) -> None:
    base = f"/console/spaces/{space_id}"
    owner.browser.client.cookies.clear()
    answer = owner.browser.client.post(base + form, data={"name": "typed"})
    if form == "/nothing/at/all":
        assert answer.status_code == 404
        return
    assert answer.status_code == 303
    back = answer.headers["location"]
    assert back == f"/login?next={base}{page}%3Fagain"
    shown = owner.browser.get(back)
    (login,) = Forms(shown.text).forms
    assert dict(login.fields)["next"] == f"{base}{page}?again"
