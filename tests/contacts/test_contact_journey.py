"""`events` of a contact: its conversions and touchpoints."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.sources.catalogue import API_NAMES, SOURCES
from tests.support.factories import NOON, Stage
from tests.support.people import merge
from tests.support.reading_fixtures import Api

ALL = {"include_events": 1, "hide_direct_touchpoints": 0}


def journey(api: Api, contact_id: int, **params: Any) -> list[dict[str, Any]]:
    response = api.get(f"/contacts/{contact_id}", params=params or ALL)
    assert response.status_code == 200, response.text
    return response.json()["events"]


def test_it_works(api: Api, stage: Stage) -> None:
    company_id = stage.company()
    contact_id = stage.contact(company_id=company_id)
    touchpoint_id = stage.touchpoint(
        contact_id, "facebook_ads", company_id=company_id, url="https://shop.example/?fbclid=1",
        referrer_host="facebook.com", ad_id="1", ad_name="Ad", adset_id="2", adset_name="Set",
        campaign_id="3", campaign_name="Spring", account_id="4", account_name="Shop",
        occurred_at=datetime(2026, 5, 13, 13, 58, 22, 500_000, tzinfo=UTC),
    )  # fmt: skip
    stage.label_event("custom_event_1", "Demo booked")
    event_id = stage.event(
        contact_id, company_id=company_id, event_name="custom_event_1", amount=Decimal("12.5000"),
        event_url="https://shop.example/thanks", order_id="A-1", order_name="First",
        is_upsell=True, event_time=datetime(2026, 5, 13, 14, tzinfo=UTC),
    )  # fmt: skip
    conversion, touchpoint = journey(api, contact_id)
    assert conversion == {
        "type": "conversion", "id": event_id, "event_time_utc": "2026-05-13T14:00:00Z",
        "event_url": "https://shop.example/thanks", "event_name": "custom_event_1",
        "configured_name": "Demo booked", "amount": 12.5, "order_id": "A-1",
        "order_name": "First", "is_upsell": True, "company_id": company_id,
    }  # fmt: skip
    assert touchpoint == {
        "type": "touchpoint", "id": touchpoint_id, "event_time_utc": "2026-05-13T13:58:22.500Z",
        "event_url": "https://shop.example/?fbclid=1", "referrer_host": "facebook.com",
        "source": "facebook_ads", "is_paid": True, "is_direct": False, "ad_id": "1",
        "ad_name": "Ad", "adset_id": "2", "adset_name": "Set", "campaign_id": "3",
        "campaign_name": "Spring", "account_id": "4", "account_name": "Shop",
        "company_id": company_id,
    }  # fmt: skip
    assert list(conversion) == [
        "type", "id", "event_time_utc", "event_url", "event_name", "configured_name", "amount",
        "order_id", "order_name", "is_upsell", "company_id",
    ]  # fmt: skip
    assert list(touchpoint) == [
        "type", "id", "event_time_utc", "event_url", "referrer_host", "source", "is_paid",
        "is_direct", "ad_id", "ad_name", "adset_id", "adset_name", "campaign_id",
        "campaign_name", "account_id", "account_name", "company_id",
    ]  # fmt: skip


def test_absent_values_are_null(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    stage.touchpoint(contact_id, "email")
    stage.event(contact_id)
    conversion, touchpoint = journey(api, contact_id)
    assert {name for name, value in conversion.items() if value is None} == {
        "event_url", "amount", "order_id", "order_name", "company_id",
    }  # fmt: skip
    assert {name for name, value in touchpoint.items() if value is None} == {
        "event_url", "referrer_host", "ad_id", "ad_name", "adset_id", "adset_name",
        "campaign_id", "campaign_name", "account_id", "account_name", "company_id",
    }  # fmt: skip
    assert conversion["configured_name"] == "purchase"


def test_each_source_is_told_paid_and_direct(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    for source in SOURCES:
        stage.touchpoint(contact_id, source)
    items = journey(api, contact_id)
    assert [item["source"] for item in items] == list(reversed(API_NAMES))
    # A paid touch of an unlisted network is a paid referral.
    is_paid = [source.endswith("_ads") or source == "paid_other" for source in reversed(SOURCES)]
    assert [item["is_paid"] for item in items] == is_paid
    for item in items:
        assert item["is_direct"] is (item["source"] == "direct")


@pytest.mark.parametrize("params", [{}, {"hide_direct_touchpoints": 1}])
def test_direct_touchpoints_are_hidden_unless_asked_for(
    api: Api, stage: Stage, params: dict[str, Any]
) -> None:
    contact_id = stage.contact()
    email, direct = (stage.touchpoint(contact_id, source) for source in ("email", "direct"))
    event_id = stage.event(contact_id)
    ids = [item["id"] for item in journey(api, contact_id, include_events=1, **params)]
    assert ids == [event_id, email]
    assert [item["id"] for item in journey(api, contact_id)] == [event_id, direct, email]


def test_hiding_them_matters_only_with_events(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    response = api.get(f"/contacts/{contact_id}", params={"hide_direct_touchpoints": 0})
    assert response.status_code == 200
    assert "events" not in response.json()


def test_the_conversion_comes_before_the_touchpoint_of_its_request(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    for _ in range(2):
        receipt = stage.touchpoint(contact_id, "email")
        stage.event(contact_id, id=receipt)
    types = [item["type"] for item in journey(api, contact_id)]
    assert types == ["conversion", "conversion", "touchpoint", "touchpoint"]


def test_it_holds_what_merged_contacts_did_and_nobody_else(api: Api, stage: Stage) -> None:
    ada, old, bob = (stage.contact() for _ in range(3))
    item_ids = [stage.event(ada), stage.touchpoint(old, "email"), stage.event(old)]
    stage.event(bob)
    merge(stage, old, ada)
    assert {item["id"] for item in journey(api, ada)} == set(item_ids)


@given(items=st.lists(st.tuples(st.booleans(), st.integers(0, 3)), max_size=15))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_most_recent_comes_first(api: Api, stage: Stage, items: list[tuple[bool, int]]) -> None:
    contact_id = stage.contact()
    expected: list[tuple[int, bool, int]] = []
    for is_conversion, minute in items:
        moment = NOON + timedelta(minutes=minute)
        if is_conversion:
            number = stage.event(contact_id, event_time=moment)
        else:
            number = stage.touchpoint(contact_id, "email", occurred_at=moment)
        expected.append((minute, is_conversion, number))
    rows = [(item["type"] == "conversion", item["id"]) for item in journey(api, contact_id)]
    assert rows == [(kind, number) for _, kind, number in sorted(expected, reverse=True)]
