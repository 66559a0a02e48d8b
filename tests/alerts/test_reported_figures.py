"""The figures that alerts watch."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import psycopg

from headwater.alerts.reported_figures import MOST_DAYS, read_day_figures
from headwater.sources.catalogue import SOURCES
from tests.support.factories import Stage

START = datetime(2026, 3, 1, tzinfo=UTC)
BUSY = SOURCES[:36]
"""So many sources that a month has more than 1,000 of their days."""


def test_it_works(connection: psycopg.Connection, space_id: int, database_url: str) -> None:
    """Every day of every source counts."""
    stage = Stage(connection, space_id, "")
    with connection.transaction():
        for source in BUSY:
            contact = stage.contact()
            stage.touchpoint(contact, source, occurred_at=START)
            for day in range(MOST_DAYS):
                stage.event(contact, event_time=START + timedelta(days=day, hours=1), amount=1)

    async def read() -> int:
        async with await psycopg.AsyncConnection.connect(database_url) as reader:
            start = START.replace(tzinfo=None)
            figures = await read_day_figures(reader, space_id, start, start + timedelta(days=MOST_DAYS))
            return sum(figure.number for figure in figures if figure.measure == "day_orders")

    assert asyncio.run(read()) == MOST_DAYS * len(BUSY)
