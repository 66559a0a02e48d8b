"""Run reports for tests."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

import psycopg

from headwater.reports.engine.measures import Figures
from headwater.reports.engine.report import ReportResult, query_report
from headwater.reports.query import Group, Measure, ReportQuery

MAY = {"start": datetime(2026, 5, 1), "end": datetime(2026, 5, 31, 23, 59, 59)}  # noqa: DTZ001
MONEY = (Measure.REVENUE, Measure.CREDITED_REVENUE)


def ask(database_url: str, space_id: int, **parameters: Any) -> ReportResult:
    """Return a report over May 2026, unless the arguments override the period."""
    query = ReportQuery(**{**MAY, "measures": MONEY, **parameters})

    async def run() -> ReportResult:
        async with await psycopg.AsyncConnection.connect(database_url) as connection:
            return await query_report(connection, space_id, query)

    return asyncio.run(run())


def figures_by_key(report: ReportResult) -> dict[str | None, Figures]:
    """Return the figures of a report's rows by their first key."""
    return {row.keys[0].value: row.figures for row in report.rows}


__all__ = ["MAY", "MONEY", "Group", "Measure", "ask", "figures_by_key"]
