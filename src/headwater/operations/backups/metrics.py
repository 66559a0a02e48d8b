from __future__ import annotations

from prometheus_client.core import GaugeMetricFamily, Metric
from psycopg import AsyncConnection

from headwater.database.queries import fetch_one
from headwater.operations.backups.records import queries


async def backup_gauges(connection: AsyncConnection) -> list[Metric]:
    """Return the age of the latest backup; no sample without one."""
    family = GaugeMetricFamily("headwater_backup_age_seconds", "Age of the latest backup")
    (age,) = await fetch_one(connection, queries["age"])
    if age is not None:
        family.add_metric([], age)
    return [family]
