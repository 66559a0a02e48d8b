"""Paths to conversion, their touchpoints and days, and first and last sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

from msgspec import Struct
from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.report_pages import figures
from headwater.console.report_pages.bar import OF_TOUCHPOINTS, ChoiceLinks, read_bar
from headwater.console.report_pages.basis import MADE_OF, conversions_title
from headwater.console.report_pages.charts.flow_chart import FlowChart, flow
from headwater.console.report_pages.report_page import REFUSALS, ReportPage, open_page
from headwater.console.report_pages.view import ReportView
from headwater.console.visitor import HOME
from headwater.http.inputs.fields import one_of
from headwater.http.inputs.parameters import Parameter, Query
from headwater.reports.engine.path_dimensions import TOUCHES, TouchPath
from headwater.reports.query import DateBasis, Group, Measure, ReportQuery
from headwater.reports.questions.paths import BY, PathFigures, PathResult, query_paths, read_paths_query
from headwater.sources.titles import format_title
from headwater.spaces.models import Space

MEASURES = (Measure.CONVERSIONS, Measure.EVENTS, Measure.REVENUE, Measure.DAYS_TO_CONVERSION)
STEPS = {Group.SOURCE: "sources", Group.CHANNEL: "channels"}
MOST_LISTED = 25
MATRIX_SIZE = 12
"""Maximum rows and columns of the source table."""
COLOURS = 7
"""Sources with their own colour; others share one."""

_NOT_HERE = frozenset({"compare", "attribution_model", "date_basis"})
_STEPS = Parameter(
    name="steps",
    kind=one_of([str(group) for group in STEPS]),
    default="source",
    description="The steps of a path.",
)
REACHED = tuple(f"{Group.TOUCH_RANGE}:{name}" for name in TOUCHES)
"""Filters that select events with a touchpoint in the window."""


class PathRow(Struct, frozen=True):
    """A group of conversions, and the filters that select it."""

    only: tuple[str, ...]
    figures: PathFigures
    share: Fraction | None
    title: str = ""
    steps: tuple[str, ...] = ()
    more: int = 0


class SourceMatrix(Struct, frozen=True):
    """First by last source, for the most frequent ones."""

    firsts: tuple[str, ...]
    lasts: tuple[str, ...]
    cells: Mapping[tuple[str, str], PathRow]
    left_out: int
    """Pairs missing from the table."""
    most: int


class PathsContent(Struct, frozen=True):
    report: PathResult
    conversions: str
    """A plural noun: orders, leads."""
    rows: list[PathRow]
    touches: list[PathRow]
    days: list[PathRow]
    matrix: SourceMatrix
    picture: FlowChart
    legend: tuple[tuple[str, int], ...]

    @property
    def sentence(self) -> str:
        top = self.rows[0]
        share = figures.percent(top.share or 0)
        steps = ", then ".join(top.steps) + (f", then {top.more} more" if top.more else "")
        suffix = "" if len(top.steps) + top.more > 1 else " alone"
        return f"{share} of {self.conversions} came from {steps}{suffix}."


class PathsReader:
    def __init__(self, space: Space, view: ReportView, group: Group) -> None:
        self._space, self._view, self._group = space, view, group

    async def load(self, connection: AsyncConnection) -> PathsContent:
        """Load the content. Raise Invalid and ReportTooLarge."""
        report = await query_paths(connection, self._space.id, self._query())
        pairs = {pair: figures.conversions for pair, figures in report.first_and_last.items()}
        coloured = _colours(pairs)
        return PathsContent(
            report,
            conversions_title(self._space, self._view.conversion).lower(),
            [self._path_row(path, figures, report.total) for path, figures in report.paths],
            self._ranges(Group.TOUCH_RANGE, report.touches, report.total),
            self._ranges(Group.DAYS_RANGE, report.days, report.total),
            self._matrix(report),
            flow(pairs, coloured),
            tuple((format_title(source), colour) for source, colour in coloured.items()),
        )

    def _query(self) -> ReportQuery:
        unused_parameters = dict.fromkeys(_NOT_HERE, "")
        values = self._view.input(**unused_parameters, group_by=str(self._group), limit=MOST_LISTED)
        return read_paths_query(values, self._space, datetime.now(UTC))

    def _path_row(self, path: TouchPath, figures: PathFigures, total: PathFigures) -> PathRow:
        steps = tuple(format_title(step) for step in path.steps)
        return PathRow(
            self._list_filters({BY[self._group]: str(path)}),
            figures,
            _share(figures, total),
            steps=steps,
            more=path.further_steps,
        )

    def _ranges(self, group: Group, ranges: Mapping[str, PathFigures], total: PathFigures) -> list[PathRow]:
        return [
            PathRow(self._list_filters({group: name}), figures, _share(figures, total), name)
            for name, figures in ranges.items()
        ]

    def _matrix(self, report: PathResult) -> SourceMatrix:
        pairs = report.first_and_last
        first_keys = _most_frequent((first, figures.conversions) for (first, _), figures in pairs.items())
        last_keys = _most_frequent((last, figures.conversions) for (_, last), figures in pairs.items())
        cells = {
            (first, last): PathRow(
                self._list_filters({Group.FIRST_SOURCE: first, Group.LAST_SOURCE: last}),
                figures,
                _share(figures, report.total),
            )
            for (first, last), figures in pairs.items()
            if first in first_keys and last in last_keys
        }
        highest = max([1, *(figures.conversions for figures in pairs.values())])
        return SourceMatrix(first_keys, last_keys, cells, len(pairs) - len(cells), highest)

    def _list_filters(self, keys: Mapping[Group, str]) -> tuple[str, ...]:
        return self._view.narrow(*(f"{group}:{key}" for group, key in keys.items())).only


def paths_csv_report(
    space: Space, view: ReportView, parameters: Query, current_time: datetime
) -> ReportQuery:
    """Raise Invalid for bad input."""
    group = Group(_STEPS.read(parameters) or Group.SOURCE)
    parameters.finish()
    view = view.change(date_basis=str(DateBasis.CONVERSION))
    return view.report(
        space, current_time, MEASURES, (BY[group],), compare="", limit="1000", only=[*view.only, *REACHED]
    )


def _share(numerator: PathFigures, denominator: PathFigures) -> Fraction | None:
    return figures.share(numerator.conversions, denominator.conversions)


def _most_frequent(conversions: Iterable[tuple[str, int]], limit: int = MATRIX_SIZE) -> tuple[str, ...]:
    counter: Counter[str] = Counter()
    for source, number in conversions:
        counter[source] += number
    return tuple(source for source, _ in counter.most_common(limit))


def _colours(pairs: Mapping[tuple[str, str], int]) -> dict[str, int]:
    ends = [(source, conversions) for pair, conversions in pairs.items() for source in pair]
    return {source: colour for colour, source in enumerate(_most_frequent(ends, COLOURS))}


async def show_paths(request: Request) -> Response:
    return await render_paths(await open_page(request))


async def render_paths(page: ReportPage) -> Response:
    page = replace(page, view=page.view.change(date_basis=str(DateBasis.CONVERSION)))
    view, path = page.view, page.path
    group, content, problem = Group.SOURCE, None, None
    try:
        group = Group(_STEPS.read(page.query) or Group.SOURCE)
        page.query.finish()
        content = await page.load(PathsReader(page.space, view, group).load)
    except REFUSALS as error:
        problem = error
    pairs: dict[str, str | Sequence[str]] = {} if group is Group.SOURCE else {_STEPS.name: str(group)}
    links = ChoiceLinks(view, path, pairs)
    return page.render(
        "paths.html",
        read_bar(page.space, view, path, absent_choices=_NOT_HERE | {OF_TOUCHPOINTS}, page_choices=pairs),
        problem,
        page=content,
        Measure=Measure,
        made_of=MADE_OF,
        reached=REACHED,
        source_title=format_title,
        menu=links.own_menu("steps", "Steps", STEPS, group, Group.SOURCE),
        csv=view.csv_link(
            f"{page.base}/report.csv",
            MEASURES,
            (BY[group],),
            compare="",
            limit=1000,
            only=[*view.only, *REACHED],
        ),
    )


ROUTES = [Route(f"{HOME}/spaces/{{space_id}}/paths", show_paths, methods=["GET"])]
