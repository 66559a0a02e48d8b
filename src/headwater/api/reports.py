"""API endpoints of reports. Each handler owns its transactions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from typing import Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from psycopg import AsyncConnection
from starlette.responses import Response

from headwater.endpoints.calls import Call
from headwater.endpoints.operations import Operation
from headwater.http.inputs.parameters import Input
from headwater.http.rate_limits import RateLimit
from headwater.people.contacts import filters
from headwater.reports.changes.answers import PARAMETERS as CHANGES_PARAMETERS
from headwater.reports.changes.answers import SPEND_PARAMETERS as SPEND_CHANGES_PARAMETERS
from headwater.reports.changes.answers import (
    ReportChanges,
    SpendReportChanges,
    changes_answer,
    changes_csv,
    read_change_query,
    read_spend_change_query,
    spend_changes_answer,
    spend_changes_csv,
)
from headwater.reports.changes.credit import query_changes
from headwater.reports.changes.spend import query_spend_changes
from headwater.reports.engine.report_reader import CONNECTION_SECONDS
from headwater.reports.hints import Hints, find_hints
from headwater.reports.query import Question
from headwater.reports.questions.cohorts import PARAMETERS as COHORT_PARAMETERS
from headwater.reports.questions.cohorts import CohortReport, cohorts_csv, load_cohorts, read_cohort_query
from headwater.reports.questions.credits import PARAMETERS as CREDITS_PARAMETERS
from headwater.reports.questions.credits import (
    CreditPage,
    answer_credits,
    credit_cursors,
    credits_csv,
    query_credits,
    read_credits_query,
)
from headwater.reports.questions.paths import PARAMETERS as PATHS_PARAMETERS
from headwater.reports.questions.paths import PathReport, load_paths, paths_csv, read_paths_query
from headwater.reports.questions.platform_comparison import PARAMETERS as COMPARISON_PARAMETERS
from headwater.reports.questions.platform_comparison import (
    PlatformComparison,
    comparison_csv,
    load_comparison,
    read_comparison_query,
)
from headwater.reports.questions.report import PARAMETERS, Report, load_report, read_report_query, report_csv
from headwater.reports.questions.spend import PARAMETERS as SPEND_PARAMETERS
from headwater.reports.questions.spend import AdSpendReport, load_spend, read_spend_query, spend_csv
from headwater.spaces.models import Space
from headwater.spaces.spaces import fetch_space

CSV = "text/csv"

Q = TypeVar("Q", bound=Question)
R = TypeVar("R")
S = TypeVar("S", bound=Struct)
Q_co = TypeVar("Q_co", bound=Question, covariant=True)
Loader = Callable[[AsyncConnection, int, Q], Awaitable[R]]


class Reader(Protocol[Q_co]):
    def __call__(self, query: Input, space: Space, *, current_time: datetime) -> Q_co: ...


async def get_report(call: Call) -> Report | Response:
    """Sum events and their credit by group. With `Accept: text/csv`, the columns and rows as CSV."""
    return await _answer(call, read_report_query, load_report, report_csv)


async def get_paths(call: Call) -> PathReport | Response:
    """Count paths to events: sequences of sources or channels. With `Accept: text/csv`, the listed paths as
    CSV.
    """
    return await _answer(call, read_paths_query, load_paths, paths_csv)


async def get_spend_report(call: Call) -> AdSpendReport | Response:
    """Compare ad spend with its results, by group. With `Accept: text/csv`, the rows as CSV."""
    return await _answer(call, read_spend_query, load_spend, spend_csv)


async def get_platform_comparison(call: Call) -> PlatformComparison | Response:
    """Compare an ad platform's own figures with ours, step by step. With `Accept: text/csv`, one line per
    step as CSV.
    """
    return await _answer(call, read_comparison_query, load_comparison, comparison_csv)


async def get_spend_changes(call: Call) -> SpendReportChanges | Response:
    """Explain changes in a spend report. With `Accept: text/csv`, the rows as CSV, one line per cause."""
    _, report, hints = await _load(call, read_spend_change_query, query_spend_changes)
    if _wants_csv(call):
        return _csv_response(spend_changes_csv(report))
    return replace(spend_changes_answer(report), hints=hints)


async def get_cohorts(call: Call) -> CohortReport | Response:
    """Follow customers from the month of their first order: their value by month, source or another group,
    and the payback of their cost. With `Accept: text/csv`, one line per cohort and later month.
    """
    return await _answer(call, read_cohort_query, load_cohorts, cohorts_csv)


async def get_changes(call: Call) -> ReportChanges | Response:
    """Explain changes in a report. With `Accept: text/csv`, the rows as CSV, one line per cause."""
    query, report, hints = await _load(call, read_change_query, query_changes)
    if _wants_csv(call):
        return _csv_response(changes_csv(query, report))
    return replace(changes_answer(query, report), hints=hints)


async def list_credits(call: Call) -> CreditPage | Response:
    """List the events behind a report's figure with their touchpoints' credit, newest first. With `Accept:
    text/csv`, the page's events as CSV.
    """
    cursors = credit_cursors(call.query, call.services.signing_key, call.space_id)
    query, page, hints = await _load(call, partial(read_credits_query, cursors=cursors), query_credits)
    if _wants_csv(call):
        return _csv_response(credits_csv(page))
    return answer_credits(query, page, call.page_link(cursors), hints)


async def _answer(
    call: Call, read_query: Reader[Q], load: Loader[Q, S], write_csv: Callable[[S], bytes]
) -> S | Response:
    """Return a report with hints on its filters, or as CSV."""
    _, report, hints = await _load(call, read_query, load)
    return _csv_response(write_csv(report)) if _wants_csv(call) else replace(report, hints=hints)


async def _load(call: Call, read_query: Reader[Q], load: Loader[Q, R]) -> tuple[Q, R, Hints]:
    """Return the query with its Space's settings, the report, and hints on its filters. A report needs a new
    transaction.
    """
    database = call.services.database
    async with database.transaction() as connection:
        space = await fetch_space(connection, call.space_id)
    query = read_query(call.query, space, current_time=datetime.now(UTC))
    async with database.transaction(CONNECTION_SECONDS) as connection:
        report = await load(connection, call.space_id, query)
    async with database.transaction() as connection:
        return query, report, await find_hints(connection, call.space_id, query.filters)


def _wants_csv(call: Call) -> bool:
    return CSV in call.request.headers.get("accept", "")


def _csv_response(content: bytes) -> Response:
    return Response(content, media_type=f"{CSV}; charset=utf-8; header=present")


OPERATIONS = (
    Operation(
        id="get_report",
        method="GET",
        path="/reports",
        tag="Reports",
        summary="Get Report",
        scope="reports:read",
        limit=RateLimit("get_report", 30),
        parameters=[*(parameter.openapi() for parameter in PARAMETERS), filters.DOCUMENTATION],
        answer=Report,
        text_types=(CSV,),
        handler=get_report,
    ),
    Operation(
        id="get_paths",
        method="GET",
        path="/reports/paths",
        tag="Reports",
        summary="Get Paths",
        scope="reports:read",
        limit=RateLimit("get_paths", 30),
        parameters=[*(parameter.openapi() for parameter in PATHS_PARAMETERS), filters.DOCUMENTATION],
        answer=PathReport,
        text_types=(CSV,),
        handler=get_paths,
    ),
    Operation(
        id="get_spend_report",
        method="GET",
        path="/reports/spend",
        tag="Reports",
        summary="Get Spend Report",
        scope="reports:read",
        limit=RateLimit("get_spend_report", 30),
        parameters=[parameter.openapi() for parameter in SPEND_PARAMETERS],
        answer=AdSpendReport,
        text_types=(CSV,),
        handler=get_spend_report,
    ),
    Operation(
        id="get_platform_comparison",
        method="GET",
        path="/reports/platform-comparison",
        tag="Reports",
        summary="Get Platform Comparison",
        scope="reports:read",
        limit=RateLimit("get_platform_comparison", 30),
        parameters=[parameter.openapi() for parameter in COMPARISON_PARAMETERS],
        answer=PlatformComparison,
        text_types=(CSV,),
        handler=get_platform_comparison,
    ),
    Operation(
        id="get_spend_changes",
        method="GET",
        path="/reports/spend/changes",
        tag="Reports",
        summary="Get Spend Changes",
        scope="reports:read",
        limit=RateLimit("get_spend_changes", 30),
        parameters=[parameter.openapi() for parameter in SPEND_CHANGES_PARAMETERS],
        answer=SpendReportChanges,
        text_types=(CSV,),
        handler=get_spend_changes,
    ),
    Operation(
        id="get_cohorts",
        method="GET",
        path="/reports/cohorts",
        tag="Reports",
        summary="Get Cohorts",
        scope="reports:read",
        limit=RateLimit("get_cohorts", 30),
        parameters=[parameter.openapi() for parameter in COHORT_PARAMETERS],
        answer=CohortReport,
        text_types=(CSV,),
        handler=get_cohorts,
    ),
    Operation(
        id="get_changes",
        method="GET",
        path="/reports/changes",
        tag="Reports",
        summary="Get Changes",
        scope="reports:read",
        limit=RateLimit("get_changes", 30),
        parameters=[*(parameter.openapi() for parameter in CHANGES_PARAMETERS), filters.DOCUMENTATION],
        answer=ReportChanges,
        text_types=(CSV,),
        handler=get_changes,
    ),
    Operation(
        id="list_credits",
        method="GET",
        path="/reports/credits",
        tag="Reports",
        summary="List Credits",
        scope="reports:read",
        limit=RateLimit("list_credits", 30),
        parameters=[*(parameter.openapi() for parameter in CREDITS_PARAMETERS), filters.DOCUMENTATION],
        answer=CreditPage,
        text_types=(CSV,),
        handler=list_credits,
    ),
)
