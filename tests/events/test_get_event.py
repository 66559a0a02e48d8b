"""GET /events/{id}."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import httpx
import psycopg
import pytest

from tests.support.factories import Stage, make_stage
from tests.support.reading_fixtures import Api


def test_it_works(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    company_id = stage.company()
    event_id = stage.event(
        contact_id,
        company_id=company_id,
        amount=Decimal("12.5000"),
        is_upsell=True,
        event_time=datetime(2026, 5, 13, 13, 58, 22, tzinfo=UTC),
        order_id="A-1",
        order_name="First",
    )
    response = api.get(f"/events/{event_id}")
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.json() == {
        "id": str(event_id),
        "profile_id": str(contact_id),
        "company_id": str(company_id),
        "space_id": str(stage.space_id),
        "event_name": "purchase",
        "configured_name": "purchase",
        "amount": 12.5,
        "is_upsell": True,
        "event_time_utc": "2026-05-13T13:58:22Z",
        "order_id": "A-1",
        "order_name": "First",
        "currency": "USD",
        "amount_in_space_currency": 12.5,
    }


def test_absent_values_are_null(api: Api, stage: Stage) -> None:
    event = api.get(f"/events/{stage.event(stage.contact())}").json()
    assert [name for name, value in event.items() if value is None] == [
        "company_id", "amount", "order_id", "order_name", "amount_in_space_currency",
    ]  # fmt: skip


def test_custom_events_have_the_configured_name(api: Api, stage: Stage) -> None:
    stage.label_event("custom_event_1", "Demo booked")
    event_id = stage.event(stage.contact(), event_name="custom_event_1")
    event = api.get(f"/events/{event_id}").json()
    assert (event["event_name"], event["configured_name"]) == ("custom_event_1", "Demo booked")


@pytest.mark.parametrize(
    "text", ["abc", "-1", "+5", "1_000", "%20" + "12", "1.0", "9" * 19, "١٢", "1%0A", "%ff", "1%00"]
)
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_other_ids_are_invalid(api: Api, method: str, text: str) -> None:
    response = api.send(method, f"/events/{text}")
    assert response.status_code == 422
    assert list(response.json()["errors"]) == ["event_id"]


def test_an_event_of_another_space_is_unknown(
    api: Api, client: httpx.Client, connection: psycopg.Connection
) -> None:
    other_stage = make_stage(connection)
    event_id = other_stage.event(other_stage.contact())
    foreign, unknown = api.get(f"/events/{event_id}"), api.get("/events/999999999999999999")
    assert foreign.status_code == unknown.status_code == 404
    assert foreign.content == unknown.content
    assert Api(client, other_stage.key).get(f"/events/{event_id}").status_code == 200


def test_it_needs_the_scope(client: httpx.Client, connection: psycopg.Connection) -> None:
    writer = make_stage(connection, scopes=("events:write",))
    event_id = writer.event(writer.contact())
    assert Api(client, writer.key).get(f"/events/{event_id}").status_code == 403
    assert Api(client, "trk_sk_unknown").get(f"/events/{event_id}").status_code == 401
