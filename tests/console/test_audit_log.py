"""The audit log page: who changed what, with address and interface; its search and its file."""

from __future__ import annotations

import json
from collections.abc import Callable

import httpx
import psycopg
import pytest

from headwater.console.setup_pages import audit_log
from headwater.spaces.accounts.roles import Role
from tests.console.conftest import Person
from tests.support.commands import run_command


def read_log(person: Person, space_id: int, **search: str) -> list[dict[str, object]]:
    """Return the entries in the page's file, newest first."""
    answer = person.browser.client.get(f"/console/spaces/{space_id}/audit.ndjson", params=search)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def test_it_works(owner: Person, space_id: int, database_url: str, make_key: Callable[..., str]) -> None:
    keys = f"/console/spaces/{space_id}/keys"
    owner.browser.fill(keys, f"{keys}/create", name="Shop", scopes=["events:write"])
    headers = {"Authorization": f"Bearer {make_key(space_id)}"}
    account = {"settings": {"pixel_code": "PIXEL1"}, "secrets": {"access_token": "canary"}}
    body = {"platform": "tiktok", **account}
    api = f"{owner.browser.client.base_url}/public-api/v1"
    response = httpx.post(f"{api}/destinations", json=body, headers=headers, timeout=30)
    assert response.status_code == 201, response.text
    destination_id = response.json()["id"]
    httpx.post(f"{api}/destinations/{destination_id}/pause", headers=headers, timeout=30)
    run_command(
        "space", "set", "--space", str(space_id), "currency=EUR",
        HEADWATER_DATABASE_URL=database_url, SUDO_USER="grace",
    )  # fmt: skip

    currency, pause_entry, created, key = read_log(owner, space_id)
    assert (currency["way"], currency["operator"], currency["action"]) == ("command", "grace", "space set")
    assert currency["changes"] == [
        {"kind": "space", "id": str(space_id), "before": {"currency": "USD"}, "after": {"currency": "EUR"}}
    ]
    assert (pause_entry["way"], pause_entry["action"]) == ("api", "pause_destination")
    assert pause_entry["changes"] == [
        {
            "kind": "destination",
            "id": str(destination_id),
            "before": {"status": "active"},
            "after": {"status": "paused"},
        }
    ]
    (change,) = created["changes"]  # type: ignore[misc]
    assert change["after"]["secrets"] == "(hidden)"
    assert change["after"]["settings"]["pixel_code"] == "PIXEL1"
    assert (key["way"], key["action"], key["user_id"]) == ("console", "keys/create", owner.user.id)
    assert key["address"] == owner.browser.address
    assert "canary" not in json.dumps([currency, pause_entry, created, key])

    page = owner.browser.get(f"/console/spaces/{space_id}/audit").text
    for words in ("grace", "pause_destination", "Destination", "USD", "Shop", owner.browser.address):
        assert words in page
    assert [entry["action"] for entry in read_log(owner, space_id, kind="api_key")] == ["keys/create"]


def test_search(owner: Person, person: Callable[..., Person], space_id: int) -> None:
    admin = person(Role.ADMIN)
    for author, name in ((owner, "One"), (admin, "Two")):
        page = f"/console/spaces/{space_id}/notes"
        author.browser.fill(page, f"{page}/add", day="2026-05-13", text=name)
    assert [entry["user_id"] for entry in read_log(owner, space_id)] == [admin.user.id, owner.user.id]
    assert [entry["user_id"] for entry in read_log(owner, space_id, user=str(owner.user.id))] == [
        owner.user.id
    ]
    assert read_log(owner, space_id, way="api") == []
    assert read_log(owner, space_id, last_day="2020-01-01") == []
    assert len(read_log(owner, space_id, first_day="2020-01-01")) == 2
    assert len(read_log(owner, space_id, first_day="0001-01-01", last_day="9999-12-31")) == 2
    subject = read_log(owner, space_id)[0]["changes"][0]["id"]  # type: ignore[index]
    assert len(read_log(owner, space_id, kind="chart_note", subject=str(subject))) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [("first_day", "13.5."), ("way", "post"), ("kind", "cat"), ("user", "x"), ("before", "x")],
)
def test_wrong_filters(owner: Person, space_id: int, name: str, value: str) -> None:
    answer = owner.browser.client.get(f"/console/spaces/{space_id}/audit", params={name: value})
    assert answer.status_code == 422


def test_pages(
    owner: Person, space_id: int, connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.execute(
        "INSERT INTO audit_entries (space_id, way, action, kind, subject_id, changes)"
        " SELECT %s, 'api', 'a' || n, 'event', n, '[]' FROM generate_series(1, 120) n",
        (space_id,),
    )
    path, total = f"/console/spaces/{space_id}/audit", 0
    for expected in (50, 50, 20):
        page = owner.browser.get(path).text
        assert page.count('<code class="soft">a') == expected
        total += expected
        path = page.partition(">Earlier<")[0].rpartition('href="')[2].partition('"')[0].replace("&amp;", "&")
    assert total == 120
    assert len(read_log(owner, space_id)) == 120
    monkeypatch.setattr(audit_log, "MOST_IN_FILE", 70)
    assert len(read_log(owner, space_id)) == 70
    assert "the latest 70 matching" in owner.browser.get(f"/console/spaces/{space_id}/audit").text


def test_viewers_see_nothing_of_it(person: Callable[..., Person], space_id: int) -> None:
    person(Role.OWNER)
    viewer = person(Role.VIEWER)
    for end in ("audit", "audit.ndjson"):
        assert viewer.browser.get(f"/console/spaces/{space_id}/{end}").status_code == 403


def test_a_refused_action_is_not_recorded(owner: Person, space_id: int) -> None:
    page = f"/console/spaces/{space_id}/notes"
    assert owner.browser.fill(page, f"{page}/add", day="tomorrow", text="x").status_code == 422
    assert read_log(owner, space_id) == []
