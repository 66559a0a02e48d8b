"""Content equal to the page and its CSV file."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime

from psycopg import AsyncConnection

from headwater.alerts.notifications.models import Notice
from headwater.console.report_pages import figures
from headwater.console.report_pages.bar import SHAREABLE
from headwater.console.scheduled_reports.event_content import load_channels, load_models, load_paths
from headwater.console.scheduled_reports.report_content import ReportContent, SentPage
from headwater.console.scheduled_reports.scheduled_reports import ScheduledReport
from headwater.console.scheduled_reports.spend_content import load_ads, load_cohorts, load_overview
from headwater.http.inputs.parameters import Query
from headwater.spaces.models import Space

LARGEST_FILE = 1_000_000
"""Maximum characters of an attached CSV file."""
_LOADERS: Mapping[str, Callable[[AsyncConnection, SentPage], Awaitable[ReportContent]]] = {
    "": load_overview,
    "/channels": load_channels,
    "/models": load_models,
    "/paths": load_paths,
    "/campaigns": load_ads,
    "/cohorts": load_cohorts,
}


async def make_notice(
    connection: AsyncConnection, space: Space, scheduled: ScheduledReport, current_time: datetime
) -> Notice:
    """Return a report as a notice. Needs a new transaction. Raise Invalid and ReportTooLarge."""
    due_at = scheduled.find_due(current_time, space.zone)
    period = scheduled.find_period(due_at, space.zone)
    page = SentPage(space, Query(scheduled.query.encode()), period, current_time)
    content = await _LOADERS[scheduled.page](connection, page)
    headline, *totals = content.totals
    file = content.write_csv().decode("utf-8-sig") if scheduled.with_csv else None
    is_whole = file is not None and len(file) <= LARGEST_FILE
    span = content.span
    return Notice(
        subject=f"[{space.name}] {scheduled.name}: {headline}",
        headline=f"{scheduled.name}, {figures.dates(span)}: {headline}",
        paragraphs=[
            f"{space.name}: {SHAREABLE[scheduled.page]}, {content.terms}.",
            *([f"{' · '.join(totals)}."] if totals else []),
            *(f"{money.words}." for money in content.left_out),
            *(
                ["The CSV file is too large to send. Download it from the page."]
                if scheduled.with_csv and not is_whole
                else []
            ),
        ],
        table=content.table,
        link=f"/console/spaces/{space.id}{scheduled.find_page(due_at, space.zone)}",
        link_text="Open the report",
        file_name=f"report-{span.start:%Y-%m-%d}-{span.end:%Y-%m-%d}.csv" if is_whole else None,
        file=file if is_whole else None,
    )
