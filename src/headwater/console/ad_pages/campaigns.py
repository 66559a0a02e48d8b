"""Ads: cost and results by platform, campaign, ad set and ad. Every cent of the ledger is in a row or in the
line of unassigned spend.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from msgspec import Struct
from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.ad_pages.ad_columns import (
    BY_FIGURE,
    COLUMNS,
    HEADLINES,
    CostColumn,
    get_figure,
    pick_totals,
)
from headwater.console.ad_pages.ad_table import AdTable, TableChoices, list_levels, title_group
from headwater.console.report_pages import figures
from headwater.console.report_pages.bar import ONLY_PLACES, ChoiceLinks, model_title, read_bar
from headwater.console.report_pages.basis import conversions_title
from headwater.console.report_pages.breakdown import Place, read_places
from headwater.console.report_pages.csv_file import csv_response
from headwater.console.report_pages.figures import Change
from headwater.console.report_pages.report_page import REFUSALS, ReportPage, open_page
from headwater.console.report_pages.view import ReportView
from headwater.console.tables import Table
from headwater.console.visitor import HOME
from headwater.http.inputs.fields import one_of
from headwater.http.inputs.parameters import Parameter, Query
from headwater.reports.engine.measures import Figure
from headwater.reports.query import Group, ReportQuery
from headwater.reports.questions.spend import CostReport, answer_spend, query_spend, spend_csv
from headwater.sources.ad_platforms import platform_title
from headwater.spaces.models import Space
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
MOST_LISTED, MOST_IN_CSV = 200, 1_000
ALL_COLUMNS = "all"
_NOT_HERE = frozenset({"query_mode", ONLY_PLACES})
_GROUP = Parameter(
    name="group",
    kind=one_of([str(group) for group in GROUPS]),
    default="platform",
    description="The rows' grouping.",
)


class AdHeadline(Struct, frozen=True):
    column: CostColumn
    value: Figure
    change: Change | None


class AdsContent(Struct, frozen=True):
    now: CostReport
    table: Table
    unpaid: int
    """Hidden rows without spend."""
    ledger: SpendDeletion

    @property
    def has_spend(self) -> bool:
        return any(self.now.total.spent)

    @property
    def has_rows(self) -> bool:
        return bool(self.now.rows) or self.has_spend

    @property
    def headlines(self) -> list[AdHeadline]:
        return list_headlines(self.now)

    @property
    def unsplit(self) -> str:
        """Platforms whose spend has no source, in words."""
        return ", ".join(map(platform_title, self.now.unsplit))


class AdReports:
    def __init__(self, page: ReportPage, group: Group, choices: TableChoices) -> None:
        self._page, self._view, self.group, self.choices = page, page.view, group, choices

    @property
    def pairs(self) -> dict[str, str | list[str]]:
        """Return the page's own choices."""
        group: dict[str, str | list[str]] = {}
        if self.group is not Group.PLATFORM:
            group["group"] = str(self.group)
        return group | self.choices.pairs

    def link(self, **changes: str | Sequence[str]) -> str:
        """Return the page with other choices of its own."""
        pairs = {name: value for name, value in {**self.pairs, **changes}.items() if value}
        return self._view.link(self._page.path, **pairs)

    async def load(self, connection: AsyncConnection) -> AdsContent:
        """Load the content. Raise Invalid and ReportRefused."""
        space = self._page.space
        report = await query_spend(connection, space.id, self._query(self._view, self.group))
        inner_reports = {place: await self._load_below(connection, place) for place in self._opened()}
        conversions = conversions_title(space, self._view.conversion)
        table = AdTable(self._view, self._page.base, self.group, self.choices, conversions, self.link)
        ledger = await count_spend(connection, space.id, SpendChoice())
        return AdsContent(report, table.make(report, inner_reports), table.count_hidden(report), ledger)

    def _opened(self) -> list[Place]:
        return [place for place in self.choices.opened if len(place) < len(list_levels(self.group))]

    async def _load_below(self, connection: AsyncConnection, place: Place) -> CostReport:
        levels = list_levels(self.group)
        conditions = [f"{group}:{key}" for group, key in zip(levels, place, strict=False)]
        query = self._query(self._view.narrow(*conditions), levels[len(place)])
        return await query_spend(connection, self._page.space.id, query)

    def _query(self, view: ReportView, group: Group) -> ReportQuery:
        return view.spend(self._page.space, datetime.now(UTC), group, MOST_LISTED)


def list_headlines(report: CostReport) -> list[AdHeadline]:
    """Return the totals: all spend, and its credit."""
    names = [name for name in HEADLINES if name != "contribution" or report.cost_rate is not None]
    return [_headline(report, BY_FIGURE[name]) for name in names]


def _headline(report: CostReport, column: CostColumn) -> AdHeadline:
    costs, change = pick_totals(column.figure, report), None
    if (previous_report := report.comparable) is not None:
        before = pick_totals(column.figure, previous_report)
        change = figures.written_change(costs.change(column.figure, before))
    return AdHeadline(column, get_figure(column, costs), change)


def read_group(query: Query) -> Group:
    group = Group(_GROUP.read(query) or Group.PLATFORM)
    query.finish()
    return group


def read_choices(query: Query, space: Space) -> TableChoices:
    """Read the table's choices; unknown ones count as missing."""
    columns = tuple(query.several("columns"))
    if columns == (ALL_COLUMNS,):
        columns = tuple(column.figure for column in COLUMNS)
    offered = frozenset(column.figure for column in _list_columns(space))
    return TableChoices(
        offered,
        tuple(name for name in columns if name in offered),
        str(query.single("sort") or ""),
        query.single("order") == "ascending",
        query.single("unpaid") == "1",
        read_places(query.several("open")),
    )


def _list_columns(space: Space) -> list[CostColumn]:
    """Return the columns to choose from: profit needs a cost rate."""
    has_rate = space.cost_rate is not None
    return [column for column in BY_FIGURE.values() if has_rate or column.figure != "contribution"]


async def show_ads(request: Request) -> Response:
    return await render_ads(await open_page(request))


async def render_ads(page: ReportPage) -> Response:
    view, choices = page.view, read_choices(page.query, page.space)
    reports, content, problem = AdReports(page, Group.PLATFORM, choices), None, None
    try:
        reports = AdReports(page, read_group(page.query), choices)
        content = await page.load(reports.load)
    except REFUSALS as error:
        problem = error
    kept_pairs = {name: value for name, value in reports.pairs.items() if name != "open"}
    menu = ChoiceLinks(view, page.path, kept_pairs).own_menu(
        "group", "By", GROUPS, reports.group, Group.PLATFORM
    )
    return page.render(
        "ads.html",
        read_bar(page.space, view, page.path, absent_choices=_NOT_HERE, page_choices=kept_pairs),
        problem,
        page=content,
        menu=menu,
        reports=reports,
        columns=_list_columns(page.space),
        group=title_group(reports.group),
        model=model_title(view.attribution_model).lower(),
        csv=view.link(f"{page.base}/campaigns.csv", group=str(reports.group)),
    )


async def send_csv(request: Request) -> Response:
    """Send `GET /reports/spend` as CSV."""
    page = await open_page(request)
    group = read_group(page.query)
    query = page.view.spend(page.space, datetime.now(UTC), group, MOST_IN_CSV)
    report = await page.load(partial(query_spend, space_id=page.space.id, query=query))
    return csv_response("spend", report.span, spend_csv(answer_spend(query, report)))


_PATH = f"{HOME}/spaces/{{space_id}}/campaigns"
ROUTES = [Route(_PATH, show_ads, methods=["GET"]), Route(f"{_PATH}.csv", send_csv, methods=["GET"])]
