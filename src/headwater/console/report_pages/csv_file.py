"""Reports as CSV, with the API's parameters and bytes."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.report_pages.report_page import open_page
from headwater.console.visitor import HOME
from headwater.reports.engine.report import query_report
from headwater.reports.query import DateTimeSpan
from headwater.reports.questions.report import answer_report, read_report_query, report_csv


async def send_csv(request: Request) -> Response:
    page = await open_page(request)
    query = read_report_query(page.query, page.space, datetime.now(UTC))
    report = await page.load(partial(query_report, space_id=page.space.id, query=query))
    return csv_response("report", report.span, report_csv(answer_report(query, report)))


def csv_response(name: str, span: DateTimeSpan, content: bytes) -> Response:
    name = f"{name}-{span.start:%Y-%m-%d}-{span.end:%Y-%m-%d}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, 200, headers, "text/csv; charset=utf-8")


ROUTES = [Route(f"{HOME}/spaces/{{space_id}}/report.csv", send_csv, methods=["GET"])]
