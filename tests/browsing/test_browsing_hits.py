"""`browsing_session_hits` of a contact: its page views."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from headwater.sources.catalogue import SOURCE_IDS
from tests.support.factories import NOON, Stage
from tests.support.people import merge
from tests.support.reading_fixtures import Api

MOST = 1000


def hits(api: Api, contact_id: int) -> list[dict[str, Any]]:
    response = api.get(f"/contacts/{contact_id}", params={"include_browsing_session_data": 1})
    assert response.status_code == 200, response.text
    return response.json()["browsing_session_hits"]


def test_it_works(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    stage.hit(
        contact_id, stage.visit(contact_id), url="https://shop.example/a?b=c",
        referrer_host="google.com", source_id=SOURCE_IDS["google_organic"], country="GB",
        device_type="mobile", browser="Firefox", os="Android",
        occurred_at=datetime(2026, 5, 13, 13, 58, 22, 7_000, tzinfo=UTC),
    )  # fmt: skip
    (hit,) = hits(api, contact_id)
    assert hit == {
        "event_url": "https://shop.example/a?b=c", "referrer_host": "google.com",
        "source": "google_organic", "country": "GB", "device_type": "mobile",
        "browser": "Firefox", "os": "Android", "event_name": "page_view",
        "event_time_utc": "2026-05-13T13:58:22.007Z",
    }  # fmt: skip
    assert list(hit) == [
        "event_url", "referrer_host", "source", "country", "device_type", "browser", "os",
        "event_name", "event_time_utc",
    ]  # fmt: skip


def test_absent_values_are_null(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    stage.hit(contact_id, stage.visit(contact_id))
    (hit,) = hits(api, contact_id)
    assert {name for name, value in hit.items() if value is not None} == {
        "event_name", "event_time_utc",
    }  # fmt: skip


def test_the_most_recent_comes_first(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    visit_id = stage.visit(contact_id)
    for minute, url in ((1, "b"), (0, "a"), (1, "c"), (2, "d")):
        stage.hit(contact_id, visit_id, url=url, occurred_at=NOON + timedelta(minutes=minute))
    assert [hit["event_url"] for hit in hits(api, contact_id)] == ["d", "c", "b", "a"]


def test_it_holds_the_last_thousand(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    visit_id = stage.visit(contact_id)
    stage.connection.execute(
        "INSERT INTO hits (space_id, id, key, contact_id, visit_id, occurred_at, event_name, url)"
        " SELECT %s, nextval('receipt_ids'), gen_random_uuid(), %s, %s,"
        " %s + n * interval '1 second', 'page_view', n"
        " FROM generate_series(1, %s) n",
        (stage.space_id, contact_id, visit_id, NOON, MOST + 5),
    )
    urls = [hit["event_url"] for hit in hits(api, contact_id)]
    assert urls == [str(number) for number in range(MOST + 5, 5, -1)]


def test_it_holds_what_merged_contacts_saw_and_nobody_else(api: Api, stage: Stage) -> None:
    ada, old, bob = (stage.contact() for _ in range(3))
    for contact_id, url in ((ada, "a"), (old, "o"), (bob, "b")):
        stage.hit(contact_id, stage.visit(contact_id), url=url)
    merge(stage, old, ada)
    assert [hit["event_url"] for hit in hits(api, ada)] == ["o", "a"]
