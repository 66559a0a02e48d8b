"""What /metrics tells of forwarding."""

from __future__ import annotations

import httpx
from prometheus_client.parser import text_string_to_metric_families

from tests.conftest import Running
from tests.forwarding.staging import Stage


def figures(server: Running) -> dict[tuple[str, str], float]:
    text = httpx.get(f"{server.base_url}/metrics", timeout=10).text
    return {
        (sample.name, sample.labels["platform"]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if "platform" in sample.labels
    }


def test_it_works(stage: Stage, server: Running) -> None:
    stage.clock.at -= 100
    destination = stage.destination()
    held = stage.destination(status="held")
    stage.destination(wait_until=stage.moment(1000))
    stage.destination(status="removed", platform="tiktok")
    stage.delivery(destination)
    stage.delivery(destination, due_at=stage.moment(-50))
    stage.delivery(destination, status="retrying", due_at=stage.moment(1000))
    stage.delivery(destination, status="delivered")
    stage.delivery(held)
    found = figures(server)
    assert {name: found[name, "meta"] for name, platform in found if platform == "meta"} == {
        "headwater_deliveries_due": 3,
        "headwater_deliveries_waiting": 1,
        "headwater_deliveries_oldest_seconds": found["headwater_deliveries_oldest_seconds", "meta"],
        "headwater_destinations_held": 1,
        "headwater_destinations_waiting": 1,
    }
    assert 149 <= found["headwater_deliveries_oldest_seconds", "meta"] < 200
    assert not any(platform == "tiktok" for _, platform in found)
