from __future__ import annotations

from prometheus_client.core import GaugeMetricFamily, Metric
from psycopg import AsyncConnection

from headwater.database.queries import fetch_all
from headwater.forwarding.deliveries.queue import queries

_GAUGES = (
    ("headwater_deliveries_due", "Deliveries due now"),
    ("headwater_deliveries_waiting", "Deliveries to retry later"),
    ("headwater_deliveries_oldest_seconds", "Seconds since the oldest due delivery became due"),
    ("headwater_destinations_held", "Destinations with rejected credentials"),
    ("headwater_destinations_waiting", "Destinations paused after a failure"),
    ("headwater_verdict_requests_open", "Accepted requests without a final verdict on their events"),
)


async def delivery_gauges(connection: AsyncConnection) -> list[Metric]:
    """Return gauges of platforms with destinations."""
    families = [GaugeMetricFamily(name, description, labels=["platform"]) for name, description in _GAUGES]
    for platform, *figures in await fetch_all(connection, queries["figures"]):
        for family, figure in zip(families, figures, strict=True):
            family.add_metric([platform], figure)
    return list(families)
