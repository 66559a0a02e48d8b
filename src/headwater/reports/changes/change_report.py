"""The changes of a report between two readings, and why: every difference of every figure, put down
to causes that add up to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import partial

from psycopg import AsyncConnection

from headwater.attribution.history.past import PastReader, PastSpan
from headwater.attribution.history.revisions import ChangeCause
from headwater.reports.change_models import (
    CauseShare,
    ChangedRow,
    ChangeQuery,
    ChangeReport,
    FigureChange,
    LeftOutSides,
    check_changes,
)
from headwater.reports.changes.change_events import CauseEvents
from headwater.reports.changes.change_split import ChangeSums, needs_first_orders, split_up, taken_back
from headwater.reports.changes.change_terms import Readings, Terms, find_readings, load_terms
from headwater.reports.changes.former_events import FormerAmounts, load_former_amounts, load_left_out_then
from headwater.reports.engine.addition import PieceSums
from headwater.reports.engine.chosen_events import NoCredit
from headwater.reports.engine.conversion import CurrencyExchange
from headwater.reports.engine.measures import Figure, Figures, Sums, figure_of, plain
from headwater.reports.engine.passes import PeriodPlan, PlanLoader, add_up_plans
from headwater.reports.engine.readings import ReportReading, Uncounted, fetch_present, make_reading
from headwater.reports.engine.report import name_keys
from headwater.reports.engine.report_reader import ReportReader, in_thread, open_reader
from headwater.reports.engine.result import Keys, PeriodSums
from headwater.reports.query import Comparison, DateBasis, ReportQuery, columns_of
from headwater.spend.rates.store import RatePoint

_AFTER_ALL = 8
"""The moments of a change: those of the next one begin after so many."""


async def query_changes(connection: AsyncConnection, space_id: int, query: ChangeQuery) -> ChangeReport:
    """The changes between two readings of a report. Needs a transaction in which nothing has
    been read yet, on a connection that it may have for CONNECTION_SECONDS.

    Raises Invalid when the query breaks a rule, NotFound without such a Space, and a ReportRefused
    for readings that cannot be compared, or when it takes longer than SECONDS.
    """
    check_changes(query)
    report = replace(query.report, compare=Comparison.NONE, ripe_on=None)
    money = report.is_about_money
    async with open_reader(connection, space_id, report.currency, money=money) as reader:
        (planned,) = await PlanLoader(reader, [report]).plans(report)
        readings = await load_readings(reader, query, planned)
        changes = await load_changes(reader, planned, readings)
        changes.require_counted(readings)
        return await _make_report(reader, changes, readings.start, readings.end)


async def load_readings(reader: ReportReader, query: ChangeQuery, planned: PeriodPlan) -> Readings:
    """Return the readings of a query. Raises what `find_readings` does."""
    present = await fetch_present(reader.connection, reader.space.id)
    now = make_reading(present, planned.plan.scope, reader.space, reader.currency, None)
    return await find_readings(reader, query, now, present.latest)


async def load_changes(reader: ReportReader, planned: PeriodPlan, readings: Readings) -> Changes:
    """Return what has changed of a report between readings. Raises a ReportRefused."""
    terms = await load_terms(reader, planned, readings)
    readers = {each.rates_at: reader.by_rates(each.rates_at) for each in terms}
    sums = [
        of_terms for each in terms for of_terms in await add_up_plans(readers[each.rates_at], [each.planned])
    ]
    split = await _split(reader, terms, readings.start, readings.end)
    left_out = await _load_left_out(readers, terms, split)
    return await in_thread(Changes, planned.plan.query, terms, sums, split, left_out)


async def _load_left_out(
    readers: Mapping[RatePoint | None, ReportReader], terms: Sequence[Terms], split: _Split
) -> LeftOutSides:
    start, end = [
        await load_left_out_then(readers[side.rates_at], side.planned, states, amounts)
        for side, states, amounts in (
            (terms[0], split.sums.first, split.amounts[0]),
            (terms[-1], split.sums.last, split.amounts[-1]),
        )
    ]
    return LeftOutSides(start, end)


@dataclass(frozen=True)
class _Split:
    """The changes of a report, and how the amounts of former events are read, terms by terms."""

    sums: ChangeSums
    amounts: list[FormerAmounts]


async def _split(
    reader: ReportReader, terms: Sequence[Terms], start: ReportReading, end: ReportReading
) -> _Split:
    first, last = start.point.revision, end.point.revision
    planned, money = terms[-1].planned, reader.is_about_money
    first_day, last_day = planned.days
    if needs_first_orders(planned.plan.query):  # whose first order it is, earlier ones decide
        first_day = date.min
    span = PastSpan(first, start.taken_at, (first_day, last_day))
    past = PastReader(reader.connection, reader.space.id, span, reader.bound_time)
    families = await past.families()
    exchanges = [
        CurrencyExchange(reader.space, reader.currency, each.rates_at) if money else None for each in terms
    ]
    amounts = [await load_former_amounts(reader.connection, each, families) for each in exchanges]
    moments = range(_AFTER_ALL * (first + 1) - 1, _AFTER_ALL * (last + 1))
    sums = await in_thread(split_up, planned.plan, families, moments, amounts[-1])
    return _Split(sums, amounts)


# The earlier events are read by the terms of both readings, then the later ones by those of the
# later reading; of two fits, with two changes of events between:
#
#                    earlier events        later events
#     earlier fit    START
#                      │ fits
#     later fit        ▼ ── late_events ── merges ──▶ END
#
class Changes:
    """The sums at both readings, and between them."""

    def __init__(
        self,
        query: ReportQuery,
        terms: Sequence[Terms],
        now: Sequence[Sequence[PieceSums]],
        split: _Split,
        left_out: LeftOutSides,
    ) -> None:
        """`now` are the sums of the present, terms by terms."""
        self.query, self.planned, self.changes = query, terms[-1].planned, split.sums
        self.left_out_money = left_out
        self.terms = terms
        self.fits = terms[0].fit, terms[-1].fit
        self.columns = columns_of(query)
        self.causes = {
            cause: self._joined(self.changes.causes[cause].pieces)
            for cause in ChangeCause
            if cause in self.changes.causes
        }
        since_end = [*now[-1], *_negated(self.changes.later.pieces)]
        self.end = self._joined(since_end)
        between = [piece for cause in self.changes.causes.values() for piece in cause.pieces]
        after = [*since_end, *_negated(between)]
        for place in reversed(range(len(terms) - 1)):
            plan = terms[place].planned.plan
            before = [*now[place], *taken_back(plan, self.changes, split.amounts[place])]
            cause = terms[place + 1].cause
            assert cause is not None, "all terms but the first have one"
            self.causes[cause] = self._joined([*after, *_negated(before)])
            after = before
        self.start = self._joined(after)

    def require_counted(self, readings: Readings) -> None:
        """Raise Uncounted where the sums are of other events than the readings have seen."""
        for name, reading, sums in (("since", readings.start, self.start), ("until", readings.end, self.end)):
            if reading.events not in {None, sums.event_count}:
                raise Uncounted(name)

    def change(self, figures: Callable[[PeriodSums], Figures]) -> FigureChange:
        """Return the change of some figures of the sums."""
        start, end = figures(self.start), figures(self.end)
        causes = {cause: figures(sums) for cause, sums in self.causes.items()}
        return FigureChange(
            start,
            end,
            _differences(end, start),
            {cause: parts for cause, parts in causes.items() if any(parts.values())},
        )

    def total(self) -> FigureChange:
        return self.change(lambda sums: self.figures(sums.total))

    def overall(self) -> FigureChange | None:
        if self.query.date_basis is DateBasis.TOUCH:
            return None
        return self.change(lambda sums: self.figures(sums.overall))

    def unattributed(self) -> FigureChange | None:
        query = self.query
        if not query.is_about_touches or query.of_some_touches:
            return None
        single = len(query.models) == 1
        columns = [column for column in self.columns if single or column.model]

        def figures(sums: PeriodSums) -> Figures:
            return {
                column: figure_of(query, column, without, without)
                for column in columns
                for without in [sums.unattributed(column.model or query.models[0], tuple(NoCredit))]
            }

        return self.change(figures)

    def rows(self) -> list[tuple[Keys, FigureChange]]:
        """Return the groups that have changed, those first that have most."""
        changed = [row for row in self.every_row(self.causes.values()) if row[1].causes]
        return sorted(changed, key=lambda row: self.order(row[0], row[1].difference))

    def every_row(self, among: Iterable[PeriodSums]) -> list[tuple[Keys, FigureChange]]:
        """Return the groups that there are among some of the sums."""
        listed = sorted({sums.keys(place) for sums in among for place in range(sums.groups.groups)})
        every = (self.start, self.end, *self.causes.values())
        sums_of = {id(sums): sums.find(listed) for sums in every}

        def figures(keys: Keys, sums: PeriodSums) -> Figures:
            return self.figures(sums_of[id(sums)].get(keys, Sums({})))

        return [(keys, self.change(partial(figures, keys))) for keys in listed]

    def order(self, keys: Keys, difference: Figures) -> tuple[Fraction, list[str]]:
        """Return what groups are ordered by: the largest first, of equals the lesser keys."""
        texts = [
            dimension.key_text(key) or ""
            for dimension, key in zip(self.planned.dimensions, keys, strict=True)
        ]
        return -abs(Fraction(difference[self.columns[0]] or 0)), texts

    def figures(self, sums: Sums) -> Figures:
        return {column: figure_of(self.query, column, sums, sums) for column in self.columns}

    def _joined(self, pieces: Sequence[PieceSums]) -> PeriodSums:
        return PeriodSums.join(self.query, self.planned.period, pieces)


async def _make_report(
    reader: ReportReader, changes: Changes, start: ReportReading, end: ReportReading
) -> ChangeReport:
    query, planned, zone = changes.query, changes.planned, reader.space.zone
    rows = (await in_thread(changes.rows)) if query.group_by else []
    shares = {
        cause: await in_thread(CauseEvents, query, changes.order, sums)
        for cause, sums in changes.changes.causes.items()
    }
    listed = {keys for keys, _ in rows[: query.limit]}
    listed.update(keys for events in shares.values() for keys in events.groups())
    names = await name_keys(reader, planned.period, planned.dimensions, listed)
    total, overall, unattributed = changes.total(), changes.overall(), changes.unattributed()
    every = (total, overall, unattributed, *(change for _, change in rows))
    moving = {cause for change in every if change is not None for cause in change.causes}
    return ChangeReport(
        changes.columns,
        start,
        end,
        changes.fits,
        total,
        overall,
        unattributed,
        rows=tuple(ChangedRow(names[keys], change) for keys, change in rows[: query.limit]),
        left_out=max(0, len(rows) - query.limit),
        causes=tuple(
            CauseShare(cause, events.count, tuple(events.largest(changes.changes, names, zone)))
            if events is not None
            else CauseShare(cause, None, ())
            for cause in changes.causes
            for events in [shares.get(cause)]
            if (events.count if events else cause in moving)
        ),
        unexplained=_unexplained(overall or total),
        span=planned.period.span,
        timezone=reader.space.timezone,
        currency=reader.currency,
        left_out_money=changes.left_out_money,
    )


def _negated(pieces: Iterable[PieceSums]) -> list[PieceSums]:
    return [piece.negated() for piece in pieces]


def _differences(end: Figures, start: Figures) -> Figures:
    return {column: _difference(figure, start[column]) for column, figure in end.items()}


def _difference(end: Figure, start: Figure) -> Figure:
    """Return one figure less another of its kind."""
    if isinstance(end, Decimal) and isinstance(start, Decimal):
        return plain(end - start)
    if isinstance(end, Fraction) or isinstance(start, Fraction):
        return Fraction(end or 0) - Fraction(start or 0)
    return int(end or 0) - int(start or 0)


def _unexplained(change: FigureChange) -> Figures:
    left = dict(change.difference)
    for parts in change.causes.values():
        left = dict(_differences(left, parts))
    return left
