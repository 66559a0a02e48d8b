"""Warn of bursts of merges, a sign of a wrong identifier or an attack."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from prometheus_client.core import GaugeMetricFamily, Metric
from psycopg import AsyncConnection, Connection

from headwater.database.queries import fetch_all, fetch_row
from headwater.intake.merging.merge_log import queries

log = structlog.get_logger()


def is_burst_beginning(last_hour: int, new: int, threshold: int) -> bool:
    """Return True once per burst."""
    return last_hour - new < threshold <= last_hour


def warn_about_burst(connection: Connection[Any], space_id: int, new: int, threshold: int) -> None:
    row = fetch_row(connection, queries["count_lately"], {"space_id": space_id})
    if is_burst_beginning(row[0], new, threshold):
        log.warning("merge_burst", space_id=space_id, last_hour=row[0], threshold=threshold)


def merge_figures(threshold: int) -> Callable[[AsyncConnection], Awaitable[list[Metric]]]:

    async def read(connection: AsyncConnection) -> list[Metric]:
        merges = GaugeMetricFamily(
            "headwater_merges_last_hour", "Contacts merged in the last hour", labels=["space"]
        )
        bursts = GaugeMetricFamily(
            "headwater_merge_bursts", "Spaces with at least HEADWATER_MERGE_ALERT merges in the last hour"
        )
        recent_counts = await fetch_all(connection, queries["figures"])
        for space_id, recent_count in recent_counts:
            merges.add_metric([str(space_id)], recent_count)
        bursts.add_metric([], sum(recent_count >= threshold for _, recent_count in recent_counts))
        return [merges, bursts]

    return read
