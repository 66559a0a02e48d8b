"""POST /destinations/{id}/replay: finished deliveries queued again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headwater.forwarding.deliveries import delivery_log
from headwater.forwarding.platforms.models import SkipReason
from tests.support.destinations import Forwarder
from tests.support.reading_fixtures import Api


def replay(api: Api, destination_id: int, **body: Any) -> dict[str, Any]:
    response = api.send("POST", f"/destinations/{destination_id}/replay", json=body)
    assert response.status_code == 200, response.text
    return response.json()


def test_it_works(api: Api, forwarder: Forwarder) -> None:
    destination_id = forwarder.make()
    columns = {"attempts": 8, "due_at": "infinity", "dedup_id": "order-7", "error": "No.",
               "queued_at": "-infinity"}  # fmt: skip
    failed_delivery = forwarder.delivery(destination_id, status="failed", **columns)
    expired_delivery = forwarder.delivery(destination_id, status="expired")
    other_deliveries = [
        forwarder.delivery(destination_id, status=status, reason=reason)
        for status, reason in (("delivered", None), ("skipped", "paused"), ("retrying", None))
    ]
    forwarder.stage.attempt(failed_delivery)
    assert replay(api, destination_id) == {"queued": 2, "too_old": 0, "more": False}
    rows = {row[0]: row[1:] for row in forwarder.deliveries(
        "id", "status", "reason", "attempts", "dedup_id", "due_at <= now()",
        "queued_at > now() - interval '1 minute'", "finished_at",
    )}  # fmt: skip
    assert rows[failed_delivery] == ("queued", None, 0, "order-7", True, True, None)
    assert rows[expired_delivery][0] == "queued"
    assert [rows[delivery][0] for delivery in other_deliveries] == ["delivered", "skipped", "retrying"]
    assert len(api.get(f"/deliveries/{failed_delivery}").json()["history"]) == 1
    assert replay(api, destination_id) == {"queued": 0, "too_old": 0, "more": False}


def test_filters_select_deliveries(api: Api, forwarder: Forwarder) -> None:
    destination_id, other_destination_id = forwarder.make(), forwarder.make()
    delivery_ids = {
        reason: forwarder.delivery(destination_id, status="skipped", reason=reason) for reason in SkipReason
    }
    failed_delivery = forwarder.delivery(destination_id, status="failed")
    foreign_delivery = forwarder.delivery(other_destination_id, status="failed")
    answer = replay(
        api, destination_id, status=["failed"], delivery_ids=[foreign_delivery, delivery_ids["paused"]]
    )
    assert answer["queued"] == 0
    assert replay(api, destination_id, status=["skipped"], reason=["paused"])["queued"] == 1
    assert dict(forwarder.deliveries("id", "status"))[delivery_ids["paused"]] == "queued"
    ids = [failed_delivery, delivery_ids["no_mapping"], delivery_ids["do_not_capi"], 999999999999999999]
    answer = replay(api, destination_id, status=["failed", "skipped"], delivery_ids=ids)
    assert answer["queued"] == 2
    assert (
        replay(api, destination_id, status=["skipped"])["queued"]
        == len(set(delivery_ids) - set(delivery_log.NEVER_AGAIN)) - 2
    )
    skip_reasons = [row[1] for row in forwarder.deliveries("status", "reason") if row[0] == "skipped"]
    assert set(skip_reasons) == set(delivery_log.NEVER_AGAIN)


def test_too_old(api: Api, forwarder: Forwarder) -> None:
    """The test platform accepts events for seven days."""
    destination_id = forwarder.make()
    now = datetime.now(UTC)
    for days in (6.9, 7.1, 30):
        moment = now - timedelta(days=days)
        forwarder.delivery(destination_id, status="expired", event_time=moment)
    assert replay(api, destination_id) == {"queued": 1, "too_old": 2, "more": False}
    assert sorted(forwarder.deliveries("status")) == ["expired", "expired", "queued"]


def test_a_deleted_event_stays_deleted(api: Api, forwarder: Forwarder) -> None:
    destination_id = forwarder.make()
    forwarder.delivery(destination_id, status="failed")
    api.send("DELETE", f"/events/{forwarder.deliveries('event_id')[0]}")
    assert replay(api, destination_id) == {"queued": 0, "too_old": 0, "more": False}


def test_what_is_not_known_is_ignored(api: Api, forwarder: Forwarder) -> None:
    answer = replay(api, forwarder.make(), other=[{}], statuses=["delivered"])
    assert answer == {"queued": 0, "too_old": 0, "more": False}


def test_so_many_at_a_time(api: Api, forwarder: Forwarder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_log, "MOST_REPLAYED", 2)
    destination_id = forwarder.make()
    for _ in range(3):
        forwarder.delivery(destination_id, status="failed")
    assert replay(api, destination_id) == {"queued": 2, "too_old": 0, "more": True}
    assert forwarder.deliveries("status") == ["queued", "queued", "failed"]
    assert replay(api, destination_id) == {"queued": 1, "too_old": 0, "more": False}


@pytest.mark.parametrize(
    ("body", "name"),
    [({"status": ["delivered"]}, "status"), ({"status": []}, "status"),
     ({"reason": ["do_not_capi"]}, "reason"), ({"delivery_ids": ["x"]}, "delivery_ids"),
     ({"delivery_ids": [1, 1]}, "delivery_ids"), ({"delivery_ids": []}, "delivery_ids"),
     ({"status": None}, "status"), ({"status": "failed"}, "status")],
)  # fmt: skip
def test_what_is_wrong_is_named(api: Api, forwarder: Forwarder, body: dict[str, Any], name: str) -> None:
    path = f"/destinations/{forwarder.make()}/replay"
    response = api.send("POST", path, json=body)
    assert response.status_code == 422
    assert [*response.json()["errors"]] == [name]
