"""Touchpoints sent on their own: what is stored, and what they change."""

from __future__ import annotations

from typing import Any

import httpx
import psycopg
import pytest

from headwater.sources.catalogue import SOURCE_IDS, SOURCES
from tests.support.pipeline import DAY, MINUTE, T0, Stage, event, touch

ADS = 1 << SOURCE_IDS["google_ads"]
SMS = 1 << SOURCE_IDS["sms"]
OCTOBER = {"start_date": "2025-10-01 00:00:00", "end_date": "2025-10-31 23:59:59"}


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id)


def make_touch(minute: float = 0, **values: Any) -> Any:
    return touch(**{"email": "a@b.org", "occurred_at": T0 + int(minute * MINUTE), **values})


def fetch_receipt(client: httpx.Client, receipt: int) -> dict[str, Any]:
    response = client.get(f"/receipts/{receipt}")
    assert response.status_code == 200
    return response.json()


def test_it_works(stage: Stage, client: httpx.Client) -> None:
    names = {
        name: f"some {name}"
        for name in ("campaign_id", "campaign_name", "adset_id", "adset_name", "ad_id", "ad_name",
                     "account_id", "account_name", "keyword", "url")
    }  # fmt: skip
    [receipt] = stage.run(make_touch(**names, referrer="https://News.example/a?b"))
    [contact] = stage.values("contacts", "id")
    columns = ("id", "contact_id", "source_id", "source_rule", "referrer_host", *names)
    assert stage.rows("touchpoints", *columns) == [
        (receipt, contact, SOURCE_IDS["google_ads"], "trk_source", "news.example", *names.values())
    ]
    assert stage.rows("contacts", "email", "source_mask") == [("a@b.org", ADS)]
    assert stage.values("events", "id") == []
    assert fetch_receipt(client, receipt) == {
        "id": str(receipt), "status": "stored", "event_id": None, "reason": None,
        "sender": "api_key", "warnings": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"source": "sms", "url": "https://x.example/?gclid=1"}, ("sms", "trk_source")),
        ({"url": "https://x.example/?gclid=1"}, ("google_ads", "gclid")),
        ({"url": "https://x.example/?utm_source=fb&utm_medium=cpc"},
         ("facebook_ads", "utm_source_paid")),
        ({"url": "https://x.example/", "referrer": "https://news.example/"},
         ("referral", "other_site")),
        ({"referrer": "news.example/page"}, ("referral", "other_site")),
        ({"url": "https://x.example/", "referrer": "https://X.example/b"}, ("direct", "own_host")),
        ({"url": "https://x.example/"}, ("direct", "direct")),
        ({"url": "https://x.example/", "referrer": "http://[bad"}, ("direct", "direct")),
    ],
)  # fmt: skip
def test_fields_decide_the_source(stage: Stage, fields: dict[str, str], expected: tuple[str, str]) -> None:
    stage.run(make_touch(**{"source": None, **fields}))
    [(number, rule)] = stage.rows("touchpoints", "source_id", "source_rule")
    assert (SOURCES[number - 1], rule) == expected


def test_stored_events_are_credited_to_it_afterwards(stage: Stage, client: httpx.Client) -> None:
    stage.run(event(email="a@b.org", event_time=T0 + DAY, amount="10"))
    query = {
        **OCTOBER, "sources": ["google_ads"], "fields": ["amount"], "attribution_model": "linear",
        "attribution_window": 30,
    }  # fmt: skip
    assert client.get("/events", params=query).json()["data"] == []
    stage.run(make_touch(), make_touch(60, source="sms"))
    [row] = client.get("/events", params=query).json()["data"]
    assert row["amount"] == 5
    assert stage.values("events", "source_mask") == [ADS | SMS]


@pytest.mark.parametrize("limit", [1, 10])
def test_only_events_after_it_know_it(stage: Stage, limit: int) -> None:
    stage.put(event(email="a@b.org", event_time=T0 - 1), event(email="a@b.org", event_time=T0))
    stage.put(make_touch())
    stage.process(limit)
    masks = [row[1] for row in stage.rows("events", "event_time", "source_mask")]
    assert masks[1] == ADS


@pytest.mark.parametrize("limit", [1, 10])
def test_the_same_within_half_an_hour_is_dropped(stage: Stage, client: httpx.Client, limit: int) -> None:
    receipts = stage.put(
        make_touch(0), make_touch(30), make_touch(30 + 1 / 60), make_touch(-1), make_touch(40, ad_id="2")
    )
    result = stage.process(limit)
    assert (result.rows, result.stored, result.duplicates, result.touchpoints) == (5, 4, 1, 4)
    assert stage.rows("duplicates", "id", "reason", "event_id") == [(receipts[1], "repeated_touch", None)]
    assert fetch_receipt(client, receipts[1]) == {
        "id": str(receipts[1]), "status": "duplicate", "event_id": None,
        "reason": "repeated_touch", "sender": "api_key", "warnings": [],
    }  # fmt: skip


@pytest.mark.parametrize("limit", [1, 10])
@pytest.mark.parametrize(
    ("first_fields", "second_fields", "is_duplicate"),
    [
        ({"campaign_id": "1"}, {"campaign_id": "1", "campaign_name": "Spring"}, True),
        ({"campaign_id": "1", "campaign_name": "a"}, {"campaign_id": "1", "campaign_name": "b"},
         True),
        ({"campaign_name": "a"}, {"campaign_name": "b"}, False),
        ({"ad_id": "1", "ad_name": "a"}, {"ad_id": "1"}, True),
        ({"ad_name": "a"}, {"ad_name": "b"}, False),
        ({"adset_name": "a"}, {"adset_id": "a"}, False),
        ({"account_id": "1"}, {"account_id": "2"}, True),
        ({"keyword": "a"}, {"keyword": "b"}, False),
        ({"source": "sms"}, {"source": "email"}, False),
    ],
)  # fmt: skip
def test_equal_touchpoints_are_duplicates(
    stage: Stage,
    limit: int,
    first_fields: dict[str, str],
    second_fields: dict[str, str],
    *,
    is_duplicate: bool,
) -> None:
    stage.put(make_touch(0, **first_fields), make_touch(10, **second_fields))
    stage.process(limit)
    assert len(stage.values("touchpoints", "id")) == (1 if is_duplicate else 2)


@pytest.mark.parametrize("limit", [1, 10])
def test_it_and_an_event_s_touchpoint_are_alike(stage: Stage, limit: int) -> None:
    values = {"email": "a@b.org", "trk_source": "google_ads", "trk_campaign": "12"}
    stage.put(event(**values), make_touch(5, campaign_id="12", campaign_name="Spring"))
    stage.put(event(**values, event_time=T0 + 20 * MINUTE))
    stage.process(limit)
    assert len(stage.values("touchpoints", "id")) == 1
    assert [row[0] for row in stage.rows("duplicates", "reason")] == ["repeated_touch"]


def test_it_joins_contacts_like_an_event(stage: Stage) -> None:
    stage.run(event(trk_token="t1"), make_touch(email="a@acme.com", trk_token="t1"))
    assert len(stage.values("contacts", "id")) == 1
    stage.run(event(tracking_id="u1", email="b@acme.com"))
    stage.run(make_touch(tracking_id="u1", email="a@acme.com"))
    [merge] = stage.rows("merges", "cause")
    assert merge == ("email",)
    [company] = stage.values("companies", "id")
    assert set(stage.values("touchpoints", "company_id")) == {company}


def test_what_is_no_identifier_is_told(stage: Stage, client: httpx.Client) -> None:
    [receipt] = stage.run(make_touch(email="noreply@b.org"))
    assert fetch_receipt(client, receipt)["reason"] == "email ignored: not an identifier"


def test_its_receipt_does_not_end_as_an_event_s_does(stage: Stage, client: httpx.Client) -> None:
    event_id, touchpoint_id = stage.run(event(trk_token="t1", trk_source="sms"), make_touch())
    assert client.delete(f"/events/{event_id}").status_code == 200
    assert event_id in stage.values("touchpoints", "id")
    assert client.get(f"/receipts/{event_id}").status_code == 404
    assert fetch_receipt(client, touchpoint_id)["status"] == "stored"


def test_a_row_that_cannot_be_read_is_rejected(stage: Stage) -> None:
    receipt = stage.put_row("touchpoint", '{"source": "sms"}')
    stage.process()
    assert stage.rows("rejected", "id", "reason") == [(receipt, "unreadable_payload")]
