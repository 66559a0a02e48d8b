"""POST /touchpoints/batch: what is accepted, and how it is stored in the inbox."""

from __future__ import annotations

from typing import Any

import httpx
import msgspec
import psycopg
import pytest

from headwater.events.touchpoints.accepted import AcceptedTouchpoint
from headwater.intake.ingest.touchpoints import TouchpointPayload
from headwater.sources.catalogue import SOURCE_IDS, SOURCES
from tests.conftest import Running, client_for

VALID = {"occurred_at": "2026-05-13T12:00:00Z", "email": "ada@example.com", "source": "sms"}
NOON = 1778673600000
NO_SOURCE = f"must be one of {', '.join(SOURCE_IDS)}."
FORMS = "must be an ISO 8601 date-time or a Unix timestamp in seconds."


def send(client: httpx.Client, *touchpoints: Any) -> httpx.Response:
    return client.post("/touchpoints/batch", json={"touchpoints": list(touchpoints)})


def accept_touchpoint(
    client: httpx.Client, connection: psycopg.Connection, **fields: Any
) -> AcceptedTouchpoint:
    """Send a touchpoint with these fields, and return its inbox payload."""
    response = send(client, {**VALID, **fields})
    assert response.status_code == 202, response.text
    receipt = response.json()["results"][0]["receipt_id"]
    row = connection.execute(
        "SELECT payload FROM inbox WHERE id = %s AND kind = 'touchpoint'", (receipt,)
    ).fetchone()
    assert row is not None
    return msgspec.json.decode(row[0], type=AcceptedTouchpoint)


def errors(client: httpx.Client, fields: dict[str, Any]) -> dict[str, list[str]]:
    response = send(client, fields)
    assert response.status_code == 422
    [result] = response.json()["results"]
    assert (result["index"], result["status"]) == (0, "invalid")
    assert response.json()["errors"] == {
        f"touchpoints.0.{name}": messages for name, messages in result["errors"].items()
    }
    return result["errors"]


def test_it_works(client: httpx.Client, connection: psycopg.Connection, space_id: int) -> None:
    response = send(client, VALID, {**VALID, "source": "carrier_pigeon"}, {**VALID, "ad_id": 7})
    assert response.status_code == 202
    body = response.json()
    assert (body["status"], body["message"]) == (202, "2 of 3 touchpoints are queued.")
    first, second, third = body["results"]
    assert (second["index"], second["status"]) == (1, "invalid")
    (refusal,) = second["errors"]["source"]
    assert refusal.startswith("The source must be one of facebook_ads, google_ads, ")
    assert (first["index"], third["index"]) == (0, 2)
    rows = connection.execute(
        "SELECT id, kind, payload::json ->> 'ad_id' FROM inbox WHERE space_id = %s ORDER BY id", (space_id,)
    ).fetchall()
    assert rows == [
        (int(first["receipt_id"]), "touchpoint", None),
        (int(third["receipt_id"]), "touchpoint", "7"),
    ]


def test_a_network_that_the_space_lacks_is_refused(client: httpx.Client) -> None:
    unknown = {**VALID, "source": "unheard_of_ads"}
    assert list(errors(client, unknown)) == ["source"]
    results = send(client, VALID, unknown).json()["results"]
    assert [result["status"] for result in results] == ["queued", "invalid"]


def test_every_field_is_kept(client: httpx.Client, connection: psycopg.Connection) -> None:
    values = {
        name: f"some {name}" for name in TouchpointPayload.__struct_fields__
        if name not in {"occurred_at", "email", "ip", "source"}
    } | {"email": " Ada@Example.com ", "ip": "2001:DB8::1", "source": "Google_Ads "}  # fmt: skip
    touchpoint = accept_touchpoint(client, connection, **values)
    assert msgspec.structs.asdict(touchpoint) == {
        **values, "email": "ada@example.com", "ip": "2001:db8::1", "source": "google_ads",
        "occurred_at": NOON, "warnings": (),
    }  # fmt: skip


@pytest.mark.parametrize("value", ["2026-05-13T14:00:00+02:00", NOON / 1000, "1778673600"])
def test_times(client: httpx.Client, connection: psycopg.Connection, value: Any) -> None:
    assert accept_touchpoint(client, connection, occurred_at=value).occurred_at == NOON


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (None, "is required."),
        (" ", "is required."),
        ("yesterday", FORMS),
        ([], FORMS),
        ("1999-12-31", "must be between 2000-01-01 and 24 hours from now, in seconds if Unix."),
        ("2999-01-01", "must be between 2000-01-01 and 24 hours from now, in seconds if Unix."),
    ],
)
def test_other_times_are_refused(client: httpx.Client, value: Any, rule: str) -> None:
    assert errors(client, {**VALID, "occurred_at": value}) == {"occurred_at": [f"The occurred_at {rule}"]}


@pytest.mark.parametrize("name", SOURCES)
def test_every_source(client: httpx.Client, connection: psycopg.Connection, name: str) -> None:
    assert accept_touchpoint(client, connection, source=name).source == name


@pytest.mark.parametrize("name", ["url", "referrer"])
def test_a_source_is_not_needed_beside_an_address(
    client: httpx.Client, connection: psycopg.Connection, name: str
) -> None:
    assert accept_touchpoint(client, connection, source=" ", **{name: "https://x.example"}).source is None


@pytest.mark.parametrize(
    ("fields", "expected_errors"),
    [
        ({}, {"source": "is required unless url or referrer is given."}),
        ({"url": " ", "source": None}, {"source": "is required unless url or referrer is given."}),
        ({"source": "fb"}, {"source": NO_SOURCE}),
        ({"url": 5}, {"url": "must be a string of at most 2048 characters."}),
        ({"url": "x" * 2049}, {"url": "must be a string of at most 2048 characters."}),
        ({"source": 5}, {"source": NO_SOURCE}),
    ],
)
def test_where_from_is_needed(
    client: httpx.Client, fields: dict[str, Any], expected_errors: dict[str, str]
) -> None:
    touchpoint = {"occurred_at": 1778673600, "email": "ada@example.com", **fields}
    assert errors(client, touchpoint) == {
        name: [f"The {name} {rule}"] for name, rule in expected_errors.items()
    }


WHO = "is required unless trk_token, or fingerprint with ip, is given."


@pytest.mark.parametrize(
    ("identifiers", "expected_errors"),
    [
        ({}, {"email": WHO}),
        ({"tracking_id": "u1"}, {"email": WHO}),
        ({"fingerprint": "f"}, {"ip": "is required when fingerprint is given."}),
        ({"ip": "10.0.0.1"}, {"fingerprint": "is required when ip is given."}),
        ({"email": "nobody"}, {"email": "must be a valid e-mail address."}),
        ({"email": 5}, {"email": "must be a string of at most 320 characters."}),
    ],
)
def test_somebody_is_needed(
    client: httpx.Client, identifiers: dict[str, Any], expected_errors: dict[str, str]
) -> None:
    touchpoint = {"occurred_at": 1778673600, "source": "sms", **identifiers}
    assert errors(client, touchpoint) == {
        name: [f"The {name} {rule}"] for name, rule in expected_errors.items()
    }


@pytest.mark.parametrize(
    "identifiers", [{"trk_token": "t"}, {"fingerprint": "f", "ip": "10.0.0.1"}, {"email": "a@b.org"}]
)
def test_any_identification_does(client: httpx.Client, identifiers: dict[str, str]) -> None:
    assert send(client, {"occurred_at": 1778673600, "source": "sms", **identifiers}).status_code == 202


@pytest.mark.parametrize("name", ["campaign_id", "adset_id", "ad_id", "account_id"])
def test_ids_may_be_numbers(client: httpx.Client, connection: psycopg.Connection, name: str) -> None:
    for value, stored_value in ((120, "120"), (" 9 ", "9"), (" ", None), (None, None)):
        assert getattr(accept_touchpoint(client, connection, **{name: value}), name) == stored_value
    assert errors(client, {**VALID, name: True}) == {name: [f"The {name} must be a string or an integer."]}
    assert errors(client, {**VALID, name: "x" * 513}) == {
        name: [f"The {name} must be at most 512 characters long."]
    }


@pytest.mark.parametrize("name", ["campaign_name", "adset_name", "ad_name", "account_name", "keyword"])
def test_names_have_a_length(client: httpx.Client, name: str) -> None:
    assert send(client, {**VALID, name: "x" * 512}).status_code == 202
    assert errors(client, {**VALID, name: "x" * 513}) == {
        name: [f"The {name} must be a string of at most 512 characters."]
    }


def test_everything_wrong_is_told_at_once(client: httpx.Client) -> None:
    assert set(errors(client, {"occurred_at": [], "keyword": 5, "fingerprint": "f"})) == {
        "occurred_at", "keyword", "ip", "source",
    }  # fmt: skip


def test_text_that_cannot_be_stored(client: httpx.Client) -> None:
    assert errors(client, {**VALID, "keyword": "a\0b"}) == {"keyword": ["The keyword holds a NUL character."]}


@pytest.mark.parametrize(
    ("body", "field", "expected_errors"),
    [
        ({}, "touchpoints", "The touchpoints must be an array of touchpoints."),
        ({"touchpoints": 5}, "touchpoints", "The touchpoints must be an array of touchpoints."),
        ({"touchpoints": []}, "touchpoints", "The touchpoints must hold 1 to 1000 touchpoints."),
        ({"touchpoints": [VALID] * 1001}, "touchpoints", "The touchpoints must hold 1 to 1000 touchpoints."),
        ([], "body", "The body must be a JSON object."),
    ],
)
def test_other_bodies_are_refused(client: httpx.Client, body: Any, field: str, expected_errors: str) -> None:
    response = client.post("/touchpoints/batch", json=body)
    assert response.status_code == 422
    assert response.json() == {"message": expected_errors, "errors": {field: [expected_errors]}}


def test_each_item_counts_as_an_event_would(client: httpx.Client) -> None:
    before = send(client, VALID)
    after = send(client, VALID, {}, VALID)
    remaining_calls = [int(response.headers["x-ratelimit-remaining"]) for response in (before, after)]
    assert remaining_calls[0] - remaining_calls[1] in (
        3,
        3 - 1_000_000 + remaining_calls[0],
    )  # a new minute may have begun


def test_the_scope_is_that_of_events(server: Running, space_id: int, make_key: Any) -> None:
    with client_for(server, make_key(space_id, ["events:read"])) as reader:
        response = send(reader, VALID)
    assert response.status_code == 403
    assert response.json() == {"message": "The API key lacks the scope events:write."}


def test_too_large(client: httpx.Client) -> None:
    assert client.post("/touchpoints/batch", content=b" " * (8 * 1024 * 1024 + 1)).status_code == 413
