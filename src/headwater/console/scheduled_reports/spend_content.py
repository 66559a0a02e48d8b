"""Sent reports of the pages with spend: the overview, ads and cohorts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from psycopg import AsyncConnection

from headwater.alerts.notifications.models import ReportTable
from headwater.base.dates import format_month
from headwater.console.ad_pages.ad_table import AdTable
from headwater.console.ad_pages.campaigns import MOST_IN_CSV, list_headlines, read_choices, read_group
from headwater.console.overview_page.overview import OverviewQueries
from headwater.console.overview_page.source_table import SourceReports, SourceTable
from headwater.console.overview_page.tiles import compute_tiles
from headwater.console.report_pages import cohorts, figures
from headwater.console.report_pages.basis import conversions_title
from headwater.console.report_pages.figures import Change
from headwater.console.report_pages.view import SharedView
from headwater.console.scheduled_reports.report_content import (
    MOST_LISTED,
    ReportContent,
    SentPage,
    count_more,
    describe_model,
    describe_terms,
    list_table,
    write_total,
)
from headwater.reports.engine.measures import Figure
from headwater.reports.engine.report import query_reports
from headwater.reports.query import Measure
from headwater.reports.questions.cohort_sums import Cohort, CohortGroup, CohortResult
from headwater.reports.questions.cohorts import answer_cohorts, cohorts_csv, query_cohorts
from headwater.reports.questions.report import answer_report, report_csv
from headwater.reports.questions.spend import answer_spend, query_spend, spend_csv


async def load_overview(connection: AsyncConnection, page: SentPage) -> ReportContent:
    space, view = page.space, page.read_view(SharedView)
    queries = OverviewQueries(space, view, page.current_time)
    csv_query, source_queries = queries.csv(), queries.source_queries()
    by_source, *reports = await query_reports(connection, space.id, [csv_query, *source_queries.values()])
    costs = await queries.fetch_costs(connection)
    source_reports = SourceReports(**dict(zip(source_queries, reports, strict=True)), costs=costs)
    report = source_reports.current
    conversions = conversions_title(space, view.conversion)
    table = SourceTable(view, "", queries.basis, conversions, source_reports)
    return ReportContent(
        [
            _write_total(tile.tile.title, tile.tile.form, tile.value, tile.change, report.currency)
            for tile in compute_tiles(queries.tiles, report, costs)
        ],
        describe_terms(csv_query, report.timezone, report.currency, report.compared_span),
        report.span,
        list_table(table.make((), _link_nowhere)),
        (*report.left_out_money, *(costs.left_out_spend if costs else ())),
        lambda: report_csv(answer_report(csv_query, by_source)),
    )


async def load_ads(connection: AsyncConnection, page: SentPage) -> ReportContent:
    space, view = page.space, page.read_view(SharedView)
    group, choices = read_group(page.query), read_choices(page.query, space)
    query = view.spend(space, page.current_time, group, MOST_IN_CSV)
    report = await query_spend(connection, space.id, query)
    conversions = conversions_title(space, view.conversion)
    table = AdTable(view, "", group, replace(choices, opened=()), conversions, _link_nowhere)
    previous_span = report.comparable.span if report.comparable else None
    return ReportContent(
        [
            _write_total(
                total.column.title, total.column.written_as, total.value, total.change, report.currency
            )
            for total in list_headlines(report)
        ],
        describe_terms(query, report.timezone, report.currency, previous_span),
        report.span,
        list_table(table.make(report, {}), report.left_out),
        (*report.left_out_money, *report.left_out_spend),
        lambda: spend_csv(answer_spend(query, report)),
    )


async def load_cohorts(connection: AsyncConnection, page: SentPage) -> ReportContent:
    view = page.read_view(cohorts.CohortView)
    group, _ = cohorts.read_choices(page.query, page.space)
    query = cohorts.make_cohort_query(page.space, view, group, page.current_time, limit=cohorts.MOST_IN_CSV)
    report = await query_cohorts(connection, page.space.id, query)
    model = describe_model(query.report.models, query.report.window_days)
    return ReportContent(
        [f"new customers {report.total.new_customers:,}"],
        f"by month of the first order, {model}, {report.timezone}, {report.currency}",
        cohorts.find_span(report.months),
        _list_cohorts(report, view.cac_title),
        (*report.left_out_money, *report.left_out_spend),
        lambda: cohorts_csv(answer_cohorts(query, report)),
    )


def _list_cohorts(report: CohortResult, cac_title: str) -> ReportTable:
    """Return the latest months, the number of earlier ones, and all of them together."""
    columns = ["First order in", "New customers", "Spend", cac_title, "Revenue so far"]
    rows = [
        *count_more(len(report.total.cohorts), len(columns)),
        *(
            [format_month(cohort.month), *_list_figures(cohort, cohort.total_revenue, report.currency)]
            for cohort in report.total.cohorts[-MOST_LISTED:]
        ),
    ]
    rows.append(["All", *_list_figures(report.total, report.total.revenue, report.currency)])
    return ReportTable(columns=columns, rows=rows)


def _list_figures(cohort: Cohort | CohortGroup, revenue: Figure, currency: str) -> Iterator[str]:
    yield f"{cohort.new_customers:,}"
    for amount in (cohort.spend, cohort.cac, revenue):
        yield figures.written(Measure.REVENUE, amount, currency)


def _write_total(
    title: str, form: figures.FigureForm, value: Figure, change: Change | None, currency: str
) -> str:
    unit = f" {currency}" if form in figures.MONEY and value is not None else ""
    return write_total(title, f"{figures.written(form, value, currency)}{unit}", change)


def _link_nowhere(**_: object) -> str:
    return ""
