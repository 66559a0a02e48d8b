"""Customers by month of first order, their value in later months, and the payback of their cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import partial

from markupsafe import Markup
from msgspec import Struct
from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.base.dates import format_month
from headwater.console.report_pages import figures
from headwater.console.report_pages.bar import ONLY_PLACES, ChoiceLinks, model_title, read_bar
from headwater.console.report_pages.breakdown import title
from headwater.console.report_pages.cohort_places import CohortPlace, list_places
from headwater.console.report_pages.csv_file import csv_response
from headwater.console.report_pages.report_page import REFUSALS, ReportPage, open_page
from headwater.console.report_pages.view import ReportView, SharedView
from headwater.console.visitor import HOME
from headwater.http.inputs.fields import one_of
from headwater.http.inputs.parameters import Parameter, Query
from headwater.http.inputs.timerange import months_after
from headwater.reports.engine.acquisition import last_second
from headwater.reports.engine.report import GroupKey
from headwater.reports.query import TOUCH_GROUPS, DateTimeSpan, Group, Measure
from headwater.reports.questions.cohort_sums import Cohort, CohortGroup, CohortResult
from headwater.reports.questions.cohorts import (
    PERIOD,
    CohortQuery,
    answer_cohorts,
    cohorts_csv,
    query_cohorts,
    read_cohort_query,
)
from headwater.reports.questions.credit_rows import CreditFilter
from headwater.spaces.models import Space

GROUP_TITLES = {
    group: {Group.ADSET: "ad set", Group.LANDING_PAGE: "landing page"}.get(group, str(group))
    for group in TOUCH_GROUPS
}
CUMULATIVE, CONTRIBUTION = "cumulative_revenue", "contribution"
FIGURES = {
    CUMULATIVE: "revenue so far",
    "revenue": "revenue of each month",
    "customers": "customers who buy",
    "retention": "customers who buy, in per cent",
    CONTRIBUTION: "profit so far",
}
SHADES = 8
MOST_IN_CSV = "1000"
_SMALLEST_ORDER = "0.0001"
_MAY_OPEN = (Group.SOURCE, Group.PLATFORM, Group.CHANNEL, Group.CAMPAIGN, Group.ADSET)
"""Groups that can be a filter."""
_NOT_HERE = frozenset({"compare", "date_basis", ONLY_PLACES})
_GROUP = Parameter(
    name="group",
    kind=one_of([str(group) for group in TOUCH_GROUPS]),
    default="source",
    description="The grouping of first orders' credit.",
)
_FIGURE = Parameter(
    name="figure", kind=one_of([*FIGURES]), default=CUMULATIVE, description="The table's monthly figure."
)


@dataclass(frozen=True)
class CohortView(ReportView):
    """The choices of a page whose period selects first orders."""

    period: str = PERIOD.default or ""

    @property
    def cac_title(self) -> str:
        """Without filters all spend is divided by all new customers, also those who came without an ad."""
        return "CAC" if self.only else "Blended CAC"


class SharedCohortView(SharedView, CohortView):
    """A shared page's choices; it has no links."""


class CohortCell(Struct, frozen=True):
    text: Markup
    shade: int
    """0 to SHADES, relative to the largest figure."""
    link: str
    complete: bool


class CohortRow(Struct, frozen=True):
    cohort: Cohort
    title: str
    new: str
    cells: tuple[CohortCell, ...]


class KeyRow(Struct, frozen=True):
    of: CohortGroup
    title: str
    opens: str
    no_spend: str
    """Why its spend is missing or 0."""
    depth: int
    """2 for a source below the platform that bills it."""


class CohortTable(Struct, frozen=True):
    report: CohortResult
    rows: tuple[CohortRow, ...]
    keys: tuple[KeyRow, ...]
    unmatched: Decimal
    """Spend in no row."""

    @property
    def width(self) -> int:
        """Maximum number of later months."""
        return max((len(row.cells) for row in self.rows), default=0)

    @property
    def has_rows(self) -> bool:
        return any(row.cohort.new_customers or row.cohort.spend for row in self.rows)

    @property
    def has_platforms(self) -> bool:
        """Whether sources stand below platforms."""
        return any(key.depth > 1 for key in self.keys)

    @property
    def opens(self) -> bool:
        return any(key.opens for key in self.keys)


class CohortReports:
    def __init__(self, page: ReportPage, view: CohortView, group: Group, figure: str) -> None:
        self._page, self._view = page, view
        self.group, self.figure = group, figure

    async def load(self, connection: AsyncConnection) -> CohortTable:
        """Load the content. Raise Invalid and ReportRefused."""
        space = self._page.space
        query = make_cohort_query(space, self._view, self.group, datetime.now(UTC))
        report = await query_cohorts(connection, space.id, query)
        highest = max((self._value(cohort, since) or 0 for cohort, since in self._shaded(report)), default=0)
        rows = tuple(self._row(cohort, Fraction(highest)) for cohort in report.total.cohorts)
        places = list_places(self.group, report.groups, await self._load_platforms(connection, report, query))
        billed = sum(place.of.spend or 0 for place in places if place.group is not self.group)
        unmatched = sum(report.unmatched or (), Decimal(0)) - billed
        return CohortTable(report, rows, tuple(map(self._key, places)), unmatched)

    async def _load_platforms(
        self, connection: AsyncConnection, report: CohortResult, query: CohortQuery
    ) -> tuple[CohortGroup, ...]:
        """Return platforms, if sources have no spend of their own because a platform bills several."""
        if self.group is not Group.SOURCE or all(source.spend is not None for source in report.groups):
            return ()
        by_platform = replace(query, report=replace(query.report, group_by=(Group.PLATFORM,)))
        return (await query_cohorts(connection, self._page.space.id, by_platform)).groups

    def _shaded(self, report: CohortResult) -> list[tuple[Cohort, int]]:
        """Return cells that set the colour scale. The first month is excluded: all customers buy in it, which
        would make other cells pale.
        """
        first = 1 if self.figure in ("customers", "retention") else 0
        return [
            (cohort, since) for cohort in report.total.cohorts for since in range(first, len(cohort.revenue))
        ]

    def _value(self, cohort: Cohort, since: int) -> Decimal | Fraction | int | None:
        match self.figure:
            case "retention":
                return figures.share(cohort.customers[since], cohort.new_customers)
            case "contribution":
                return None if cohort.contribution is None else cohort.contribution[since]
            case name:
                return getattr(cohort, name)[since]

    def _row(self, cohort: Cohort, highest: Fraction) -> CohortRow:
        months = range(len(cohort.revenue)) if cohort.new_customers else ()
        cells = tuple(self._cell(cohort, since, highest) for since in months)
        new = self._link_events(cohort, 0, only="customer:new") if cohort.new_customers else ""
        return CohortRow(cohort, format_month(cohort.month), new, cells)

    def _cell(self, cohort: Cohort, since: int, highest: Fraction) -> CohortCell:
        value = self._value(cohort, since)
        counts_people = self.figure in ("customers", "retention")
        measure = Measure.EVENTS if counts_people else Measure.REVENUE
        if self.figure == "retention":
            measure = Measure.SHARE
        shade = min(SHADES, round(SHADES * Fraction(value) / highest)) if value and highest > 0 else 0
        made_of = {"amount_min": _SMALLEST_ORDER} if counts_people else {}
        has_events = bool(cohort.revenue[since] or cohort.customers[since])
        return CohortCell(
            figures.figure(measure, value, self._page.space.currency),
            max(0, shade),
            self._link_events(cohort, since, **made_of) if has_events else "",
            since < cohort.complete_months,
        )

    def _link_events(self, cohort: Cohort, since: int, only: str = "", **made_of: str) -> str:
        """Return the link to the events of a cohort's month; for cumulative figures, of the latest month.
        Companies aren't filtered by `only`: a company has no first order.
        """
        first = months_after(cohort.month, since)
        last = months_after(first, 1) - timedelta(days=1)
        events = self._view.change(
            period="",
            start_date=f"{first}",
            end_date=f"{last}",
            only=(only,) if only and not self._view.by_company else (),
        )
        by = {"acquired_by": [*self._view.only]} if self._view.only else {}
        return events.link(
            f"{self._page.base}/events",
            credit=CreditFilter.ALL,
            acquired=f"{cohort.month:%Y-%m}",
            **by,
            **made_of,
        )

    def _key(self, place: CohortPlace) -> KeyRow:
        group, of = place.group, place.of
        cohort_view = self._view.narrow(f"{group}:{of.key or ''}")
        opens = cohort_view.link(self._page.path, **self.pairs) if group in _MAY_OPEN else ""
        name = title(group, GroupKey(of.key, of.label))
        return KeyRow(of, name, opens, _explain_no_spend(place), place.depth)

    @property
    def pairs(self) -> dict[str, str]:
        group = {"group": str(self.group)} if self.group is not Group.SOURCE else {}
        return {**group, **({"figure": self.figure} if self.figure != CUMULATIVE else {})}


def _explain_no_spend(place: CohortPlace) -> str:
    if place.of.spend is not None:
        return "No spend"
    if place.group is Group.SOURCE:
        return "The platform's spend covers several sources; group by platform"
    return f"Spend is not recorded by {GROUP_TITLES[place.group]}"


def make_cohort_query(
    space: Space, view: CohortView, group: Group, current_time: datetime, **changes: str
) -> CohortQuery:
    """Raise Invalid for bad input."""
    left_out = {"compare": "", "date_basis": "", "group_by": str(group)}
    return read_cohort_query(view.input(**{**left_out, **changes}), space, current_time)


def read_choices(query: Query, space: Space) -> tuple[Group, str]:
    """Raise Invalid for bad input."""
    group, figure = Group(_GROUP.read(query) or Group.SOURCE), _FIGURE.read(query) or CUMULATIVE
    if figure == CONTRIBUTION and space.cost_rate is None:
        query.refuse(_FIGURE.name, "needs a cost rate in the Space's settings.")
    query.finish()
    return group, figure


async def show_cohorts(request: Request) -> Response:
    return await render_cohorts(await open_page(request))


async def render_cohorts(page: ReportPage) -> Response:
    view = (SharedCohortView if page.shared is not None else CohortView).read(page.query)
    page, path = replace(page, view=view), page.path
    reports, content, problem = CohortReports(page, view, Group.SOURCE, CUMULATIVE), None, None
    try:
        reports = CohortReports(page, view, *read_choices(page.query, page.space))
        content = await page.load(reports.load)
    except REFUSALS as error:
        problem = error
    links = ChoiceLinks(view, path, reports.pairs)
    figures = {
        name: text
        for name, text in FIGURES.items()
        if name != CONTRIBUTION or page.space.cost_rate is not None
    }
    menus = (
        links.own_menu("group", "Acquired by", GROUP_TITLES, reports.group, Group.SOURCE),
        links.own_menu("figure", "Figure", figures, reports.figure, CUMULATIVE),
    )
    return page.render(
        "cohorts.html",
        read_bar(page.space, view, path, absent_choices=_NOT_HERE, page_choices=reports.pairs),
        problem,
        page=content,
        menus=menus,
        group=GROUP_TITLES[reports.group],
        figure=FIGURES[reports.figure],
        model=model_title(view.attribution_model).lower(),
        customers="companies and people" if view.by_company else "people",
        Measure=Measure,
        csv=view.link(f"{page.base}/cohorts.csv", **reports.pairs),
        by_platform=view.link(path, **{**reports.pairs, "group": str(Group.PLATFORM)}),
    )


async def send_csv(request: Request) -> Response:
    """Send `GET /reports/cohorts` as CSV."""
    page = await open_page(request)
    view, (group, _) = CohortView.read(page.query), read_choices(page.query, page.space)
    query = make_cohort_query(page.space, view, group, datetime.now(UTC), limit=MOST_IN_CSV)
    report = await page.load(partial(query_cohorts, space_id=page.space.id, query=query))
    return csv_response("cohorts", find_span(report.months), cohorts_csv(answer_cohorts(query, report)))


def find_span(months: tuple[date, ...]) -> DateTimeSpan:
    return DateTimeSpan(datetime.combine(months[0], time()), last_second(months[-1]))


_PATH = f"{HOME}/spaces/{{space_id}}/cohorts"
ROUTES = [Route(_PATH, show_cohorts, methods=["GET"]), Route(f"{_PATH}.csv", send_csv, methods=["GET"])]
