"""POST /events/batch."""

from __future__ import annotations

from typing import Any

import httpx
import psycopg
import pytest

VALID = {"event_name": "purchase", "email": "ada@example.com"}


def test_it_works(client: httpx.Client, connection: psycopg.Connection, space_id: int) -> None:
    invalid = {**VALID, "amount": "x"}
    response = client.post("/events/batch", json={"events": [VALID, invalid, {**VALID, "amount": 3}]})

    assert response.status_code == 202
    body = response.json()
    assert (body["status"], body["message"]) == (202, "2 of 3 events are queued.")
    first, second, third = body["results"]
    assert second == {
        "index": 1, "status": "invalid", "errors": {"amount": ["The amount must be a number."]},
    }  # fmt: skip
    assert (first["index"], third["index"]) == (0, 2)
    rows = connection.execute(
        "SELECT id, payload::json ->> 'amount' FROM inbox WHERE space_id = %s ORDER BY id", (space_id,)
    ).fetchall()
    assert rows == [(int(first["receipt_id"]), None), (int(third["receipt_id"]), "3")]


def test_none_valid_is_422(client: httpx.Client) -> None:
    response = client.post("/events/batch", json={"events": [{}, 5]})
    assert response.status_code == 422
    assert response.json()["message"] == "0 of 2 events are queued."
    assert "event_name" in response.json()["results"][0]["errors"]
    assert set(response.json()["errors"]) >= {"events.0.event_name", "events.1.body"}


@pytest.mark.parametrize("text", [b"\\ud83d", b"\\uDE00", b"\\\\\\ud83d\\u0041", b"M\xfcller"])
@pytest.mark.parametrize("length", [0, 300_000], ids=["small", "large"])
def test_text_that_is_not_unicode_refuses_only_its_event(
    client: httpx.Client, connection: psycopg.Connection, space_id: int, text: bytes, length: int
) -> None:
    valid = b'{"event_name":"purchase","email":"ada@example.com","amount":12345678901234.5678,' + (
        b'"order_name":"\\ud83d\\ude00 \\\\ud83d","ignored":"%s"}' % (b"x" * length)
    )
    wrong = b'{"event_name":"purchase","email":"ada@example.com","order_name":"%s"}' % text
    response = client.post("/events/batch", content=b'{"events":[%s,%s]}' % (wrong, valid))

    assert response.status_code == 202
    first, second = response.json()["results"]
    assert first["errors"] == {"order_name": ["The order_name holds text that is not valid Unicode."]}
    assert second["status"] == "queued"
    rows = connection.execute(
        "SELECT payload::json ->> 'amount', payload::json ->> 'order_name' FROM inbox WHERE space_id = %s",
        (space_id,),
    ).fetchall()
    assert rows == [("12345678901234.5678", "\U0001f600 \\ud83d")]


def test_other_malformed_bodies_are_refused_despite_such_text(client: httpx.Client) -> None:
    wrong = '{"x":"\\ud83d"}'
    for rest in ("NaN", "[" * 40 + "]" * 40):
        response = client.post("/events/batch", content=f'{{"events":[{wrong},{rest}]}}')
        assert response.status_code == 422
        assert len(response.json()["errors"]) == 1
        assert "results" not in response.json()


@pytest.mark.parametrize(
    ("body", "field"),
    [({}, "events"), ({"events": 5}, "events"), ({"events": []}, "events"), ([], "body"),
     ({"events": [VALID] * 1001}, "events")],
)  # fmt: skip
def test_other_bodies_are_refused(client: httpx.Client, body: Any, field: str) -> None:
    response = client.post("/events/batch", json=body)
    assert response.status_code == 422
    assert list(response.json()["errors"]) == [field]


def test_a_thousand_fit(client: httpx.Client, connection: psycopg.Connection, space_id: int) -> None:
    response = client.post("/events/batch", json={"events": [VALID] * 1000})
    assert response.status_code == 202
    (count,) = connection.execute(
        "SELECT count(*) FROM inbox WHERE space_id = %s", (space_id,)
    ).fetchone() or (0,)
    assert count == 1000


def test_each_item_counts(client: httpx.Client) -> None:
    before = client.post("/events/batch", json={"events": [VALID]})
    after = client.post("/events/batch", json={"events": [VALID, {}, VALID]})
    remaining_calls = [int(response.headers["x-ratelimit-remaining"]) for response in (before, after)]
    assert remaining_calls[0] - remaining_calls[1] in (
        3,
        3 - 1_000_000 + remaining_calls[0],
    )  # a new minute may have begun
