"""The API's connections to ad accounts: created, shown, changed, paused, resumed, checked and deleted."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec
import pytest

from headwater.base.egress.client import Egress
from headwater.spaces.encryption import derive_key
from headwater.spend.connections import check, connections
from headwater.spend.connections.check import SpendConnectionCheck, check_credentials
from headwater.spend.platforms.platform import Credentials
from headwater.spend.platforms.registry import PLATFORMS
from tests.pulls.books import AdPlace, Books, fill
from tests.pulls.meta.pretend import TOKEN, PretendMeta, error
from tests.pulls.staging import Pulls
from tests.support.factories import Stage
from tests.support.fake_platform import FakePlatform, Silence
from tests.support.reading_fixtures import Api

DESCRIBED = {
    "platform": "meta",
    "settings": {"ad_account_id": "1234567890"},
    "secrets": {"access_token": TOKEN},
}


def create(api: Api, **members: Any) -> dict[str, Any]:
    response = api.send("POST", "/spend/connections", json={**DESCRIBED, **members})
    assert response.status_code == 201, response.text
    return response.json()


def refusal(api: Api, body: dict[str, Any]) -> dict[str, list[str]]:
    response = api.send("POST", "/spend/connections", json=body)
    assert response.status_code == 422, response.text
    assert TOKEN not in response.text
    return response.json()["errors"]


def test_it_works(api: Api) -> None:
    connection = create(api, name=" Shop ")
    assert connection.pop("created_at").endswith("Z")
    assert connection.pop("next_pull_at").endswith("Z")
    assert connection == {
        "id": connection["id"], "platform": "meta", "name": "Shop", "status": "active", "account": None,
        "settings": {"ad_account_id": "1234567890"}, "api_version": "v26.0",
        "secrets": ["access_token"], "is_pulling": False, "pulled_at": None, "failing_since": None,
        "fault": None, "message": None, "remedy": None, "history_from": None, "history_until": None,
        "history_share": 0.0,
    }  # fmt: skip
    path = f"/spend/connections/{connection['id']}"
    (listed_connection,) = api.get("/spend/connections").json()["data"]
    assert listed_connection == api.get(path).json()
    new_version = api.send("PUT", path, json={"name": "Shop 2"}).json()
    assert new_version == {**listed_connection, "name": "Shop 2"}
    paused_connection = api.send("POST", f"{path}/pause").json()
    assert (paused_connection["status"], paused_connection["next_pull_at"]) == ("paused", None)
    assert api.send("POST", f"{path}/pull").json()["status"] == "paused"
    assert api.send("POST", f"{path}/resume").json()["status"] == "active"
    assert api.send("DELETE", path).json() == {"message": "Connection deleted."}
    assert api.send("DELETE", path).status_code == 404
    assert api.get("/spend/connections").json() == {"data": []}


def test_an_update_moves_connections_without_a_version_of_their_own(
    api: Api, pulls: Pulls, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chosen version stays until it is removed from the settings."""
    unset = pulls.connect("meta", DESCRIBED["settings"], DESCRIBED["secrets"])
    settings = {"ad_account_id": "1234567890", "api_version": "v26.0"}
    connection = create(api, settings=settings)
    path = f"/spend/connections/{connection['id']}"
    api.send("POST", f"{path}/pause")
    meta = type(PLATFORMS["meta"])
    newer = msgspec.defstruct("NewerSettings", [("api_version", str, "v27.0")], bases=(meta.settings,))
    monkeypatch.setattr(meta, "settings", newer)
    with FakePlatform(default=error(100, "refused")) as platform:
        pulls.urls["meta"] = platform.url
        pulls.pull_later(unset, days=1)
        targets = [request.target for request in platform.requests]
    assert targets
    assert all(target.startswith("/v27.0/") for target in targets)
    assert api.get(f"/spend/connections/{unset}").json()["api_version"] == "v27.0"
    details = api.get(path).json()
    assert (details["api_version"], details["settings"]) == ("v26.0", settings)
    del settings["api_version"]
    assert api.send("PUT", path, json={"settings": settings}).json()["api_version"] == "v27.0"


def test_platforms(api: Api) -> None:
    platforms = {platform["name"]: platform for platform in api.get("/spend/platforms").json()["data"]}
    assert platforms.keys() == PLATFORMS.keys()
    meta = platforms["meta"]
    assert meta["limits"] == {"window_days": 28, "weekly_window_days": None, "history_days": 396}
    assert [secret["name"] for secret in meta["secrets"]] == ["access_token"]
    assert meta["settings"]["required"] == ["ad_account_id"]


def test_bad_connections_are_refused(api: Api) -> None:
    assert refusal(api, {}).keys() == {"platform"}
    assert refusal(api, {"platform": "meta"}).keys() == {"settings.ad_account_id", "secrets.access_token"}
    wrong = {"settings": {"ad_account_id": "act_x"}, "secrets": {"password": TOKEN}, "name": ""}
    assert refusal(api, {**DESCRIBED, **wrong}).keys() >= {
        "settings.ad_account_id", "secrets.password", "secrets.access_token", "name",
    }  # fmt: skip
    path = f"/spend/connections/{create(api)['id']}"
    for change in ({}, {"platform": "google"}):
        assert api.send("PUT", path, json=change).status_code == 422
    for destination in (True, "1", 0, 10**18, 999):
        assert refusal(api, {**DESCRIBED, "destination_id": destination}).keys() == {"destination_id"}


def test_a_space_has_a_bounded_number_of_connections(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 2)
    for _ in range(2):
        create(api)
    assert refusal(api, DESCRIBED).keys() == {"platform"}


def test_a_destination_lends_its_token(api: Api, stage: Stage) -> None:
    description = {"platform": "meta", "settings": {"pixel_id": "1234567890"}}
    body = {**description, "secrets": {"access_token": TOKEN}}
    destination_id = api.send("POST", "/destinations", json=body).json()["id"]
    connection = create(api, secrets={}, destination_id=destination_id)
    assert connection["secrets"] == ["access_token"]
    other_destination = stage.destination(platform="tiktok")
    assert refusal(api, {**DESCRIBED, "destination_id": other_destination}).keys() == {"destination_id"}


def test_a_pulled_connection_shows_its_account_and_its_fault(pulls: Pulls, api: Api) -> None:
    books = fill(Books(), pulls.time.date())
    with FakePlatform(default=PretendMeta(books)) as platform:
        pulls.urls["meta"] = platform.url
        connection = pulls.connect("meta", DESCRIBED["settings"], DESCRIBED["secrets"])
        pulls.pull()
    details = api.get(f"/spend/connections/{connection}").json()
    assert details["account"] == {
        "id": "1234567890", "name": "Main shop", "currency": "EUR", "timezone": "Europe/Berlin",
    }  # fmt: skip
    assert (details["fault"], details["history_share"]) == (None, 1.0)
    assert date.fromisoformat(details["history_from"]) == pulls.time.date() - timedelta(days=396)
    answer = error(190, f"Malformed access token {TOKEN}")
    with FakePlatform(default=lambda _: answer) as platform:
        pulls.urls["meta"] = platform.url
        pulls.pull_later(connection, hours=6)
    held_details = api.get(f"/spend/connections/{connection}").json()
    assert (held_details["status"], held_details["fault"], held_details["next_pull_at"]) == (
        "held",
        "token",
        None,
    )
    assert "Malformed access token" in held_details["message"]
    assert TOKEN not in held_details["message"]
    assert "Meta" in held_details["remedy"]
    update = api.send("PUT", f"/spend/connections/{connection}", json={"secrets": {"access_token": "new"}})
    assert update.json()["status"] == "active"
    pulls.stage.connection.execute(
        "UPDATE spend_connections SET secrets = %s WHERE id = %s", (derive_key("x"), connection)
    )
    pulls.pull_later(connection, hours=6)
    sealed_details = api.get(f"/spend/connections/{connection}").json()
    assert (sealed_details["status"], sealed_details["fault"]) == ("held", "token")


# ------------------------------------------------------------------------------------- checks


@pytest.fixture
def books() -> Books:
    books = Books()
    for days in range(3):
        books.spend(datetime.now(UTC).date() - timedelta(days=days), AdPlace("11", "111", "1111"), "10.00")
    return books


@pytest.fixture
def _short_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "CHECK_SECONDS", 0.3)


def check_connection(url: str, token: str = TOKEN) -> SpendConnectionCheck:
    meta = PLATFORMS["meta"]
    settings = meta.settings(**DESCRIBED["settings"])
    credentials = Credentials(space_id=1, id=0, url=url, settings=settings, secrets={"access_token": token})

    async def keep(_: str) -> None:
        raise AssertionError("Meta issues no refresh tokens")

    async def run() -> SpendConnectionCheck:
        async with Egress(["127.0.0.1"], seconds=5) as egress:
            return await check_credentials(meta, credentials, egress, keep)

    return asyncio.run(run())


def test_a_check_shows_the_account_and_its_spend(books: Books) -> None:
    with FakePlatform(default=PretendMeta(books)) as platform:
        result = check_connection(platform.url)
    assert result.ok
    assert result.account is not None
    assert (result.account.name, result.campaigns, result.remedy) == ("Main shop", 1, None)
    assert result.spend in (10, 20)  # two days, if the account's date is the clock's


def test_a_check_shows_what_is_wrong(books: Books) -> None:
    pretend = PretendMeta(books)
    limit = error(17, "User request limit reached")
    with FakePlatform(default=pretend) as platform:
        result = check_connection(platform.url, "wrong")
        assert (result.ok, result.account, result.spend) == (False, None, None)
        assert result.remedy is not None
        platform.append(pretend, limit)
        throttled_result = check_connection(platform.url)
        assert (throttled_result.ok, throttled_result.account is None, throttled_result.spend) == (
            False,
            False,
            None,
        )
        assert "limit reached" in throttled_result.message
        assert len(platform.requests) == 3


@pytest.mark.usefixtures("_short_check")
def test_a_check_of_a_silent_platform_ends() -> None:
    with FakePlatform(default=Silence()) as platform:
        result = check_connection(platform.url)
    assert (result.ok, result.account) == (False, None)
    assert "did not answer" in result.message


def test_a_stored_connection_is_checked(api: Api, pulls: Pulls) -> None:
    connection = create(api)
    before = pulls.rows()
    response = api.send("POST", f"/spend/connections/{connection['id']}/check")
    assert response.status_code == 200
    result = response.json()
    assert (result["ok"], result["account"]) == (False, None)
    assert result["remedy"]
    assert pulls.rows() == before
    pulls.stage.connection.execute(
        "UPDATE spend_connections SET secrets = %s WHERE id = %s", (derive_key("x"), connection["id"])
    )
    assert api.send("POST", f"/spend/connections/{connection['id']}/check").status_code == 422
