"""PUT /events/{id}."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import httpx
import psycopg
import pytest

from tests.support.factories import Stage, make_stage
from tests.support.reading_fixtures import Api


def stored_amount(stage: Stage, event_id: int) -> Decimal | None:
    row = stage.connection.execute(
        "SELECT amount FROM events WHERE space_id = %s AND id = %s", (stage.space_id, event_id)
    ).fetchone()
    assert row is not None
    return row[0]


def test_it_works(api: Api, stage: Stage) -> None:
    event_id = stage.event(stage.contact(), amount=Decimal(1))
    response = api.send("PUT", f"/events/{event_id}", json={"amount": 99.5})
    assert response.status_code == 200
    assert response.json() == {"message": "Event updated."}
    assert stored_amount(stage, event_id) == Decimal("99.5")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", "0"), ("-0", "0"), ("12", "12"), ("0.1", "0.1"), ('"12.50"', "12.5"),
        ('" 7 "', "7"), ('"1e3"', "1000"), ("1e14", "1e14"), ("100000000000000", "1e14"),
        ("0.00005", "0"), ("0.00015", "0.0002"), ("1.00025", "1.0002"), ("null", None),
    ],
)  # fmt: skip
def test_amounts_are_accepted(api: Api, stage: Stage, text: str, expected: str | None) -> None:
    event_id = stage.event(stage.contact(), amount=Decimal(1))
    response = api.send("PUT", f"/events/{event_id}", content=f'{{"amount": {text}, "x": 1}}')
    assert response.status_code == 200, response.text
    assert stored_amount(stage, event_id) == (None if expected is None else Decimal(expected))


@pytest.mark.parametrize(
    "text",
    [
        "-1", "-0.00001", '"-1"', "100000000000000.01", "1e15", "9" * 400, '"abc"', '""', '"NaN"',
        '"Infinity"', '"١٢"', '"1_0"', "true", "[1]", "{}", '"' + "9" * 5000 + '"',
    ],
)  # fmt: skip
def test_bad_amounts_are_refused(api: Api, stage: Stage, text: str) -> None:
    event_id = stage.event(stage.contact(), amount=Decimal(1))
    response = api.send("PUT", f"/events/{event_id}", content=f'{{"amount": {text}}}')
    assert response.status_code == 422, response.text
    assert list(response.json()["errors"]) == ["amount"]
    assert stored_amount(stage, event_id) == 1


@pytest.mark.parametrize("body", [{}, {"event_name": "purchase"}])
def test_something_updatable_is_needed(api: Api, stage: Stage, body: dict[str, Any]) -> None:
    response = api.send("PUT", f"/events/{stage.event(stage.contact())}", json=body)
    assert response.status_code == 422
    assert "at least one updatable field" in response.json()["message"]


def test_credits_follow_the_amount(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    stage.touchpoint(contact_id, "email")
    event_id = stage.event(contact_id, amount=Decimal(1))
    api.send("PUT", f"/events/{event_id}", json={"amount": 2})
    (row,) = api.rows(
        **{"sources[]": "email", "fields[]": "amount"}, attribution_model="linear", attribution_window=7
    )
    assert row["amount"] == 2


def test_an_event_of_another_space_is_unknown(api: Api, connection: psycopg.Connection) -> None:
    other_stage = make_stage(connection)
    event_id = other_stage.event(other_stage.contact(), amount=Decimal(1))
    foreign = api.send("PUT", f"/events/{event_id}", json={"amount": 5})
    unknown = api.send("PUT", "/events/999999999999999999", json={"amount": 5})
    assert foreign.status_code == unknown.status_code == 404
    assert foreign.content == unknown.content
    assert stored_amount(other_stage, event_id) == 1


def test_it_needs_the_scope(client: httpx.Client, connection: psycopg.Connection) -> None:
    reader = make_stage(connection, scopes=("events:read",))
    event_id = reader.event(reader.contact())
    response = Api(client, reader.key).send("PUT", f"/events/{event_id}", json={"amount": 5})
    assert response.status_code == 403


def test_a_number_beyond_all_bounds_is_refused(api: Api, stage: Stage) -> None:
    event_id = stage.event(stage.contact())
    body = b'{"amount": 1e9999999999999999999}'
    answer = api.send("PUT", f"/events/{event_id}", content=body)
    assert answer.status_code == 422
    assert "beyond all bounds" in answer.json()["errors"]["body"][0]
