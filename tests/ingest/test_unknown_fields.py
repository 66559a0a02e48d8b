"""Unknown fields: reported in the answer and in the receipt, with the field that was probably meant."""

from __future__ import annotations

import json
import time
from typing import Any

import httpx
import pytest

from headwater.database.jobs.connection import connect
from headwater.intake.ingest.payload import EVENT_FORM
from tests.support.pipeline import drain

EVENT = {"event_name": "purchase", "email": "ada@example.com"}
TOUCHPOINT = {"source": "google_ads", "email": "ada@example.com", "occurred_at": 1_760_000_000}
MISSPELT = "tkr_source is not a field; did you mean trk_source?"


def track(client: httpx.Client, **fields: Any) -> httpx.Response:
    response = client.post("/events/track", json={**EVENT, **fields})
    assert response.status_code == 202, response.text
    return response


def warnings(client: httpx.Client, **fields: Any) -> list[str]:
    return track(client, **fields).json()["warnings"]


def receipt(client: httpx.Client, receipt_id: str) -> dict[str, Any]:
    return client.get(f"/receipts/{receipt_id}").json()


def test_it_works(client: httpx.Client, database_url: str) -> None:
    response = track(client, tkr_source="google_ads")
    assert response.json() == {
        "status": 202, "message": "The event is queued.", "warnings": [MISSPELT],
    }  # fmt: skip
    queued_receipt = receipt(client, response.headers["x-receipt-id"])
    assert (queued_receipt["status"], queued_receipt["warnings"]) == ("queued", [MISSPELT])
    with connect(database_url) as worker:
        drain(worker)
    stored_receipt = receipt(client, response.headers["x-receipt-id"])
    assert (stored_receipt["status"], stored_receipt["warnings"]) == ("stored", [MISSPELT])


def test_nothing_is_said_when_every_field_is_known(client: httpx.Client) -> None:
    response = track(client, trk_source="google_ads", phone=None)
    assert response.json() == {"status": 202, "message": "The event is queued."}
    assert receipt(client, response.headers["x-receipt-id"])["warnings"] == []


@pytest.mark.parametrize(("path", "name", "item"), [
    ("/events/batch", "events", EVENT), ("/touchpoints/batch", "touchpoints", TOUCHPOINT),
])  # fmt: skip
def test_batches_tell_of_each_item(
    client: httpx.Client, database_url: str, path: str, name: str, item: dict[str, Any]
) -> None:
    items = [item, {**item, "email": "b@example.com", "Email": "x"}, {**item, "e": 1, "email": 1}]
    results = client.post(path, json={name: items}).json()["results"]
    assert "warnings" not in results[0]
    assert results[1]["warnings"] == ["Email is not a field; did you mean email?"]
    assert (results[2]["status"], list(results[2]["errors"])) == ("invalid", ["email"])
    assert receipt(client, results[1]["receipt_id"])["warnings"] == results[1]["warnings"]
    with connect(database_url) as worker:
        drain(worker)
    assert receipt(client, results[1]["receipt_id"])["warnings"] == results[1]["warnings"]


@pytest.mark.parametrize(
    ("name", "warning"),
    [
        ("eventName", "eventName is not a field; did you mean event_name?"),
        ("TRK-SOURCE", "TRK-SOURCE is not a field; did you mean trk_source?"),
        ("trk_sorce", "trk_sorce is not a field; did you mean trk_source?"),
        ("ammount", "ammount is not a field; did you mean amount?"),
        ("emial", "emial is not a field; did you mean email?"),
        ("phone_number", "phone_number is not a field; did you mean phone?"),
        ("company", "company is not a field; did you mean company_external_id or company_name?"),
        ("profile_field1", "profile_field1 is not a field; did you mean profile_field_1?"),
        ("profile_field_31", "profile_field_31 is not a field."),
        ("id", "id is not a field."),
        ("", " is not a field."),
        ("x" * 64, "x" * 64 + " is not a field."),
        ("x" * 65, "x" * 64 + "… is not a field."),
        ("trk_source" + "e" * 40, "trk_source" + "e" * 40 + " is not a field."),
        ("größe\n", "größe\n is not a field."),
    ],
)
def test_what_was_meant(client: httpx.Client, name: str, warning: str) -> None:
    assert warnings(client, **{name: {"any": ["thing"]}}) == [warning]


def test_at_most_ten_are_told(client: httpx.Client) -> None:
    ten = {f"unknown_{number}": 1 for number in range(10)}
    assert warnings(client, **ten) == [f"{name} is not a field." for name in ten]
    messages = warnings(client, **ten, one_more=2, another=3)
    assert messages == [*(f"{name} is not a field." for name in [*ten][:9]), "3 more are not fields."]


def test_a_fault_beside_an_unknown_field_is_still_a_fault(client: httpx.Client) -> None:
    for fields in ({"amount": "1"}, {"ip": "x"}, {"event_name": "no"}, {"order_id": 1}):
        response = client.post("/events/track", json={"unknown": 1, **EVENT, **fields})
        assert response.status_code == 422
        assert "warnings" not in response.json()
        assert list(response.json()["errors"]) == list(fields)
    for body in (
        b'{"unknown":1,',
        b'{"unknown":"\\ud800","event_name":"purchase"}',
        b'{"unknown":"\\u0000","event_name":"purchase","email":"a@b.org"}',
        b'{"unknown":1,"event_name":"purchase","email":"a@b.org","x":"\xff"}',
    ):
        assert client.post("/events/track", content=body).status_code == 422


def test_thousands_cost_no_more_than_reading_them() -> None:
    def seconds(count: int) -> float:
        fields = {f"trk_source_{number:06d}": 0 for number in range(count)}
        body = json.dumps({**EVENT, **fields}).encode()
        return min(time_reading(body) for _ in range(5))

    def time_reading(body: bytes) -> float:
        started = time.thread_time()
        assert len(EVENT_FORM.accept(body, time.time()).warnings) == 10
        return time.thread_time() - started

    assert seconds(20_000) < 40 * seconds(2_000)


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("Purchase", "did you mean purchase?"),
        ("pruchase", "did you mean purchase?"),
        ("purchases", "did you mean purchase?"),
        ("sign-up", "did you mean sign_up?"),
        ("upsell", "did you mean upsell_purchase?"),
        ("custom_event1", "did you mean custom_event_1?"),
    ],
)
def test_event_names_that_are_near(client: httpx.Client, name: str, question: str) -> None:
    response = client.post("/events/track", json={**EVENT, "event_name": name})
    [rule] = response.json()["errors"]["event_name"]
    assert rule.startswith(f"The event_name is not known: {question} It must be one of add_")
    assert "webinar_registration, or custom_event_1 to custom_event_50." in rule


@pytest.mark.parametrize("name", ["custom_event_51", "", "buy", "x" * 10_000, 7, None])
def test_other_event_names_are_told_the_list(client: httpx.Client, name: Any) -> None:
    response = client.post("/events/track", json={**EVENT, "event_name": name})
    [rule] = response.json()["errors"]["event_name"]
    assert rule.startswith("The event_name must be one of add_payment_info, add_to_cart, ")


def test_sources_that_are_near(client: httpx.Client) -> None:
    body = {"touchpoints": [{**TOUCHPOINT, "source": "facebook"}]}
    response = client.post("/touchpoints/batch", json=body)
    [rule] = response.json()["errors"]["touchpoints.0.source"]
    question = "did you mean facebook_ads or facebook_organic?"
    assert rule.startswith(f"The source is not known: {question} It must be one of facebook_ads, ")


def test_filters_tell_what_is_near(client: httpx.Client) -> None:
    params = {"event_names": "Purchase", "sources": "google", "attribution_model": "lastTouch"}
    errors = client.get("/events", params=params).json()["errors"]
    assert errors["event_names"][0].startswith("The event_names is not known: did you mean purch")
    assert "did you mean google_ads or google_organic?" in errors["sources"][0]
    assert "did you mean last_touch?" in errors["attribution_model"][0]
