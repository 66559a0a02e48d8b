"""A report at an earlier time and now, with every cause of the difference and its largest events."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from zoneinfo import ZoneInfo

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.attribution.history.revisions import ChangeCause
from headwater.base.dates import format_day
from headwater.console.change_pages.channel_changes import list_tabs
from headwater.console.pages import redirect
from headwater.console.report_pages.bar import read_bar
from headwater.console.report_pages.basis import choose_basis
from headwater.console.report_pages.breakdown import title
from headwater.console.report_pages.csv_file import csv_response
from headwater.console.report_pages.report_page import REFUSALS, ReportPage, open_page
from headwater.console.visitor import HOME
from headwater.http.errors import Invalid
from headwater.http.inputs.date_range import DAY
from headwater.http.inputs.fields import written
from headwater.http.inputs.parameters import Parameter
from headwater.reports.changes.answers import changes_csv
from headwater.reports.changes.change import ChangeQuery
from headwater.reports.changes.credit import query_changes
from headwater.reports.engine.snapshots import ReportSnapshot, parse_snapshot
from headwater.reports.query import Group, ReportProblem, ReportRefused

USUAL = timedelta(days=7)


def _parse_since(text: str) -> date | ReportSnapshot:
    try:
        return parse_snapshot(text)
    except ValueError:
        return DAY.read(text)


_SINCE = Parameter(
    name="since",
    kind=written({"type": "string"}, _parse_since),
    description="The first day of changes, or a report's snapshot.",
)
_NOT_HERE = frozenset({"compare", "query_mode"})
WORDS: Mapping[ChangeCause, tuple[str, str]] = {
    ChangeCause.NEW_EVENTS: ("New events", "Conversions received since then."),
    ChangeCause.LATE_EVENTS: ("Late events", "Earlier conversions that arrived late."),
    ChangeCause.LATE_TOUCHES: (
        "Late touchpoints",
        "Touchpoints that arrived after the conversions they precede.",
    ),
    ChangeCause.WITHDRAWN_TOUCHES: (
        "Withdrawn touchpoints",
        "Page views that no longer start a visit because an earlier one arrived.",
    ),
    ChangeCause.MERGES: ("Merges", "Contacts merged because they are one person."),
    ChangeCause.UNMERGES: ("Unmerges", "Merges that were undone."),
    ChangeCause.EDITS: ("Edits", "Amounts that were changed."),
    ChangeCause.DELETIONS: ("Deletions", "Conversions that were deleted."),
    ChangeCause.REPLACEMENTS: ("Replacements", "Browser events replaced by the same event from your server."),
    ChangeCause.CLASSIFICATION: ("Names of sources", "Your source names, applied to past visits."),
    ChangeCause.SPEND_DELETIONS: ("Deleted spend", "Spend rows that were deleted."),
    ChangeCause.SPEND_REPLACEMENTS: (
        "Restated spend",
        "Newer reports from platforms, with different figures for the same ads.",
    ),
    ChangeCause.SPEND_IMPORTS: ("New spend", "Spend rows that arrived."),
    ChangeCause.RATES: ("Exchange rates", "Exchange rates were added or changed."),
    ChangeCause.TRAINED_MODELS: ("Trained models", "Credit uses another trained model."),
    ChangeCause.HALF_LIFE: ("Half-life", "The half-life of time decay was changed."),
}


class Since(Struct, frozen=True):
    """The start of the change period."""

    start: ReportSnapshot | datetime
    """A report snapshot, or the beginning of a day in the Space's time zone."""
    zone: ZoneInfo

    @property
    def text(self) -> str:
        return str(self.start) if isinstance(self.start, ReportSnapshot) else f"{self.day}"

    @property
    def moment(self) -> datetime:
        if isinstance(self.start, ReportSnapshot):
            return self.start.moment.astimezone(self.zone)
        return self.start

    @property
    def day(self) -> date:
        return self.moment.date()

    @property
    def words(self) -> str:
        day = format_day(self.moment)
        return (
            f"{self.moment:%H:%M} on {day}"
            if isinstance(self.start, ReportSnapshot)
            else (f"the beginning of {day}")
        )


def read_since(page: ReportPage) -> Since:
    """Raise Invalid for bad input."""
    since, zone = _SINCE.read(page.query), page.space.zone
    page.query.finish()
    if isinstance(since, ReportSnapshot):
        return Since(since, zone)
    day = since or datetime.now(zone).date() - USUAL
    return Since(datetime.combine(day, time()), zone)


def is_of_other_report(error: Invalid | ReportRefused) -> bool:
    """Whether a snapshot was taken with other choices. Its day still has an answer."""
    return error.extra.get("reason") == ReportProblem.OTHER_QUESTION


def _query(page: ReportPage, since: Since) -> ChangeQuery:
    """Raise Invalid for bad input."""
    measure = choose_basis(page.view).credited
    report = page.view.report(page.space, datetime.now(UTC), (measure,), (Group.CHANNEL,), compare="none")
    return ChangeQuery(report, since.start)


async def show_changes(request: Request) -> Response:
    page = await open_page(request)
    report, problem, since, parameters = None, None, None, {}
    try:
        since = read_since(page)
        parameters = {"since": since.text}
        query = _query(page, since)
        report = await page.load(partial(query_changes, space_id=page.space.id, query=query))
    except REFUSALS as error:
        if since and is_of_other_report(error):
            return redirect(request, page.view.link(page.path, since=f"{since.day}"))
        problem = error
    basis = choose_basis(page.view)
    return page.render(
        "changes_since.html",
        read_bar(page.space, page.view, page.path, absent_choices=_NOT_HERE, page_choices=parameters),
        problem,
        change=report,
        channel_title=partial(title, Group.CHANNEL),
        since=since,
        measure=basis.credited,
        column=str(basis.credited),
        words=WORDS,
        labels=page.space.event_labels,
        of_spend=page.view.link(f"{page.base}/campaigns/changes", **parameters),
        csv=page.view.link(f"{page.path}.csv", **parameters),
        tabs=list_tabs(page),
    )


async def send_csv(request: Request) -> Response:
    page = await open_page(request)
    query = _query(page, read_since(page))
    report = await page.load(partial(query_changes, space_id=page.space.id, query=query))
    return csv_response("changes", report.span, changes_csv(query, report))


_PATH = f"{HOME}/spaces/{{space_id}}/changes/since"
ROUTES = [Route(_PATH, show_changes, methods=["GET"]), Route(f"{_PATH}.csv", send_csv, methods=["GET"])]
