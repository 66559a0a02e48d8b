"""A report of paths: the ways by which people came to the events of a time, how many touches they
have, how long they take, and where they begin and end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
from psycopg import AsyncConnection

from headwater.paths.path_data import IntArray
from headwater.paths.reader import PathReader
from headwater.reports.group_loader import GroupLoader, Subject
from headwater.reports.measures import plain, rounded
from headwater.reports.models import DateTimeSpan, Group
from headwater.reports.path_models import (
    DAYS,
    TOUCHES,
    PathFigures,
    PathReport,
    PathsQuery,
    TouchPath,
)
from headwater.reports.path_sums import (
    EVENTS,
    REVENUE,
    SECONDS,
    STEP_NAMES,
    PathPlan,
    PathSums,
    add_up_paths,
)
from headwater.reports.report_reader import ReportReader, in_thread, open_reader
from headwater.reports.tally import Tally
from headwater.reports.validation import check_paths

_FEW_PATHS = 100_000
"""Different paths of several pieces that may wait to be joined."""


async def query_paths(connection: AsyncConnection, space_id: int, query: PathsQuery) -> PathReport:
    """Return the report of a query. Needs a transaction in which nothing has been read yet, on a
    connection that it may have for CONNECTION_SECONDS.

    Raises Invalid when the query breaks a rule, NotFound without such a Space, and ReportTooLarge
    when it takes longer than SECONDS.
    """
    check_paths(query)
    span = DateTimeSpan(query.start, query.end)
    async with open_reader(connection, space_id) as reader:
        sums = await _add_up(reader, query, span)
        paths = await in_thread(_first_paths, query, sums.paths)
        first, last = reader.ends_within(span)
        return PathReport(
            paths=paths,
            left_out=sums.size - len(paths),
            touches=_by_range(TOUCHES, sums.touches),
            days=_by_range(DAYS, sums.days),
            first_and_last=_first_and_last(sums.ends),
            total=_total(sums.touches),
            event_counts=sums.names,
            first_event=first,
            last_event=last,
            span=span,
            timezone=reader.space.timezone,
            currency=reader.space.currency,
        )


async def _add_up(reader: ReportReader, query: PathsQuery, span: DateTimeSpan) -> PathSums:
    await reader.bound_time()
    conditions = await reader.load_conditions(query.filters)
    only = await GroupLoader(reader, Subject(span, query.filters)).filters(span)
    bounds = reader.bounds(span)
    plan = PathPlan(query, conditions.with_keys(only).within(bounds.seconds))
    paths = PathReader(
        reader.connection, reader.space.id, plan.columns, by_company=query.by_company
    )
    days = (bounds.first_day, bounds.last_day)
    gathered: list[PathSums] = []
    async for piece in reader.pieces(paths, days, partial(add_up_paths, plan)):
        gathered.append(piece)
        # Joined whenever they have doubled, so that what is kept grows with different paths only.
        if sum(each.size for each in gathered[1:]) > max(_FEW_PATHS, gathered[0].size):
            gathered = [await in_thread(PathSums.join, gathered)]
    return await in_thread(PathSums.join, gathered)


def _first_paths(query: PathsQuery, tally: Tally) -> tuple[tuple[TouchPath, PathFigures], ...]:
    """Return the paths that are listed."""
    if not tally.groups:
        return ()
    names, (codes, more) = STEP_NAMES[query.group], tally.keys
    order = np.lexsort((more, codes, -tally.sum(EVENTS).rough()))
    return tuple(
        (names.path(int(codes[at]), int(more[at])), _figures_at(tally, at))
        for at in order[: query.limit].tolist()
    )


def _by_range(ranges: Mapping[str, int], tally: Tally) -> dict[str, PathFigures]:
    """Return the figures of every range."""
    figures = {keys[0]: _figures_at(tally, at) for at, keys in _groups(tally)}
    return {name: figures.get(place, _figures(0, 0, 0)) for place, name in enumerate(ranges)}


def _first_and_last(tally: Tally) -> dict[tuple[str, str], PathFigures]:
    names = STEP_NAMES[Group.SOURCE]
    figures = {
        (names.name(first), names.name(last)): _figures_at(tally, at)
        for at, (first, last) in _groups(tally)
    }
    return dict(sorted(figures.items(), key=lambda pair: (-pair[1].events, pair[0])))


def _total(tally: Tally) -> PathFigures:
    return _figures(*(tally.sum(name).total() for name in (EVENTS, REVENUE, SECONDS)))


def _groups(tally: Tally) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the place of every group, and its keys."""
    keys: tuple[IntArray, ...] = tally.keys
    for at in range(tally.groups):
        yield at, tuple(int(key[at]) for key in keys)


def _figures_at(tally: Tally, at: int) -> PathFigures:
    return _figures(*(tally.sum(name).number(at) for name in (EVENTS, REVENUE, SECONDS)))


def _figures(events: int, revenue: int, seconds: int) -> PathFigures:
    days = rounded(Fraction(seconds, 86_400 * events)) if events else None
    return PathFigures(events, plain(Decimal(revenue).scaleb(-4)), days)
