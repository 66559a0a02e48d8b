"""Content equal to the page and its CSV file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from psycopg import AsyncConnection

from headwater.alerts.notifications.models import Notice, ReportTable
from headwater.console.report_pages import figures
from headwater.console.report_pages.bar import SHAREABLE, model_title
from headwater.console.report_pages.basis import Basis, choose_basis, title_columns
from headwater.console.report_pages.breakdown import LEVELS, title
from headwater.console.report_pages.channels import select_columns
from headwater.console.report_pages.models import model_choices_report
from headwater.console.report_pages.paths import paths_csv_report
from headwater.console.report_pages.view import ReportView
from headwater.console.scheduled_reports.scheduled_reports import ScheduledReport
from headwater.http.inputs.parameters import Query
from headwater.reports.engine.report import ReportResult, ReportRow, query_report
from headwater.reports.query import FigureColumn, Measure, ReportQuery
from headwater.reports.questions.report import answer_report, report_csv
from headwater.spaces.models import Space

LISTED = 10
LONGEST_KEY = 60
LARGEST_FILE = 1_000_000
"""Maximum characters of an attached CSV file."""


@dataclass(frozen=True)
class SentQuery:
    """A view's report, and the columns listed in a message."""

    basis: Basis
    query: ReportQuery
    columns: tuple[Measure, ...]
    titles: Mapping[Measure, str]


def build_sent_query(space: Space, scheduled: ScheduledReport, current_time: datetime) -> SentQuery:
    """Raise Invalid for bad input."""
    parameters = Query(scheduled.query.encode())
    period = scheduled.schedule.period_words(current_time.astimezone(space.zone).date())
    view = ReportView.read(parameters).changed(period=period, start_date="", end_date="")
    basis, titles = choose_basis(view), title_columns(space, view)
    if scheduled.page == "/models":
        query = model_choices_report(space, view, parameters, basis, current_time)
    elif scheduled.page == "/paths":
        query = paths_csv_report(space, view, parameters, current_time)
    else:
        query = view.report(space, current_time, basis.measures, LEVELS[:1])
        return SentQuery(basis, query, basis.columns, titles)
    return SentQuery(basis, query, query.measures, titles)


async def make_notice(
    connection: AsyncConnection, space: Space, scheduled: ScheduledReport, current_time: datetime
) -> Notice:
    """Return a report as a notice. Needs a new transaction. Raise Invalid and ReportTooLarge."""
    sent_query = build_sent_query(space, scheduled, current_time)
    report = await query_report(connection, space.id, sent_query.query)
    dates = figures.dates(report.span)
    headline = format_headline(sent_query, report)
    content = (
        report_csv(answer_report(sent_query.query, report)).decode("utf-8-sig")
        if scheduled.with_csv
        else None
    )
    is_whole = content is not None and len(content) <= LARGEST_FILE
    return Notice(
        subject=f"[{space.name}] {scheduled.name}: {headline}",
        headline=f"{scheduled.name}, {dates}: {headline}",
        paragraphs=[
            f"{space.name}: {SHAREABLE[scheduled.page]}, {describe_terms(sent_query, report)}.",
            *(f"{money.words}." for money in report.left_out_money),
            *(
                ["The CSV file is too large to send. Download it from the page."]
                if scheduled.with_csv and not is_whole
                else []
            ),
        ],
        table=build_table(sent_query, report),
        link=f"/console/spaces/{space.id}{scheduled.find_page(current_time, space.zone)}",
        link_text="Open the report",
        file_name=f"report-{report.span.start:%Y-%m-%d}-{report.span.end:%Y-%m-%d}.csv" if is_whole else None,
        file=content if is_whole else None,
    )


def format_headline(sent_query: SentQuery, report: ReportResult) -> str:
    totals = report.overall or report.total
    first = next(
        (
            column
            for column in (sent_query.basis.whole, sent_query.columns[0])
            if FigureColumn(column) in totals.figures
        ),
        None,
    )
    row: ReportRow = totals
    if first is None:  # with several models: the first model's
        column = report.columns[0]
        return _figure(sent_query, report.total, column, report.currency)
    text = _figure(sent_query, row, FigureColumn(first), report.currency)
    change = figures.change(row, FigureColumn(first))
    if change is None:
        return text
    sign = {"up": "+", "down": "-", "same": ""}[change.direction]
    return f"{text} ({sign}{change.text})"


def describe_terms(sent_query: SentQuery, report: ReportResult) -> str:
    query = sent_query.query
    models = " and ".join(model_title(name).lower() for name in query.models)
    window = f"{query.window_days}-day window" if query.window_days else "any window"
    compared = report.compared_span
    beside = f", compared with {figures.dates(compared)}" if compared else ""
    return f"{models}, {window}, {report.timezone}, {report.currency}{beside}"


def build_table(sent_query: SentQuery, report: ReportResult) -> ReportTable:
    measures = select_columns(sent_query.columns, report)
    columns = [column for column in report.columns if column.measure in measures]
    rows = [
        [_key(sent_query, row), *(figures.written(c.measure, row.figures[c]) for c in columns)]
        for row in report.rows[:LISTED]
    ]
    if report.unattributed is not None:
        nobody = report.unattributed.row.figures
        values = (figures.written(c.measure, nobody[c]) if c in nobody else "" for c in columns)
        rows.append(["Unattributed", *values])
    group = str(sent_query.query.group_by[0]).replace("_", " ").capitalize()
    return ReportTable(columns=[group, *(_head(sent_query, column) for column in columns)], rows=rows)


def _figure(sent_query: SentQuery, row: ReportRow, column: FigureColumn, currency: str) -> str:
    value = figures.written(column.measure, row.figures[column])
    unit = f" {currency}" if column.measure in figures.MONEY else ""
    return f"{sent_query.titles.get(column.measure, 'Value').lower()} {value}{unit}"


def _head(sent_query: SentQuery, column: FigureColumn) -> str:
    text = sent_query.titles.get(column.measure, str(column.measure))
    return f"{text}, {model_title(column.model).lower()}" if column.model else text


def _key(sent_query: SentQuery, row: ReportRow) -> str:
    text = title(sent_query.query.group_by[0], row.keys[0])
    return text if len(text) <= LONGEST_KEY else f"{text[:LONGEST_KEY]}…"
