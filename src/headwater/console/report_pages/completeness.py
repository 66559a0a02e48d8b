"""Incomplete recent days, their expected totals and the uncertainty; also a sentence for other pages."""

from __future__ import annotations

from datetime import UTC, date, datetime
from functools import partial

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.base.dates import format_days
from headwater.console.report_pages import figures
from headwater.console.report_pages.bar import read_bar
from headwater.console.report_pages.basis import choose_basis
from headwater.console.report_pages.csv_file import csv_response
from headwater.console.report_pages.report_page import REFUSALS, ReportPage, open_page
from headwater.console.report_pages.view import ReportView
from headwater.console.visitor import HOME
from headwater.reports.engine.completeness import LEAST_HISTORY, Completeness
from headwater.reports.engine.report import query_report
from headwater.reports.query import DateBasis, Measure, ReportQuery
from headwater.reports.questions.report import completeness_csv
from headwater.spaces.currencies import write_estimate
from headwater.spaces.models import Space

_NOT_HERE = frozenset({"compare"})


class CompletenessNote(Struct, frozen=True):
    """Completeness in a sentence, and where incomplete days begin in a daily chart."""

    sentence: str
    first_day: date


def choose_measure(view: ReportView) -> Measure:
    """Return the main figure: credit when reporting by touch date."""
    basis = choose_basis(view)
    return basis.credited if view.date_basis == DateBasis.TOUCH else basis.whole


def completeness_query(space: Space, view: ReportView, current_time: datetime) -> ReportQuery:
    """Raise Invalid for bad input."""
    return view.report(space, current_time, (choose_measure(view),), compare="none", completeness="1")


async def load_note(page: ReportPage) -> CompletenessNote | None:
    """Return None if all days are complete, the data is insufficient, or the report takes too long: with
    touchpoint filters it must compute half a year of credit.
    """
    try:
        query = completeness_query(page.space, page.view, datetime.now(UTC))
        if query.filters.of_touches:
            return None
        report = await page.load(partial(query_report, space_id=page.space.id, query=query))
    except REFUSALS:
        return None
    completeness = report.completeness
    if completeness is None or not completeness.days or completeness.share_in is None:
        return None
    return CompletenessNote(
        _sentence(query.measures[0], completeness, report.currency), completeness.days[0].day
    )


def _sentence(measure: Measure, completeness: Completeness, currency: str) -> str:
    first, last = completeness.days[0].day, completeness.days[-1].day
    share = estimate(Measure.SHARE, completeness.share_in or 0.0, currency)
    value, expected = (
        estimate(measure, figure, currency) for figure in (completeness.value, completeness.expected)
    )
    days = f"{format_days(first, last)} {'is' if first == last else 'are'}"
    return f"{days} incomplete: {value} received by midnight, {share} of the expected {expected}."


def estimate(measure: Measure, value: float, currency: str) -> str:
    """Return an estimate, rounded to a tenth, or to the smallest unit of money."""
    if measure is Measure.SHARE:
        return f"{100 * value:,.1f} %"
    return write_estimate(value, currency) if measure in figures.MONEY else f"{value:,.1f}"


async def show_completeness(request: Request) -> Response:
    page = await open_page(request)
    view, report, problem = page.view, None, None
    try:
        query = completeness_query(page.space, view, datetime.now(UTC))
        report = await page.load(partial(query_report, space_id=page.space.id, query=query))
    except REFUSALS as error:
        problem = error
    measure = choose_measure(view)
    return page.render(
        "completeness.html",
        read_bar(page.space, view, page.path, absent_choices=_NOT_HERE),
        problem,
        report_of=report,
        measure=measure,
        least_history=LEAST_HISTORY,
        estimate=estimate,
        share=Measure.SHARE,
        csv=view.link(f"{page.path}.csv"),
        by_touch=view.date_basis == DateBasis.TOUCH,
    )


async def send_csv(request: Request) -> Response:
    page = await open_page(request)
    query = completeness_query(page.space, page.view, datetime.now(UTC))
    report = await page.load(partial(query_report, space_id=page.space.id, query=query))
    assert report.completeness is not None
    return csv_response("completeness", report.span, completeness_csv(report.completeness))


_PATH = f"{HOME}/spaces/{{space_id}}/completeness"
ROUTES = [Route(_PATH, show_completeness, methods=["GET"]), Route(f"{_PATH}.csv", send_csv, methods=["GET"])]
