"""Addresses that people may open although they are for programs, or don't exist."""

from __future__ import annotations

import httpx
import psycopg
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater import app
from headwater.base.settings import Settings
from tests.conftest import run_application
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


@pytest.mark.parametrize(
    ("method", "path", "status", "title"),
    [
        ("GET", "/downloads/a/b", 403, "This is not allowed"),
        ("POST", "/nonsense", 404, "There is nothing here"),
        ("POST", "/docs", 405, "This cannot be done here"),
        ("GET", "/t", 405, "This cannot be done here"),
        ("PUT", "/healthz", 405, "This cannot be done here"),
        ("DELETE", "/login", 405, "This cannot be done here"),
        ("GET", "/mcp/oauth/token", 405, "This cannot be done here"),
    ],
)
def test_whatever_goes_wrong_is_a_page_for_people_and_json_for_programs(
    browser: Browser, method: str, path: str, status: int, title: str
) -> None:
    page = browser.client.request(method, path, headers=HTML)
    assert (page.status_code, page.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert f"<h1>{title}</h1>" in page.text
    program = browser.client.request(method, path, headers={"Accept": "application/json"})
    assert (program.status_code, program.headers["content-type"]) == (status, "application/json")
    assert set(program.json()) == {"message"}
    assert program.headers.get("allow") == page.headers.get("allow")


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("path", ["/public-api/v1/nonsense", "/webhooks/nobodys/own"])
def test_where_only_programs_go_they_get_json_whatever_they_take(
    browser: Browser, method: str, path: str
) -> None:
    """Some programs list HTML first in their default Accept header."""
    headers = {"Accept": "text/html, image/gif, image/jpeg, */*; q=.2"}
    answer = browser.client.request(method, path, headers=headers)
    assert (answer.status_code, answer.json()) == (404, {"message": "Not Found."})


def test_a_fault_and_a_missing_database_are_pages_too(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = [RuntimeError("a secret"), psycopg.OperationalError("a secret")]

    async def fail(_: Request) -> Response:
        raise failures[0]

    monkeypatch.setattr(app, "DOWNLOAD_ROUTES", [Route("/downloads/fail", fail)])
    application = run_application(Settings(), database_url)
    with httpx.Client(base_url=application.base_url) as client:
        for status, title in ((500, "Something went wrong"), (503, "Back in a moment")):
            page = client.get("/downloads/fail", headers=HTML)
            assert page.status_code == status
            assert f"<h1>{title}</h1>" in page.text
            assert "a secret" not in page.text
            program = client.get("/downloads/fail")
            assert (program.status_code, set(program.json())) == (status, {"message"})
            failures.pop(0)
    application.stop()


def test_an_assistants_address_explains_itself(browser: Browser, space_id: int) -> None:
    path = f"/mcp/{space_id}/public-api"
    page = browser.client.get(path, headers=HTML)
    assert page.status_code == 200
    assert "This address is for your assistant" in page.text
    assert f"{browser.client.base_url}{path}".replace("//mcp", "/mcp") in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    unknown_page = browser.client.get("/mcp/999999999/public-api", headers=HTML)
    assert unknown_page.text.replace("999999999", str(space_id)) == page.text
    program = browser.client.get(path, headers={"Accept": "text/event-stream"})
    assert program.status_code == 401


def test_there_is_an_icon(browser: Browser) -> None:
    icon = browser.client.get("/favicon.ico")
    assert (icon.status_code, icon.headers["content-type"]) == (200, "image/svg+xml; charset=utf-8")
    assert 'href="/favicon.ico"' in browser.get("/login").text


@pytest.mark.parametrize(
    ("form", "page"),
    [
        ("/settings", "/settings"), ("/keys/create", "/keys"), ("/members/invite", "/members"),
        ("/notes/add", "/notes"), ("/notes/7/change", "/notes/7"), ("/sites/create", "/sites"),
        ("/trained-models/automatic/train", "/trained-models"), ("/nothing/at/all", ""),
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
    login_page = owner.browser.get(back)
    (login,) = Forms(login_page.text).forms
    assert dict(login.fields)["next"] == f"{base}{page}?again"
