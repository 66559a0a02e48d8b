"""Sent reports of the pages about credit by group: channels, models and journeys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from msgspec import Struct
from psycopg import AsyncConnection

from headwater.alerts.notifications.models import ReportTable
from headwater.console.report_pages import figures
from headwater.console.report_pages.bar import model_title
from headwater.console.report_pages.basis import Basis, choose_basis, get_total_row, title_columns
from headwater.console.report_pages.breakdown import LEVELS, title
from headwater.console.report_pages.channels import select_columns
from headwater.console.report_pages.models import model_choices_report
from headwater.console.report_pages.paths import paths_csv_report
from headwater.console.report_pages.view import ReportView
from headwater.console.scheduled_reports.report_content import (
    MOST_LISTED,
    ReportContent,
    SentPage,
    count_more,
    describe_terms,
    shorten_key,
    write_total,
)
from headwater.reports.engine.report import ReportResult, ReportRow, query_report
from headwater.reports.query import BY_MODEL, FigureColumn, Measure, ReportQuery
from headwater.reports.questions.report import answer_report, report_csv


class EventReport(Struct, frozen=True):
    basis: Basis
    query: ReportQuery
    columns: tuple[Measure, ...]
    """The columns listed in a message."""
    titles: Mapping[Measure, str]
    report: ReportResult

    @property
    def has_credit(self) -> bool:
        """Return False for journeys: no model applies, and only conversions with a touchpoint count."""
        return not BY_MODEL.isdisjoint(self.query.measures)


async def load_channels(connection: AsyncConnection, page: SentPage) -> ReportContent:
    view = page.read_view(ReportView)
    basis = choose_basis(view)
    query = view.report(page.space, page.current_time, basis.measures, LEVELS[:1])
    return await _load(connection, page, view, query, basis.columns)


async def load_models(connection: AsyncConnection, page: SentPage) -> ReportContent:
    view = page.read_view(ReportView)
    query = model_choices_report(page.space, view, page.query, choose_basis(view), page.current_time)
    return await _load(connection, page, view, query, query.measures)


async def load_paths(connection: AsyncConnection, page: SentPage) -> ReportContent:
    view = page.read_view(ReportView)
    query = paths_csv_report(page.space, view, page.query, page.current_time)
    return await _load(connection, page, view, query, query.measures)


async def _load(
    connection: AsyncConnection,
    page: SentPage,
    view: ReportView,
    query: ReportQuery,
    columns: tuple[Measure, ...],
) -> ReportContent:
    report = await query_report(connection, page.space.id, query)
    event_report = EventReport(choose_basis(view), query, columns, title_columns(page.space, view), report)
    return ReportContent(
        [_write_headline(event_report)],
        describe_terms(
            query if event_report.has_credit else replace(query, models=()),
            report.timezone,
            report.currency,
            report.compared_span,
        ),
        report.span,
        _build_table(event_report),
        report.left_out_money,
        lambda: report_csv(answer_report(query, report)),
    )


def _write_headline(event_report: EventReport) -> str:
    """Write the page's total; with several models, by the first one."""
    totals, whole_column = get_total_row(event_report.report), event_report.basis.whole_column
    column = whole_column if whole_column in totals.figures else event_report.report.columns[0]
    return _write_figure(event_report, totals, column)


def _write_figure(event_report: EventReport, row: ReportRow, column: FigureColumn) -> str:
    value = figures.written(column.measure, row.figures[column], event_report.report.currency)
    unit = f" {event_report.report.currency}" if column.measure in figures.MONEY else ""
    title = event_report.titles.get(column.measure, "Value")
    return write_total(title, f"{value}{unit}", figures.change(row, column))


def _build_table(event_report: EventReport) -> ReportTable:
    report = event_report.report
    measures = select_columns(event_report.columns, report)
    columns = [column for column in report.columns if column.measure in measures]
    group = event_report.query.group_by[0]
    rows = [
        [
            shorten_key(title(group, row.keys[0])),
            *(figures.written(column.measure, row.figures[column], report.currency) for column in columns),
        ]
        for row in report.rows[:MOST_LISTED]
    ]
    rows += count_more(len(report.rows) + report.left_out, 1 + len(columns))
    if report.unattributed is not None and event_report.has_credit:
        unattributed_figures = report.unattributed.row.figures
        values = (
            figures.written(c.measure, unattributed_figures[c], report.currency)
            if c in unattributed_figures
            else ""
            for c in columns
        )
        rows.append(["Unattributed", *values])
    name = str(group).replace("_", " ").capitalize()
    return ReportTable(
        columns=[name, *(_title_column(event_report, column) for column in columns)], rows=rows
    )


def _title_column(event_report: EventReport, column: FigureColumn) -> str:
    text = event_report.titles.get(column.measure, str(column.measure))
    return f"{text}, {model_title(column.model).lower()}" if column.model else text
