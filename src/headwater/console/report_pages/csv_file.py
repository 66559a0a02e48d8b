"""A report of the console as a CSV file: the parameters, the report and the bytes are the API's."""

from __future__ import annotations

from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.api.services import services
from headwater.console.visitor import HOME, enter, require_visitor
from headwater.http.parameters import Query
from headwater.reports.models import DateTimeSpan
from headwater.reports.parameters import read_report_query
from headwater.reports.report import query_report
from headwater.reports.report_answer import report_csv
from headwater.reports.report_reader import CONNECTION_SECONDS


async def send_csv(request: Request) -> Response:
    """The report that the address describes, as `GET /reports` does, in CSV."""
    visitor = await require_visitor(request)
    database = services(request).database
    async with database.transaction() as connection:
        inside = await enter(connection, request, visitor)
    query = read_report_query(Query(request.scope["query_string"]), inside.space, datetime.now(UTC))
    async with database.transaction(CONNECTION_SECONDS) as connection:
        report = await query_report(connection, inside.space.id, query)
    return csv_response("report", report.span, report_csv(query, report))


def csv_response(name: str, span: DateTimeSpan, content: bytes) -> Response:
    """Return a CSV file, named by what it has and the days it is of."""
    name = f"{name}-{span.start:%Y-%m-%d}-{span.end:%Y-%m-%d}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, 200, headers, "text/csv; charset=utf-8")


ROUTES = [Route(f"{HOME}/spaces/{{space_id}}/report.csv", send_csv, methods=["GET"])]
