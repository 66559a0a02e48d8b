"""Ad cost and results by source, campaign, ad set and ad. Every cent of the ledger is in a row or in the line
of unassigned spend.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import partial

from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.report_pages import figures
from headwater.console.report_pages.bar import ONLY_PLACES, ChoiceLinks, model_title, read_bar
from headwater.console.report_pages.basis import CONVERTING, NEW, MadeOf, conversions_title
from headwater.console.report_pages.breakdown import title
from headwater.console.report_pages.csv_file import csv_response
from headwater.console.report_pages.figures import Change
from headwater.console.report_pages.report_page import REFUSED, ReportPage, open_page
from headwater.console.report_pages.view import ReportView
from headwater.console.visitor import HOME
from headwater.http.inputs.fields import one_of
from headwater.http.inputs.parameters import Parameter, Query
from headwater.reports.engine.measures import Figure
from headwater.reports.engine.report import GroupKey
from headwater.reports.engine.time_buckets import SHORTEST
from headwater.reports.query import OF_TOUCHES, DateTimeSpan, Group, Measure, ReportQuery
from headwater.reports.questions.cost_figures import CostFigures
from headwater.reports.questions.credit_rows import CreditFilter
from headwater.reports.questions.spend import (
    CostReport,
    CostRow,
    answer_spend,
    query_spend,
    read_spend_query,
    spend_csv,
)
from headwater.sources.ad_platforms import platform_title
from headwater.spend.answers import SpendDeletion
from headwater.spend.ledger import count_spend
from headwater.spend.parameters import SpendChoice

GROUPS = {
    Group.PLATFORM: "platform",
    Group.SOURCE: "source",
    Group.CAMPAIGN: "campaign",
    Group.ADSET: "ad set",
    Group.AD: "ad",
    Group.COUNTRY: "country",
    Group.DAY: "day",
    Group.WEEK: "week",
    Group.MONTH: "month",
}
BELOW = {
    Group.PLATFORM: Group.CAMPAIGN,
    Group.SOURCE: Group.CAMPAIGN,
    Group.CAMPAIGN: Group.ADSET,
    Group.ADSET: Group.AD,
}
MOST_LISTED = 200
_NOT_HERE = frozenset({"query_mode", ONLY_PLACES})
_GROUP = Parameter(
    name="group",
    kind=one_of([str(group) for group in GROUPS]),
    default="platform",
    description="The rows' grouping.",
)


@dataclass(frozen=True)
class CostColumn:
    figure: str
    """An attribute of CostFigures."""
    title: str
    written_as: Measure
    made_of: MadeOf | None = None
    """Parameters that select its events; None without events."""


COLUMNS = (
    CostColumn("spend", "Spend", Measure.REVENUE),
    CostColumn("impressions", "Impressions", Measure.EVENTS),
    CostColumn("clicks", "Clicks", Measure.EVENTS),
    CostColumn("credited_conversions", "Orders", Measure.CREDITED_CONVERSIONS, CONVERTING),
    CostColumn("platform_conversions", "Conversions by the platform", Measure.CREDITED_CONVERSIONS),
    CostColumn("credited_revenue", "Revenue", Measure.REVENUE, {}),
    CostColumn("platform_revenue", "Revenue by the platform", Measure.REVENUE),
    CostColumn("roas", "ROAS", Measure.REVENUE),
    CostColumn("cpa", "CPA", Measure.REVENUE),
    CostColumn("new_customers", "New customers", Measure.EVENTS, NEW),
    CostColumn("cac", "CAC", Measure.REVENUE),
    CostColumn("contribution", "Contribution", Measure.REVENUE),
)
HEADLINES = ("spend", "credited_revenue", "roas", "cpa", "cac", "contribution")
CHANGES = frozenset({"spend", "credited_revenue", "roas"})


@dataclass(frozen=True)
class CampaignRow:
    title: str
    figures: CostFigures
    compared: CostFigures | None
    behind: ReportView
    """The view with only this row's credit."""
    opens: str
    """The link to its child rows; empty without any."""


@dataclass(frozen=True)
class CampaignTable:
    group: Group
    now: CostReport
    rows: list[CampaignRow]
    ledger: SpendDeletion

    @property
    def then(self) -> CostReport | None:
        return self.now.comparable

    @property
    def has_spend(self) -> bool:
        return any(self.now.total.spent)

    @property
    def has_rows(self) -> bool:
        return bool(self.rows) or self.has_spend

    @property
    def without_row(self) -> str:
        if self.group in (Group.PLATFORM, Group.CHANNEL):
            return "Of other platforms"
        return f"Not broken down by {GROUPS[self.group]}"

    @property
    def unsplit(self) -> str:
        """Platforms whose spend has no source, in words."""
        return ", ".join(map(platform_title, self.now.unsplit))

    def column_title(self, column: CostColumn, conversion: str) -> str:
        return conversion if column.title == "Orders" else column.title

    def written(self, column: CostColumn, cost_figures: CostFigures) -> str:
        """Format a figure with its exact value."""
        return figures.figure(column.written_as, _figure(column, cost_figures))

    def credit(self, column: CostColumn) -> str:
        """Return the kind of credit. Rows outside touchpoint groups count the customers of every event."""
        counts_all = self.group not in OF_TOUCHES and column.figure == "new_customers"
        return CreditFilter.ALL if counts_all else CreditFilter.CREDITED

    def change(self, column: CostColumn, current: CostFigures, previous: CostFigures | None) -> Change | None:
        if previous is None:
            return None
        return figures.written_change(current.change(column.figure, previous))

    @property
    def sums(self) -> tuple[str, str, str]:
        """The spend in rows, outside rows and in the ledger, in all digits."""
        report = self.now
        of_rows = report.total.spend - report.without_place.spend
        return (
            figures.digits(of_rows),
            figures.digits(report.without_place.spend),
            figures.digits(report.total.spend),
        )


def _figure(column: CostColumn, cost_figures: CostFigures) -> Figure:
    value: Figure = getattr(cost_figures, column.figure)
    is_part = isinstance(value, Decimal) and column.written_as is Measure.CREDITED_CONVERSIONS
    return Fraction(value) if is_part and value is not None else value


class CampaignReports:
    def __init__(self, page: ReportPage, group: Group) -> None:
        self._page, self._view, self.group = page, page.view, group

    def query(self, **changes: str) -> ReportQuery:
        """Raise Invalid for bad input."""
        only = {"query_mode": "", "group_by": str(self.group)}
        query = self._view.input(**{**only, **changes})
        return read_spend_query(query, self._page.space, datetime.now(UTC))

    async def load(self, connection: AsyncConnection) -> CampaignTable:
        """Load the content. Raise Invalid and ReportRefused."""
        space_id = self._page.space.id
        query = self.query(limit=str(MOST_LISTED))
        report = await query_spend(connection, space_id, query)
        ledger = await count_spend(connection, space_id, SpendChoice())
        return CampaignTable(self.group, report, [self._row(row, report.span) for row in report.rows], ledger)

    def _row(self, row: CostRow, span: DateTimeSpan) -> CampaignRow:
        name = title(self.group, GroupKey(row.key, row.label))
        below = BELOW.get(self.group)
        narrowed = self._narrowed(row.key, span)
        opens = narrowed.link(self._page.path, group=below) if below and row.key else ""
        return CampaignRow(name, row.figures, row.compared, narrowed, opens)

    def _narrowed(self, key: str | None, span: DateTimeSpan) -> ReportView:
        if self.group not in SHORTEST or key is None:
            return self._view.narrowed(f"{self.group}:{key or ''}")
        first = date.fromisoformat(key)
        last = first + timedelta(days=SHORTEST[self.group] - 1)
        if self.group is Group.MONTH:
            last = (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
        first, last = max(first, span.start.date()), min(last, span.end.date())
        return self._view.changed(period="", start_date=f"{first}", end_date=f"{last}")


def _read_group(query: Query) -> Group:
    group = Group(_GROUP.read(query) or Group.PLATFORM)
    query.finish()
    return group


async def show_campaigns(request: Request) -> Response:
    page = await open_page(request)
    view, path = page.view, page.path
    group, content, problem = Group.PLATFORM, None, None
    try:
        group = _read_group(page.query)
        content = await page.load(CampaignReports(page, group).load)
    except REFUSED as error:
        problem = error
    has_rate = page.space.cost_rate is not None
    columns = [column for column in COLUMNS if has_rate or column.figure != "contribution"]
    also = {"group": str(group)} if group is not Group.PLATFORM else {}
    menu = ChoiceLinks(view, path, also).own_menu("group", "Rows", GROUPS, group, Group.PLATFORM)
    return page.render(
        "campaigns.html",
        read_bar(page.space, view, path, without=_NOT_HERE, also=also),
        problem,
        page=content,
        menu=menu,
        group=GROUPS[group],
        columns=columns,
        changes=CHANGES,
        headlines=[column for column in columns if column.figure in HEADLINES],
        conversions=conversions_title(page.space, view.conversion),
        model=model_title(view.attribution_model).lower(),
        csv=view.link(f"{page.base}/campaigns.csv", **also),
    )


async def send_csv(request: Request) -> Response:
    """Send `GET /reports/spend` as CSV."""
    page = await open_page(request)
    reports = CampaignReports(page, _read_group(page.query))
    query = reports.query(limit="1000")

    report = await page.load(partial(query_spend, space_id=page.space.id, query=query))
    return csv_response("spend", report.span, spend_csv(answer_spend(query, report)))


_PATH = f"{HOME}/spaces/{{space_id}}/campaigns"
ROUTES = [Route(_PATH, show_campaigns, methods=["GET"]), Route(f"{_PATH}.csv", send_csv, methods=["GET"])]
