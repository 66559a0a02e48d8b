"""GET /events/{id}/attribution: the path to an event, and its credit under every model."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import httpx
import psycopg
import pytest

from headwater.attribution.models import MODELS
from tests.support.factories import NOON, Stage, make_stage
from tests.support.reading_fixtures import Api

DAY = timedelta(days=1)


def attribution(api: Api, event_id: int, **params: Any) -> dict[str, Any]:
    response = api.get(f"/events/{event_id}/attribution", params=params)
    assert response.status_code == 200, response.text
    return response.json()


def reasons(answer: dict[str, Any]) -> dict[str, str | None]:
    for model in answer["models"]:
        assert model["unattributed"] is (model["unattributed_reason"] is not None)
    return {model["model"]: model["unattributed_reason"] for model in answer["models"]}


def test_it_works(api: Api, stage: Stage) -> None:
    contact_id = stage.contact(name="Ada Byron")
    touches = [
        stage.touchpoint(contact_id, source, occurred_at=NOON - (3 - n) * DAY, **columns)
        for n, (source, columns) in enumerate(
            (("google_ads", {"campaign_id": "7"}), ("facebook_ads", {}), ("direct", {}))
        )
    ]
    stage.ad("campaign", "7", "Spring")
    event_id = stage.event(contact_id, amount=Decimal(10), sender="server")
    answer = attribution(api, event_id)
    assert answer["event"] == {
        "id": event_id, "contact_id": contact_id, "contact_name": "Ada Byron", "company_id": None,
        "amount": 10, "event_name": "purchase", "event_time_utc": "2026-05-13T12:00:00Z",
        "sender": "server", "currency": "USD", "amount_in_space_currency": 10,
    }  # fmt: skip
    assert (answer["attribution_window"], answer["left_out"]) == (30, 0)
    assert [(touch["id"], touch["source_rule"]) for touch in answer["path"]] == [
        (touch_id, "test") for touch_id in touches
    ]
    assert answer["path"][0]["campaign_name"] == "Spring"
    model_credits = {model["model"]: model["credits"] for model in answer["models"]}
    assert list(model_credits) == list(MODELS)
    assert model_credits["u_shaped"] == [
        {"touchpoint_id": touches[0], "source": "google_ads", "amount": 4, "amount_in_space_currency": 4},
        {"touchpoint_id": touches[1], "source": "facebook_ads", "amount": 2, "amount_in_space_currency": 2},
        {"touchpoint_id": touches[2], "source": "direct", "amount": 4, "amount_in_space_currency": 4},
    ]
    assert {model for model, reason in reasons(answer).items() if reason} == {"markov"}


def test_amounts_have_all_their_decimals(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    stage.touchpoint(contact_id, "email", occurred_at=NOON - DAY)
    event_id = stage.event(contact_id, amount=Decimal("99999999999999.9999"))
    response = api.get(f"/events/{event_id}/attribution")
    assert response.text.count("99999999999999.9999") == 1 + sum(
        not model["unattributed"] for model in response.json()["models"]
    )


def test_why_there_is_no_credit(api: Api, stage: Stage) -> None:
    contact_id, alone = stage.contact(), stage.contact()
    stage.touchpoint(contact_id, "email", occurred_at=NOON - 10 * DAY)
    stage.touchpoint(contact_id, "google_ads", occurred_at=NOON + DAY)
    event_id = stage.event(contact_id)
    assert set(reasons(attribution(api, stage.event(alone))).values()) == {"no_touch"}
    outside = reasons(attribution(api, event_id, attribution_window=7))
    assert set(outside.values()) == {"outside_window"}
    within = reasons(attribution(api, event_id, attribution_window=30))
    paid_models = {"first_platform_touch", "last_platform_touch", "linear_paid"}
    expected = {model: "not_counted" if model in paid_models else None for model in MODELS}
    assert within == expected | {"markov": "not_trained"}


def test_the_path_of_a_company(api: Api, stage: Stage) -> None:
    company_id = stage.company()
    buyer, colleague = (stage.contact(company_id=company_id) for _ in range(2))
    stage.touchpoint(colleague, "email", company_id=company_id, occurred_at=NOON - 9 * DAY)
    event_id = stage.event(buyer, company_id=company_id)
    assert set(reasons(attribution(api, event_id)).values()) == {"no_touch"}
    answer = attribution(api, event_id, query_mode="company")
    assert [touch["contact_id"] for touch in answer["path"]] == [colleague]
    short = reasons(attribution(api, event_id, query_mode="company", attribution_window=7))
    assert set(short.values()) == {"outside_window"}


@pytest.mark.parametrize(
    "params", [{"attribution_window": "31"}, {"attribution_window": "x"}, {"query_mode": "x"}]
)
def test_what_breaks_a_rule_is_named(api: Api, stage: Stage, params: dict[str, str]) -> None:
    event_id = stage.event(stage.contact())
    response = api.get(f"/events/{event_id}/attribution", params=params)
    assert response.status_code == 422
    assert set(response.json()["errors"]) == set(params)


def test_events_of_others_are_unknown(api: Api, connection: psycopg.Connection) -> None:
    other_stage = make_stage(connection)
    foreign = other_stage.event(other_stage.contact())
    for event_id in (foreign, 999_999_999_999):
        response = api.get(f"/events/{event_id}/attribution")
        assert (response.status_code, response.json()) == (404, {"message": "Event not found."})


def test_it_needs_the_scope(client: httpx.Client, connection: psycopg.Connection) -> None:
    stage = make_stage(connection, scopes=("events:read",))
    event_id = stage.event(stage.contact())
    response = Api(client, stage.key).get(f"/events/{event_id}/attribution")
    assert (response.status_code, "reports:read" in response.text) == (403, True)
