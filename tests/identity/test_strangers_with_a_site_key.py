"""Attacks by a stranger who has read the site key in a page: requests to the endpoint with a fake Origin."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.intake.pipeline.batch_runner import process_space
from tests.support.factories import Stage
from tests.support.reading_fixtures import Api
from tests.support.sites import Site, event, identify, page

ALL = {"start_date": "2020-01-01 00:00:00", "end_date": "2099-01-01 00:00:00"}


def track(api: Api, **values: Any) -> str:
    """Send an event from the business's server and return its receipt."""
    response = api.send("POST", "/events/track", json={"event_name": "purchase", **values})
    assert response.status_code == 202
    return response.headers["x-receipt-id"]


def process(site: Site) -> None:
    while process_space(site.connection, site.space_id).rows:
        pass


def contact(api: Api, email: str) -> dict[str, Any]:
    response = api.get(f"/contacts/by-email/{email}")
    assert response.status_code == 200, response.text
    return response.json()


@pytest.fixture
def customers(site: Site, api: Api) -> Site:
    """Two customers that the business knows."""
    for name, level in (("alice", "gold"), ("bob", "silver")):
        track(api, email=f"{name}@gmail.com", full_name=name, profile_field_1=level)
    process(site)
    return site


def test_it_works(customers: Site, api: Api) -> None:
    """No contacts are merged, none gets an address, and no value is replaced."""
    customers.report(
        identify(email="alice@gmail.com", tracking_id="T"),
        identify(email="mallory@gmail.com", tracking_id="T"),
        identify(email="bob@gmail.com", tracking_id="T"),
        identify(email="alice@gmail.com", profile_field_1="hacked", full_name="x", phone="1"),
    )
    process(customers)
    alice, bob = contact(api, "alice@gmail.com"), contact(api, "bob@gmail.com")
    assert alice["id"] != bob["id"]
    assert (alice["emails"], bob["emails"]) == (["alice@gmail.com"], ["bob@gmail.com"])
    assert (alice["names"], alice["phones"]) == (["alice"], ["1"])
    assert alice["custom_fields"] == {"profile_field_1": "gold"}


@pytest.mark.parametrize("key", ["order_id", "idempotency_key"])
def test_a_purchase_of_the_server_is_stored(site: Site, api: Api, key: str) -> None:
    site.report(event(amount=0.01, **{key: "1007"}))
    process(site)
    receipt = track(api, email="alice@gmail.com", amount=5000, **{key: "1007"})
    process(site)
    answer = api.get(f"/receipts/{receipt}").json()
    assert (answer["status"], answer["event_id"]) == ("stored", receipt)
    params = {**ALL, "fields": ["id", "amount"]}
    rows = api.get("/events", params=params).json()["data"]
    assert [row["amount"] for row in rows] == [5000]


def test_no_refunds_by_pages(site: Site) -> None:
    response = site.report(event(amount=-99_999_999), event(amount=-0.0))
    assert [result["status"] for result in response.json()["results"]] == ["invalid", "queued"]
    assert "amount" in response.json()["results"][0]["errors"]


def test_a_site_may_refuse_amounts(site: Site, stage: Stage) -> None:
    stage.connection.execute("UPDATE sites SET accepts_amounts = false WHERE id = %s", (site.id,))
    first, second = site.report(event(amount=5), event()).json()["results"]
    assert (first["errors"].keys(), second["status"]) == ({"amount"}, "queued")


def test_an_equal_telephone_behind_the_same_address_is_another(site: Site, api: Api) -> None:
    shop, fingerprint = "https://shop.example/", {"fingerprint": "equal"}
    site.report(page(f"{shop}?gclid=A1"), identify(email="anna@gmail.com"), token="T1", **fingerprint)
    site.report(page(f"{shop}?utm_source=fb&utm_medium=paid"), token="T2", **fingerprint)
    process(site)
    track(api, email="ben@gmail.com", trk_token="T2", amount=100)
    process(site)
    assert contact(api, "anna@gmail.com")["id"] != contact(api, "ben@gmail.com")["id"]
    params = {
        **ALL, "sources": "facebook_ads", "attribution_model": "linear", "attribution_window": 0,
        "fields": ["source", "amount"],
    }  # fmt: skip
    rows = api.get("/events", params=params).json()["data"]
    assert [(row["source"], row["amount"]) for row in rows] == [("facebook_ads", 100)]
