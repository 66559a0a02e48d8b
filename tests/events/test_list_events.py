"""GET /events: rows, fields, filters and refusals. Paging has its own file."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import httpx
import psycopg
import pytest

from tests.conftest import API, BASE_URL
from tests.support.factories import NOON, Stage, make_stage
from tests.support.reading_fixtures import RANGE, Api

CREDITED = {"sources[]": "email", "attribution_model": "linear", "attribution_window": "30"}
EVENT_FIELDS = [
    "id", "profile_id", "company_id", "space_id", "event_name", "configured_name", "amount",
    "is_upsell", "event_time_utc", "order_id", "order_name", "event_url", "heard_about_us",
    "self_reported_source",
]  # fmt: skip
AD_FIELDS = [
    "ad_id", "ad_name", "adset_id", "adset_name",
    "campaign_id", "campaign_name", "account_id", "account_name",
]  # fmt: skip


def test_it_works(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    older = stage.event(contact_id, event_time=NOON)
    newer = stage.event(contact_id, event_time=NOON + timedelta(milliseconds=1500))
    response = api.list()
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.json() == {
        "data": [
            {"id": newer, "event_time_utc": "2026-05-13T12:00:01.500Z"},
            {"id": older, "event_time_utc": "2026-05-13T12:00:00Z"},
        ],
        "path": f"{BASE_URL}{API}/events",
        "per_page": 200,
        "next_cursor": None,
        "next_page_url": None,
        "prev_cursor": None,
        "prev_page_url": None,
    }


def test_every_field_of_an_event(api: Api, stage: Stage) -> None:
    contact_id, company_id = stage.contact(), stage.company()
    stage.label_event("custom_event_7", "Demo")
    event_id = stage.event(
        contact_id, company_id=company_id, event_name="custom_event_7", is_upsell=True,
        amount=Decimal("12.3400"), order_id="A", order_name='"B"', event_url="https://x.test/é",
    )  # fmt: skip
    assert api.rows(**{"fields[]": EVENT_FIELDS}) == [
        {
            "id": event_id,
            "profile_id": str(contact_id),
            "company_id": str(company_id),
            "space_id": str(stage.space_id),
            "event_name": "custom_event_7",
            "configured_name": "Demo",
            "amount": 12.34,
            "is_upsell": True,
            "event_time_utc": "2026-05-13T12:00:00Z",
            "order_id": "A",
            "order_name": '"B"',
            "event_url": "https://x.test/é",
            "heard_about_us": None,
            "self_reported_source": None,
        }
    ]


def test_with_sources_a_row_is_a_credited_touchpoint(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    ad = stage.touchpoint(
        contact_id, "facebook_ads", occurred_at=NOON - timedelta(days=2), campaign_id="7",
        campaign_name="Spring", adset_id="8", adset_name="S", ad_id="9", ad_name="A",
        account_id="10", account_name="Acme",
    )  # fmt: skip
    mail = stage.touchpoint(contact_id, "email", occurred_at=NOON)
    stage.touchpoint(contact_id, "direct", occurred_at=NOON - timedelta(days=1))
    event_id = stage.event(contact_id, amount=Decimal(100))
    rows = api.rows(
        **{"sources[]": ["email", "facebook_ads"], "fields[]": ["amount", *AD_FIELDS]},
        attribution_model="u_shaped",
        attribution_window=30,
    )
    shared = {"id": event_id, "event_time_utc": "2026-05-13T12:00:00Z", "amount": 40}
    names = {
        "ad_id": "9", "ad_name": "A", "adset_id": "8", "adset_name": "S", "campaign_id": "7",
        "campaign_name": "Spring", "account_id": "10", "account_name": "Acme",
    }  # fmt: skip
    assert rows == [
        {**shared, **dict.fromkeys(AD_FIELDS), "touchpoint_id": mail, "source": "email"},
        {**shared, **names, "touchpoint_id": ad, "source": "facebook_ads"},
    ]


@pytest.mark.parametrize(
    ("requested_fields", "answered_fields"),
    [
        ([], ["id", "event_time_utc", "touchpoint_id"]),
        (["amount"], ["id", "amount", "event_time_utc", "touchpoint_id"]),
        (["ad_id"], ["id", "event_time_utc", "ad_id", "touchpoint_id", "source"]),
        (["source"], ["id", "event_time_utc", "touchpoint_id", "source"]),
    ],
)
def test_fields_that_come_along(
    api: Api, stage: Stage, requested_fields: list[str], answered_fields: list[str]
) -> None:
    contact_id = stage.contact()
    stage.touchpoint(contact_id, "email")
    stage.event(contact_id)
    (row,) = api.rows(**CREDITED, **{"fields[]": requested_fields})
    assert list(row) == answered_fields


def test_company_mode_credits_colleagues(api: Api, stage: Stage) -> None:
    company_id = stage.company()
    buyer, colleague = (stage.contact(company_id=company_id) for _ in range(2))
    touch = stage.touchpoint(colleague, "email", company_id=company_id)
    stage.event(buyer, company_id=company_id)
    assert api.rows(**CREDITED) == []
    (row,) = api.rows(**CREDITED, query_mode="company")
    assert row["touchpoint_id"] == touch


def test_model_and_window_without_sources_change_nothing(api: Api, stage: Stage) -> None:
    event_id = stage.event(stage.contact())
    rows = api.rows(attribution_model="linear", attribution_window=0)
    assert rows == [{"id": event_id, "event_time_utc": "2026-05-13T12:00:00Z"}]


def test_event_names_filter(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    matching_ids = [stage.event(contact_id, event_name=name) for name in ("sign_up", "custom_event_50")]
    stage.event(contact_id, event_name="purchase")
    for form in ("event_names", "event_names[]"):
        rows = api.rows(**{form: ["sign_up", "custom_event_50"]})
        assert [row["id"] for row in rows] == matching_ids[::-1]


def test_bounds_are_inclusive_and_local(client: httpx.Client, connection: psycopg.Connection) -> None:
    stage = make_stage(connection, timezone="Europe/Berlin")
    contact_id = stage.contact()
    inside = [
        stage.event(contact_id, event_time=datetime(2026, 5, 13, 10, 0, 0, microsecond, tzinfo=UTC))
        for microsecond in (0, 999_000)
    ]
    for outside in (timedelta(milliseconds=-1), timedelta(seconds=2)):
        stage.event(contact_id, event_time=datetime(2026, 5, 13, 10, tzinfo=UTC) + outside)
    rows = Api(client, stage.key).rows(start_date="2026-05-13 12:00:00", end_date="2026-05-13 12:00:01")
    assert [row["id"] for row in rows] == inside[::-1]


def test_nothing_crosses_spaces(api: Api, stage: Stage, connection: psycopg.Connection) -> None:
    """Two Spaces with the same ids: no touches, contacts or labels leak."""
    other_stage = make_stage(connection)
    contact_id = stage.contact(profile_field_1="mine")
    other_stage.contact(id=contact_id, profile_field_1="other")
    touch = stage.touchpoint(contact_id, "email")
    other_stage.touchpoint(contact_id, "email", id=touch + 1_000_000_000_000)
    event_id = stage.event(contact_id, event_name="custom_event_1")
    other_stage.event(contact_id, id=event_id, event_name="custom_event_1", order_id="other")
    stage.label_field("profile_field_1")
    other_stage.label_event("custom_event_1", "other")
    condition = {
        "custom_field_filters[0][field]": "profile_field_1",
        "custom_field_filters[0][operator]": "equal_to",
        "custom_field_filters[0][value]": "mine",
    }
    for mode in ("profile", "company"):
        (row,) = api.rows(
            **CREDITED, **condition, **{"fields[]": ["configured_name", "order_id"]}, query_mode=mode
        )
        assert row == {
            "id": event_id,
            "configured_name": "custom_event_1",
            "event_time_utc": "2026-05-13T12:00:00Z",
            "order_id": None,
            "touchpoint_id": touch,
        }


@pytest.mark.parametrize(
    ("params", "names"),
    [
        ({"start_date": ""}, ["start_date"]),
        ({"start_date": "2026-1-1 00:00:00"}, ["start_date"]),
        ({"start_date": "2026-01-01  00:00:00"}, ["start_date"]),
        ({"start_date": "2026-01-01"}, ["start_date"]),
        ({"start_date": "٢026-01-01 00:00:00"}, ["start_date"]),
        ({"start_date": "2026-02-30 00:00:00"}, ["start_date"]),
        ({"start_date": "0000-01-01 00:00:00"}, ["start_date"]),
        ({"end_date": "2026-01-01 24:00:00"}, ["end_date"]),
        ({"end_date": "2026-01-01 00:00:60"}, ["end_date"]),
        ({"end_date": "2026-01-01 00:00:00"}, ["end_date"]),
        ({"end_date": "2025-01-01 00:00:00"}, ["end_date"]),
        ({"query_mode": "contact"}, ["query_mode"]),
        ({"query_mode": ["profile", "profile"]}, ["query_mode"]),
        ({"query_mode[]": "profile"}, ["query_mode"]),
        ({"event_names[]": "refund"}, ["event_names"]),
        ({"event_names[]": "custom_event_51"}, ["event_names"]),
        ({"event_names[]": ""}, ["event_names"]),
        ({"event_names[]": ["purchase", "purchase"]}, ["event_names"]),
        ({"event_names[a]": "purchase"}, ["event_names"]),
        ({"event_names[]": [f"custom_event_{n}" for n in range(1, 12)]}, ["event_names"]),
        ({"sources[]": "email"}, ["attribution_model", "attribution_window"]),
        ({**CREDITED, "sources[]": "radio"}, ["sources"]),
        ({**CREDITED, "attribution_model": "markov"}, ["trained_model"]),
        ({**CREDITED, "attribution_model": "first"}, ["attribution_model"]),
        ({**CREDITED, "attribution_window": "2"}, ["attribution_window"]),
        ({**CREDITED, "attribution_window": "07"}, ["attribution_window"]),
        ({"attribution_model": "first"}, ["attribution_model"]),
        ({"attribution_window": "-1"}, ["attribution_window"]),
        ({"fields[]": "email"}, ["fields"]),
        ({"fields[]": ["id", "id"]}, ["fields"]),
        ({"fields[]": "touchpoint_id"}, ["fields"]),
        ({"fields[]": "source"}, ["fields"]),
        ({"fields[]": "campaign_id"}, ["fields"]),
        ({"per_page": "0"}, ["per_page"]),
        ({"per_page": "1001"}, ["per_page"]),
        ({"per_page": "-1"}, ["per_page"]),
        ({"per_page": "1e2"}, ["per_page"]),
        ({"per_page": "9" * 5000}, ["per_page"]),
        ({"per_page": ["1", "5000"]}, ["per_page"]),
        ({"cursor": "abc"}, ["cursor"]),
        ({"cursor": "é"}, ["cursor"]),
        ({"query_mode": "\0"}, ["query_mode"]),
        (
            {"start_date": "x", "query_mode": "x", "sources": "x", "per_page": "x", "cursor": "x"},
            ["start_date", "query_mode", "sources", "attribution_model", "attribution_window",
             "per_page", "cursor"],
        ),
    ],
)  # fmt: skip
def test_what_breaks_a_rule_is_named(api: Api, params: dict[str, Any], names: list[str]) -> None:
    assert sorted(api.errors(**params)) == sorted(names)


def test_dates_are_required(api: Api) -> None:
    response = api.get("/events")
    assert response.status_code == 422
    assert response.json()["errors"] == {
        "start_date": ["The start_date is required."],
        "end_date": ["The end_date is required."],
    }


def test_unknown_parameters_are_ignored(api: Api) -> None:
    assert api.list(sort="asc", **{"page[number]": "2", "fieldz[]": "x"}).status_code == 200


@pytest.mark.parametrize("query", ["query_mode=%ff", "x=%00", "%ff=1", "x%00=1", "x=%ed%a0%80"])
def test_hostile_text_is_refused(api: Api, query: str) -> None:
    range_query = str(httpx.QueryParams(RANGE))
    assert api.get(f"/events?{range_query}&{query}").status_code == 422


@pytest.mark.parametrize("part", ["a", "x[]=1", "fields=", "fields[]=", "sources[0]=a", "&", "=", ";"])
def test_thousands_of_parameters_are_no_failure(api: Api, part: str) -> None:
    query = f"{httpx.QueryParams(RANGE)}&{'&'.join([part] * (60_000 // (len(part) + 1)))}"
    assert api.get(f"/events?{query}").status_code in (200, 422)


def test_it_needs_the_scope(client: httpx.Client, connection: psycopg.Connection) -> None:
    writer = make_stage(connection, scopes=("events:write",))
    response = Api(client, writer.key).list()
    assert response.status_code == 403
    assert "events:read" in response.json()["message"]
    assert client.get("/events", headers={"Authorization": ""}).status_code == 401


def test_the_description_names_every_parameter(client: httpx.Client) -> None:
    operation = client.get("/openapi.json").json()["paths"][f"{API}/events"]["get"]
    assert [parameter["name"] for parameter in operation["parameters"]] == [
        "start_date", "end_date", "query_mode", "event_names", "sources", "attribution_model",
        "attribution_window", "trained_model", "fields", "amount_min", "amount_max", "order_by", "per_page",
        "cursor", "custom_field_filters",
    ]  # fmt: skip
    assert set(operation["responses"]) == {
        "200", "400", "401", "403", "414", "422", "429", "431", "503",
    }  # fmt: skip
