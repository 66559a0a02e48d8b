"""The forwarding metrics in /metrics."""

from __future__ import annotations

import httpx
from prometheus_client.parser import text_string_to_metric_families

from tests.conftest import Running
from tests.deliveries.staging import Sending


def figures(server: Running) -> dict[tuple[str, str], float]:
    text = httpx.get(f"{server.base_url}/metrics", timeout=10).text
    return {
        (sample.name, sample.labels["platform"]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if "platform" in sample.labels
        and family.type == "gauge"
        and not sample.name.endswith("_created")  # the library adds these to counters
    }


def test_it_works(sending: Sending, server: Running) -> None:
    sending.clock.time -= 100
    destination = sending.destination()
    held_destination = sending.destination(status="held")
    sending.destination(wait_until=sending.moment(1000))
    sending.destination(status="removed", platform="tiktok")
    sending.delivery(destination)
    sending.delivery(destination, due_at=sending.moment(-50))
    sending.delivery(destination, status="retrying", due_at=sending.moment(1000))
    sending.delivery(destination, status="delivered")
    sending.delivery(held_destination)
    sending.connection.execute(
        "INSERT INTO verdict_requests (space_id, destination_id, request_id, delivery_ids, sent_at, due_at)"
        " VALUES (%s, %s, 'r1', '{1}', now(), now())", (sending.space_id, destination),
    )  # fmt: skip
    samples = figures(server)
    assert {name: samples[name, "meta"] for name, platform in samples if platform == "meta"} == {
        "headwater_deliveries_due": 3,
        "headwater_deliveries_waiting": 1,
        "headwater_deliveries_oldest_seconds": samples["headwater_deliveries_oldest_seconds", "meta"],
        "headwater_destinations_held": 1,
        "headwater_destinations_waiting": 1,
        "headwater_verdict_requests_open": 1,
    }
    assert 149 <= samples["headwater_deliveries_oldest_seconds", "meta"] < 200
    assert not any(platform == "tiktok" for _, platform in samples)
