"""The API's destinations: created, shown, changed, paused, resumed, removed and tested."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from headwater.base.settings import Settings
from headwater.forwarding.destinations import destinations
from headwater.forwarding.destinations.credentials import open_secrets
from headwater.forwarding.destinations.inputs import read_new
from headwater.forwarding.platforms import registry
from headwater.forwarding.platforms.meta import Meta
from headwater.spaces.encryption import Unsealable, derive_key
from tests.conftest import client_for, run_application
from tests.support.destinations import (
    DESCRIBED,
    NAME,
    PIXEL,
    PROBE,
    TOKEN,
    Forwarder,
    change_platform,
    make_destination,
)
from tests.support.factories import make_stage
from tests.support.fake_platform import Answer, FakePlatform
from tests.support.reading_fixtures import Api

COLLAPSED = (
    "complete_registration, sign_up are all sent to Probe as Registration: a person with two of them counts"
    " twice."
)

pytestmark = pytest.mark.usefixtures("probe")


def create(api: Api, **members: Any) -> dict[str, Any]:
    response = api.send("POST", "/destinations", json={**DESCRIBED, **members})
    assert response.status_code == 201, response.text
    return response.json()


def refusal(api: Api, body: dict[str, Any]) -> dict[str, list[str]]:
    response = api.send("POST", "/destinations", json=body)
    assert response.status_code == 422, response.text
    assert TOKEN not in response.text
    return response.json()["errors"]


def test_it_works(api: Api) -> None:
    destination = create(api, name=" Shop ", event_names={"contact": "Contact", "purchase": None})
    assert destination.pop("created_at").endswith("Z")
    mapping = {row["event_name"]: row for row in destination.pop("mapping")}
    assert destination == {
        "id": destination["id"], "platform": NAME, "name": "Shop", "status": "active",
        "status_reason": None, "all_events": False,
        "settings": {"pixel_id": PIXEL, "test_code": None, "strict": False},
        "api_version": None,
        "secrets": ["token"], "event_names": {"contact": "Contact", "purchase": None},
        "warnings": [COLLAPSED],
        "deliveries": {"queued": 0, "retrying": 0, "delivered": 0, "counted": 0,
                       "refused": 0, "failed": 0, "expired": 0, "skipped": 0},
        "wait_until": None, "tested_at": None, "test_ok": None, "test_message": None,
        "test_remedy": None,
    }  # fmt: skip
    assert len(mapping) == 15
    assert mapping["contact"] == {"event_name": "contact", "sent_as": "Contact", "own": True}
    assert mapping["purchase"] == {"event_name": "purchase", "sent_as": None, "own": True}
    assert mapping["lead_generated"]["sent_as"] == "Lead"
    (listed_destination,) = api.get("/destinations").json()["data"]
    assert listed_destination == api.get(f"/destinations/{destination['id']}").json()
    assert {name: listed_destination[name] for name in destination} == destination


def test_a_name_has_at_most_255_characters(api: Api) -> None:
    assert create(api, name="x" * 255)["name"] == "x" * 255
    assert [*refusal(api, {**DESCRIBED, "name": "x" * 256})] == ["name"]


def test_credit_that_is_not_sent(api: Api) -> None:
    """A platform that compares credit with the conversions that it has must be sent all of them."""
    registry.PLATFORMS[NAME] = Meta()
    warning = "No credit is sent: credit_model needs all_events."
    for model, all_events in (("linear", False), ("linear", True), ("off", False)):
        destination = create(
            api,
            settings={"pixel_id": PIXEL, "credit_model": model},
            secrets={"access_token": TOKEN},
            all_events=all_events,
        )
        assert (warning in destination["warnings"]) == (model == "linear" and not all_events)


def test_custom_events_that_people_have_named(api: Api, forwarder: Forwarder) -> None:
    forwarder.stage.label_event("custom_event_3", "Demo")
    free = change_platform(PROBE, free_names=True)
    for platform, platform_name in ((PROBE, None), (free, "Demo")):
        registry.PLATFORMS[NAME] = platform
        destination = create(api, event_names={"custom_event_9": "Nine"})
        custom = [row for row in destination["mapping"] if row["event_name"].startswith("custom")]
        assert [(row["event_name"], row["sent_as"], row["own"]) for row in custom] == [
            ("custom_event_3", platform_name, False), ("custom_event_9", "Nine", True),
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({}, {"platform": "must be one of "}),
        ({"platform": "myspace"}, {"platform": "must be one of "}),
        ({"platform": NAME}, {"settings.pixel_id": "is required", "secrets.token": "is required"}),
        ({**DESCRIBED, "settings": {"pixel_id": "x", "pixle": 1}},
         {"settings.pixel_id": "must be 1 to 20 digits", "settings.pixle": "is not one of pixel_id"}),
        ({**DESCRIBED, "settings": {"pixel_id": 5, "strict": "yes"}},
         {"settings.pixel_id": "must be 1 to 20 digits", "settings.strict": "must be true or "}),
        ({**DESCRIBED, "settings": {"pixel_id": PIXEL, "test_code": "a\u001bb"}},
         {"settings.test_code": "must not hold control characters"}),
        ({**DESCRIBED, "secrets": {"token": " ", "tokn": TOKEN, "backup": 5}},
         {"secrets.token": "must be a text", "secrets.tokn": "is not one of token, backup",
          "secrets.backup": "must be a text"}),
        ({**DESCRIBED, "event_names": {"purchse": "x", "purchase": 5, "contact": "x" * 256}},
         {"event_names.purchse": "is not one of our event names",
          "event_names.purchase": "must be null or a text",
          "event_names.contact": "must be null or a text"}),
        ({**DESCRIBED, "name": "", "all_events": 1},
         {"name": "must be a text of 1 to 255", "all_events": "must be true or false"}),
        ({**DESCRIBED, "settings": [], "secrets": TOKEN, "event_names": 1},
         {"settings": "must be an object", "settings.pixel_id": "is required",
          "secrets": "must be an object", "secrets.token": "is required",
          "event_names": "must be an object"}),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(api: Api, body: dict[str, Any], errors: dict[str, str]) -> None:
    messages = refusal(api, body)
    assert messages.keys() == errors.keys()
    for name, rule in errors.items():
        assert messages[name][0].startswith(f"The {name} ")
        assert rule in messages[name][0]
    assert api.get("/destinations").json() == {"data": []}


def test_a_space_has_so_many(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(destinations, "MOST_DESTINATIONS", 1)
    create(api)
    assert "at most 1 destinations" in refusal(api, DESCRIBED)["platform"][0]


def test_a_destination_is_changed(api: Api, forwarder: Forwarder) -> None:
    destination = create(api, secrets={"token": TOKEN, "backup": "b"}, event_names={"contact": "C"})
    path = f"/destinations/{destination['id']}"
    new_version = api.send("PUT", path, json={
        "name": "New", "settings": {"pixel_id": "9", "strict": True}, "all_events": True,
        "event_names": {"schedule": "S"}, "secrets": {"token": "other"},
    }).json()  # fmt: skip
    assert (
        new_version["name"], new_version["all_events"], new_version["event_names"], new_version["secrets"],
    ) == (
        "New", True, {"schedule": "S"}, ["backup", "token"],
    )  # fmt: skip
    assert new_version["settings"] == {"pixel_id": "9", "test_code": None, "strict": True}
    assert read_secrets(forwarder, destination["id"]) == {"token": "other", "backup": "b"}
    new_version = api.send("PUT", path, json={"secrets": {"backup": None}}).json()
    assert (new_version["secrets"], new_version["name"]) == (["token"], "New")
    for body, name in (
        ({}, "body"), ({"platform": "google"}, "body"), ({"secrets": {"token": None}},
        "secrets.token"), ({"settings": {}}, "settings.pixel_id"), ({"name": None}, "name"),
    ):  # fmt: skip
        response = api.send("PUT", path, json=body)
        assert (response.status_code, [*response.json()["errors"]]) == (422, [name])
    assert api.get(path).json() == new_version


def read_secrets(forwarder: Forwarder, destination_id: int, key: bytes | None = None) -> Any:
    row = forwarder.stage.connection.execute(
        "SELECT d.secrets, i.secret_key FROM destinations d, installation i"
        " WHERE d.space_id = %s AND d.id = %s", (forwarder.stage.space_id, destination_id),
    ).fetchone()  # fmt: skip
    assert row is not None
    opened_by = key or derive_key(row[1])
    return open_secrets(opened_by, forwarder.stage.space_id, destination_id, row[0])


def test_secrets_are_sealed_to_their_row(api: Api, forwarder: Forwarder) -> None:
    first, second = create(api)["id"], create(api, secrets={"token": "2"})["id"]
    with pytest.raises(Unsealable):
        read_secrets(forwarder, first, b"0" * 32)
    forwarder.execute(
        "UPDATE destinations d SET secrets = o.secrets FROM destinations o WHERE"
        " d.space_id = %(space_id)s AND o.space_id = d.space_id AND d.id = %(a)s AND o.id = %(b)s",
        a=first, b=second,
    )  # fmt: skip
    with pytest.raises(Unsealable):
        read_secrets(forwarder, first)
    response = api.send("POST", f"/destinations/{first}/test")
    assert response.status_code == 422
    assert "must be entered again" in response.json()["errors"]["secrets"][0]
    answer = api.send("PUT", f"/destinations/{first}", json={"secrets": {"token": "3"}})
    assert answer.status_code == 200
    assert read_secrets(forwarder, first) == {"token": "3"}


def test_counts_are_limited(api: Api, forwarder: Forwarder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(destinations, "MOST_COUNTED", 2)
    destination_id = forwarder.make()
    for status in ("failed", "failed", "failed", "delivered"):
        forwarder.delivery(destination_id, status=status)
    counts = api.get(f"/destinations/{destination_id}").json()["deliveries"]
    assert (counts["failed"], counts["delivered"], counts["skipped"]) == (2, 1, 0)


def test_platforms(api: Api) -> None:
    (description,) = [
        platform for platform in api.get("/platforms").json()["data"] if platform["name"] == NAME
    ]
    assert description["title"] == "Probe"
    assert description["secrets"] == [
        {"name": "token", "description": "The access token.", "required": True},
        {"name": "backup", "description": "Another one.", "required": False},
    ]
    assert description["settings"]["required"] == ["pixel_id"]
    assert description["settings"]["properties"]["pixel_id"]["description"] == "The pixel's number."
    assert description["limits"] == {"batch": 10, "age_days": 7}
    assert description["event_names"]["purchase"] == "Purchase"


@pytest.fixture
def platform() -> Iterator[FakePlatform]:
    with FakePlatform() as fake:
        yield fake


@pytest.fixture
def operator_client(
    platform: FakePlatform, database_url: str, tmp_path: Path, forwarder: Forwarder
) -> Iterator[httpx.Client]:
    """A client of an application whose operator has configured the fake platform."""
    settings = Settings(platform_urls={"meta": platform.url}, data_dir=tmp_path, rate_limit_factor=1000)
    running = run_application(settings, database_url)
    with client_for(running, forwarder.stage.key) as client:
        yield client
    running.stop()


@pytest.fixture
def log_text() -> Iterator[io.StringIO]:
    root, text = logging.getLogger(), io.StringIO()
    handler, level = logging.StreamHandler(text), root.level
    root.addHandler(handler)
    root.setLevel("DEBUG")
    yield text
    root.removeHandler(handler)
    root.setLevel(level)


PROBE_REFUSED = (
    "Probe rejected the test event. Check the settings and event names in Probe, starting with the pixel id."
)


def test_a_destination_is_tested(
    operator_client: httpx.Client, platform: FakePlatform, forwarder: Forwarder, log_text: io.StringIO
) -> None:
    destination_id = forwarder.make()
    path = f"/destinations/{destination_id}"
    platform.append(Answer(200), Answer(401), Answer(500, TOKEN.encode()))
    responses = [operator_client.post(f"{path}/test") for _ in range(3)]
    answers = [response.json() for response in responses]
    remedies = [answer.pop("remedy") for answer in answers]
    assert [remedy and remedy.partition(": ")[0] for remedy in remedies] == [
        None, "Probe rejected the token",
        PROBE_REFUSED,
    ]  # fmt: skip
    assert answers == [
        {"ok": True, "http_status": 200, "message": "Probe accepted the test event."},
        {"ok": False, "http_status": 401, "message": "The token is not valid."},
        {"ok": False, "http_status": 500, "message": "HTTP 500."},
    ]
    first = platform.requests[0]
    assert first.target == f"/{PIXEL}"
    body = first.json()
    assert (body["test"], body["token"]) == (True, TOKEN)
    assert body["data"][0]["name"] == "purchase"
    assert forwarder.deliveries("id") == []
    texts = [
        operator_client.get(path).text,
        operator_client.get("/destinations").text,
        *(response.text for response in responses),
    ]
    assert [text for text in [*texts, log_text.getvalue()] if TOKEN in text] == []


def test_how_a_trial_went_is_kept_until_a_change(
    operator_client: httpx.Client, platform: FakePlatform, forwarder: Forwarder
) -> None:
    destination_id = forwarder.make()
    path = f"/destinations/{destination_id}"

    def read_test() -> list[Any]:
        destination = operator_client.get(path).json()
        return [destination[name] for name in ("tested_at", "test_ok", "test_message")]

    def run_test() -> bool | None:
        platform.append(Answer(200))
        operator_client.post(f"{path}/test")
        return read_test()[1]

    platform.append(Answer(401))
    before = datetime.now(UTC)
    operator_client.post(f"{path}/test")
    tested_at, *outcome = read_test()
    assert abs(datetime.fromisoformat(tested_at) - before) < timedelta(minutes=5)
    assert outcome == [False, "The token is not valid."]
    assert run_test()
    operator_client.put(path, json={"name": "Renamed", "all_events": True})
    assert read_test()[1]
    for change in (
        {"settings": {"pixel_id": "9"}}, {"event_names": {}}, {"secrets": {"token": "other"}},
    ):  # fmt: skip
        assert operator_client.put(path, json=change).status_code == 200
        assert read_test() == [None, None, None]
        assert run_test()


def test_trying_one_that_sends_nothing(api: Api, forwarder: Forwarder) -> None:
    destination_id = forwarder.make(event_names=dict.fromkeys(PROBE.event_names))
    result = api.send("POST", f"/destinations/{destination_id}/test").json()
    assert result == {"ok": False, "http_status": None,
            "message": "No event is mapped. Set event_names first.", "remedy": None}  # fmt: skip


def test_scopes(client: httpx.Client, forwarder: Forwarder) -> None:
    connection = forwarder.stage.connection
    reader = Api(client, make_stage(connection, scopes=("destinations:read",)).key)
    writer = Api(client, make_stage(connection, scopes=("destinations:write",)).key)
    for method, path in (
        ("GET", "/platforms"), ("GET", "/destinations"), ("GET", "/destinations/1"),
        ("GET", "/destinations/1/deliveries"), ("GET", "/deliveries/1"),
        ("GET", "/events/1/deliveries"),
    ):  # fmt: skip
        assert writer.send(method, path).status_code == 403
        assert reader.send(method, path).status_code in (200, 404)
    for method, path in (
        ("POST", "/destinations"), ("PUT", "/destinations/1"), ("DELETE", "/destinations/1"),
        ("POST", "/destinations/1/pause"), ("POST", "/destinations/1/resume"),
        ("POST", "/destinations/1/test"), ("POST", "/destinations/1/replay"),
    ):  # fmt: skip
        assert reader.send(method, path, json={}).status_code == 403
        assert writer.send(method, path, json={}).status_code in (404, 422)


def test_nothing_that_a_traceback_could_show_has_a_secret() -> None:
    platform, change = read_new(DESCRIBED)
    assert change.secrets == {"token": TOKEN}
    call = platform.request([], make_destination())
    assert TOKEN.encode() in call.body
    assert TOKEN not in repr([platform, change, make_destination(), call])


def test_nothing_stored_shows_a_secret(api: Api, forwarder: Forwarder) -> None:
    create(api, secrets={"token": TOKEN, "backup": "b"})
    (row,) = forwarder.stage.connection.execute(
        "SELECT to_jsonb(d) FROM destinations d WHERE space_id = %s", (forwarder.stage.space_id,)
    ).fetchall()
    assert TOKEN not in json.dumps(row[0])
    assert TOKEN.encode().hex() not in row[0]["secrets"]
