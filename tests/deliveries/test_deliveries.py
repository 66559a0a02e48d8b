"""Deliveries in the API: lists by destination and by event, and one delivery with its attempts."""

from __future__ import annotations

from typing import Any

import pytest
from psycopg.types.json import Jsonb

from tests.conftest import API, BASE_URL
from tests.support.destinations import NAME, Forwarder
from tests.support.pipeline import event
from tests.support.reading_fixtures import Api


def list_deliveries(api: Api, destination_id: int, **params: Any) -> list[int]:
    response = api.get(f"/destinations/{destination_id}/deliveries", params=params)
    assert response.status_code == 200, response.text
    return [row["id"] for row in response.json()["data"]]


def test_it_works(api: Api, forwarder: Forwarder) -> None:
    destination_id = forwarder.make()
    (event_id,) = forwarder.queue().run(event(email="ada@example.com", idempotency_key="k"))
    response = api.get(f"/destinations/{destination_id}/deliveries")
    body = response.json()
    (row,) = body.pop("data")
    assert body["path"] == f"{BASE_URL}{API}/destinations/{destination_id}/deliveries"
    assert (body["next_cursor"], body["prev_cursor"]) == (None, None)
    moments = {name: row.pop(name) for name in ("created_at", "due_at")}
    assert all(moment.endswith("Z") for moment in moments.values())
    (delivery_id,) = forwarder.deliveries("id")
    assert row == {
        "id": delivery_id, "destination_id": destination_id, "platform": NAME,
        "event_id": event_id, "kind": "conversion", "event_name": "purchase", "dedup_id": "k",
        "status": "queued",
        "reason": None, "attempts": 0, "touchpoint_id": None, "http_status": None, "error": None,
        "platform_request_id": None, "sent_amount": None, "sent_currency": None, "credit": None,
        "finished_at": None,
    }  # fmt: skip
    assert api.get(f"/events/{event_id}/deliveries").json() == {"data": [{**row, **moments}]}
    delivery = api.get(f"/deliveries/{delivery_id}").json()
    assert delivery == {**row, **moments, "request": None, "answer": None, "history": []}


def test_a_delivery_with_its_attempts(api: Api, forwarder: Forwarder) -> None:
    delivery_id = forwarder.delivery(
        forwarder.make(), status="failed", attempts=2, http_status=400, error="Bad currency.",
        request=Jsonb({"name": "Purchase"}), answer='{"error": 1}', touchpoint_id=5,
    )  # fmt: skip
    for number in (503, 400):
        forwarder.stage.attempt(delivery_id, http_status=number, error=f"HTTP {number}.",
                          attempted_at="2026-05-13T12:00:00Z", outcome="retry")  # fmt: skip
    delivery = api.get(f"/deliveries/{delivery_id}").json()
    assert (delivery["request"], delivery["answer"], delivery["error"], delivery["due_at"]) == (
        {"name": "Purchase"}, '{"error": 1}', "Bad currency.", None,
    )  # fmt: skip
    assert delivery["history"] == [
        {"attempted_at": "2026-05-13T12:00:00Z", "outcome": "retry", "http_status": number,
         "error": f"HTTP {number}."}
        for number in (503, 400)
    ]  # fmt: skip


def test_filters(api: Api, forwarder: Forwarder) -> None:
    first_destination, second_destination = forwarder.make(), forwarder.make()
    failed_id = forwarder.delivery(first_destination, status="failed")
    paused_id = forwarder.delivery(first_destination, status="skipped", reason="paused")
    unmapped_id = forwarder.delivery(first_destination, status="skipped", reason="no_mapping")
    other_delivery = forwarder.delivery(second_destination, status="failed")
    assert list_deliveries(api, first_destination) == [unmapped_id, paused_id, failed_id]
    assert list_deliveries(api, first_destination, status="failed") == [failed_id]
    assert list_deliveries(api, first_destination, status="skipped") == [unmapped_id, paused_id]
    assert list_deliveries(api, first_destination, reason="paused") == [paused_id]
    assert list_deliveries(api, first_destination, reason="paused", status="failed") == []
    event_ids = dict(forwarder.deliveries("id", "event_id"))
    assert list_deliveries(api, first_destination, event_id=event_ids[paused_id]) == [paused_id]
    assert list_deliveries(api, first_destination, event_id=event_ids[other_delivery]) == []
    assert list_deliveries(api, second_destination) == [other_delivery]


def test_paging(api: Api, forwarder: Forwarder) -> None:
    destination_id = forwarder.make()
    delivery_ids = [forwarder.delivery(destination_id, status="failed") for _ in range(5)]
    forwarder.delivery(destination_id)
    path, params = f"/destinations/{destination_id}/deliveries", {"status": "failed"}
    page = api.get(path, params={**params, "per_page": 2}).json()
    forwarder.delivery(destination_id, status="failed")
    listed_ids, earlier_pages = [], []
    while True:
        listed_ids += [row["id"] for row in page["data"]]
        if page["next_cursor"] is None:
            break
        page = api.get(path, params={**params, "per_page": 2, "cursor": page["next_cursor"]}).json()
    assert listed_ids == delivery_ids[::-1]
    while page["prev_cursor"] is not None:
        page = api.get(path, params={**params, "per_page": 2, "cursor": page["prev_cursor"]}).json()
        earlier_pages.append([row["id"] for row in page["data"]])
    assert earlier_pages[:2] == [[delivery_ids[2], delivery_ids[1]], [delivery_ids[4], delivery_ids[3]]]
    wrong = api.get(path, params={"cursor": page["next_cursor"]})
    assert wrong.json()["errors"] == {"cursor": ["The cursor is not a cursor of this list."]}


def test_a_deleted_event_leaves_its_deliveries(api: Api, forwarder: Forwarder) -> None:
    destination_id = forwarder.make()
    forwarder.delivery(destination_id)
    (event_id,) = forwarder.deliveries("event_id")
    api.send("DELETE", f"/events/{event_id}")
    (row,) = api.get(f"/events/{event_id}/deliveries").json()["data"]
    assert (row["event_name"], row["status"], row["reason"]) == (None, "skipped", "deleted")
    assert list_deliveries(api, destination_id) == [row["id"]]


def test_an_event_that_went_nowhere(api: Api, forwarder: Forwarder) -> None:
    event_id = forwarder.stage.event(forwarder.stage.contact())
    assert api.get(f"/events/{event_id}/deliveries").json() == {"data": []}
    response = api.get(f"/events/{event_id + 10**6}/deliveries")
    assert (response.status_code, response.json()) == (404, {"message": "Event not found."})


@pytest.mark.parametrize(
    ("params", "name"),
    [({"status": "done"}, "status"), ({"reason": "why"}, "reason"), ({"event_id": "x"}, "event_id"),
     ({"per_page": 0}, "per_page"), ({"cursor": "x"}, "cursor")],
)  # fmt: skip
def test_what_is_wrong_is_named(api: Api, forwarder: Forwarder, params: dict[str, Any], name: str) -> None:
    response = api.get(f"/destinations/{forwarder.make()}/deliveries", params=params)
    assert response.status_code == 422
    assert [*response.json()["errors"]] == [name]


@pytest.mark.parametrize("name", ["status", "reason"])
def test_a_blank_filter_is_refused(api: Api, forwarder: Forwarder, name: str) -> None:
    destination_id = forwarder.make()
    response = api.get(f"/destinations/{destination_id}/deliveries", params={name: ""})
    assert response.status_code == 422
    assert list(response.json()["errors"]) == [name]
