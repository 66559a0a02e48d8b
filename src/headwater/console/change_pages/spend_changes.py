"""Spend and its credit at an earlier time and now, with every cause and its largest rows and events."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.ad_pages.ad_columns import COLUMNS, CostColumn
from headwater.console.ad_pages.campaigns import GROUPS
from headwater.console.change_pages.changes_since import WORDS, Since, is_of_other_report, read_since
from headwater.console.pages import redirect
from headwater.console.report_pages import figures
from headwater.console.report_pages.bar import ONLY_PLACES, ChoiceLinks, read_bar
from headwater.console.report_pages.breakdown import title
from headwater.console.report_pages.csv_file import csv_response
from headwater.console.report_pages.report_page import REFUSALS, ReportPage, open_page
from headwater.console.visitor import HOME
from headwater.http.inputs.fields import one_of
from headwater.http.inputs.parameters import Parameter
from headwater.reports.changes.answers import spend_changes_csv
from headwater.reports.changes.change import (
    SPLIT_GROUPS,
    ChangedRow,
    ChangeQuery,
    FigureChange,
    Figures,
    SpendChangeReport,
)
from headwater.reports.changes.spend import RATIOS, query_spend_changes
from headwater.reports.engine.measures import Figure
from headwater.reports.engine.report import GroupKey
from headwater.reports.query import Group
from headwater.reports.questions.period_spend import MILLIONTHS
from headwater.reports.questions.spend import read_spend_query
from headwater.spaces.currencies import format_money
from headwater.spend.changes import ChangedSpend
from headwater.spend.restatements import describe_restatement

_NOT_HERE = frozenset({"compare", "query_mode", ONLY_PLACES})
_GROUPS = {group: name for group, name in GROUPS.items() if group in SPLIT_GROUPS}
_GROUP = Parameter(
    name="group",
    kind=one_of([str(group) for group in _GROUPS]),
    default="platform",
    description="The rows' grouping.",
)
_IN_ROWS = ("spend", "credited_revenue", "roas")
_IN_CAUSES = ("spend", "credited_conversions", "credited_revenue", "new_customers")


class SpendChangesPage(Struct, frozen=True):
    report: SpendChangeReport
    columns: Sequence[CostColumn]

    def some(self, *, of_rows: bool) -> list[CostColumn]:
        names = _IN_ROWS if of_rows else _IN_CAUSES
        return [column for column in self.columns if column.figure in names]

    def written(self, column: CostColumn, row_figures: Figures) -> str:
        """Format a figure with its exact value."""
        value = row_figures[column.figure]
        return figures.figure(column.written_as, value, self.report.currency, column.missing)

    def moved(self, column: CostColumn, change: FigureChange) -> Figure:
        return change.difference[column.figure]

    def part(self, column: CostColumn, parts: Figures | None) -> Figure:
        """Return None for a ratio."""
        return (parts or {}).get(column.figure)

    def ratio(self, column: CostColumn) -> str:
        """Return the numerator and denominator in words; empty for a sum."""
        titles = {choice.figure: choice.title.lower() for choice in self.columns}
        if column.figure not in RATIOS:
            return ""
        return " over ".join(titles[name] for name in RATIOS[column.figure])

    def title(self, row: ChangedRow) -> str:
        assert self.report.group is not None
        return title(self.report.group, row.keys[0])


def place_title(change: ChangedSpend) -> str:
    row = change.row
    name = title(Group.SOURCE, GroupKey(row.source, row.source)) if row.source else row.platform
    return f"{name} {row.path[-1]}" if row.path and row.path[-1] else name


def format_change_amount(change: ChangedSpend) -> str:
    difference = Decimal(change.row.figures[0]) / MILLIONTHS
    return f"{'+' * (difference > 0)}{format_money(difference, change.row.currency)}"


def _query(page: ReportPage, group: Group, since: Since, **filters: str) -> ChangeQuery:
    """Raise Invalid for bad input."""
    parameters = {"query_mode": "", "compare": "", "group_by": str(group), **filters}
    report = read_spend_query(page.view.input(**parameters), page.space, datetime.now(UTC))
    return ChangeQuery(report, since.start)


def _read(page: ReportPage) -> tuple[Group, Since]:
    """Raise Invalid for bad input."""
    group = Group(_GROUP.read(page.query) or Group.PLATFORM)
    return group, read_since(page)


async def show_spend_changes(request: Request) -> Response:
    page = await open_page(request)
    group, since, content, problem = Group.SOURCE, None, None, None
    parameters: dict[str, str] = {}
    has_rate = page.space.cost_rate is not None
    columns = [column for column in COLUMNS if has_rate or column.figure != "contribution"]
    try:
        group, since = _read(page)
        parameters = {"since": since.text}
        parameters |= {"group": str(group)} if group is not Group.SOURCE else {}
        query = _query(page, group, since, limit="200")
        report = await page.load(partial(query_spend_changes, space_id=page.space.id, query=query))
        content = SpendChangesPage(report, columns)
    except REFUSALS as error:
        if since and is_of_other_report(error):
            return redirect(request, page.view.link(page.path, **parameters | {"since": f"{since.day}"}))
        problem = error
    menu = ChoiceLinks(page.view, page.path, parameters).own_menu(
        "group", "Rows", _GROUPS, group, Group.SOURCE
    )
    return page.render(
        "spend_changes.html",
        read_bar(page.space, page.view, page.path, absent_choices=_NOT_HERE, page_choices=parameters),
        problem,
        page=content,
        since=since,
        menu=menu,
        group=GROUPS[group],
        words=WORDS,
        labels=page.space.event_labels,
        place_title=place_title,
        describe_restatement=describe_restatement,
        format_change_amount=format_change_amount,
        csv=page.view.link(f"{page.path}.csv", **parameters),
    )


async def send_csv(request: Request) -> Response:
    """Send `GET /reports/spend/changes` as CSV."""
    page = await open_page(request)
    query = _query(page, *_read(page), limit="1000")
    report = await page.load(partial(query_spend_changes, space_id=page.space.id, query=query))
    return csv_response("spend-changes", report.span, spend_changes_csv(report))


_PATH = f"{HOME}/spaces/{{space_id}}/campaigns/changes"
ROUTES = [Route(_PATH, show_spend_changes, methods=["GET"]), Route(f"{_PATH}.csv", send_csv, methods=["GET"])]
