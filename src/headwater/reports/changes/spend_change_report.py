"""The changes of a report of spend between two readings, and why: the sums that it is made of, each
split by cause. A ratio is explained by the two sums that it is of, never by adding ratios up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from psycopg import AsyncConnection

from headwater.attribution.history.revisions import ChangeCause
from headwater.reports.change_models import ChangeQuery, FigureChange, check_changes
from headwater.reports.changes.change_events import CauseEvents
from headwater.reports.changes.change_report import Changes, load_changes, load_readings
from headwater.reports.changes.spend_change_models import (
    ChangedCost,
    CostChange,
    CostChangeReport,
    SpendCause,
)
from headwater.reports.changes.spent_changes import LedgerChanges, SpentSides, load_ledger_changes
from headwater.reports.engine.measures import Figures
from headwater.reports.engine.passes import PlanLoader
from headwater.reports.engine.report import name_keys
from headwater.reports.engine.report_reader import ReportReader, in_thread, open_reader
from headwater.reports.query import OF_TOUCHES, Comparison, Group
from headwater.reports.questions.cost_figures import (
    CostFigures,
    Credit,
    credit_of,
    credit_queries,
    spend_problem,
)
from headwater.reports.questions.spend import check_only
from headwater.reports.questions.spent import Key
from headwater.sources.source_names import SourceNames
from headwater.spend import breakdown
from headwater.spend.breakdown import NOTHING

Side = Callable[[FigureChange], Figures | None]
_NO_ROW: tuple[str | None, FigureChange | None] = (None, None)


async def query_spend_changes(
    connection: AsyncConnection, space_id: int, query: ChangeQuery
) -> CostChangeReport:
    """Return what has changed between two readings of a report of spend. Needs and raises the same
    as `query_changes`.
    """
    report = replace(query.report, compare=Comparison.NONE)
    check_only(report)
    queries = credit_queries(report).all
    for each in queries:
        check_changes(replace(query, report=each))
    async with open_reader(connection, space_id, report.currency, money=True) as reader:
        plans = [planned for each in queries for planned in await PlanLoader(reader, [each]).plans(each)]
        readings = await load_readings(reader, query, plans[0])
        credit, firsts, *paid = [await load_changes(reader, planned, readings) for planned in plans]
        credit.require_counted(readings)
        ledger = await load_ledger_changes(reader, report, credit, readings)
        sources = reader.space.sources
        problem = spend_problem(report.filters.only, sources)
        terms = _Terms(reader.space.cost_rate, ledger, problem is None, sources)
        paid_by_key = await _paid_by_key(reader, *paid)
        rows = await _join_rows(reader, credit, firsts, paid_by_key, terms)
        total = _joined(
            _Credit(credit.total(), firsts.total(), tuple(paid_by_key.items())), ledger.total(), terms
        )
        listed = sorted((row for row in rows if row.change.causes), key=_order)
        return CostChangeReport(
            ledger.group,
            readings.start,
            readings.end,
            credit.fits,
            total,
            _joined(_Credit(), ledger.at(None), terms),
            tuple(listed[: report.limit]),
            max(0, len(listed) - report.limit),
            await _causes(
                reader,
                credit,
                ledger,
                {*total.causes, *(cause for row in listed for cause in row.change.causes)},
            ),
            plans[0].period.span,
            reader.space.timezone,
            reader.currency,
            reader.space.cost_rate,
            credit.left_out_money,
            ledger.left_out,
        )


PlatformChanges = Mapping[tuple[Key, ...], "_Credit"]
"""The credit by the keys of groups, the last being the platform."""


@dataclass(frozen=True)
class _Terms:
    """The inputs of all figures of a report."""

    cost_rate: Decimal | None
    ledger: LedgerChanges
    has_ratios: bool
    sources: SourceNames

    def of(self, key: Key) -> _Terms:
        """Return the terms of a row: without ratios where its spend is not known apart."""
        is_source = self.ledger.group is Group.SOURCE and key
        platform = self.sources.platform_of(key) if is_source and key else None
        is_apart = platform is None or platform not in self.ledger.unsplit
        return self if is_apart else replace(self, has_ratios=False)


@dataclass(frozen=True)
class _Credit:
    """The credit of a group, of all orders and of those of new customers; None is nothing."""

    of_all: FigureChange | None = None
    of_new: FigureChange | None = None
    by_platform: tuple[tuple[tuple[Key, ...], _Credit], ...] | None = None
    """The same by platform; None where ratios are of the group's own credit."""

    def at(self, side: Side) -> Credit:
        """Return the credit of one side."""
        figures, new = (
            (side(change) if change is not None else None) or {} for change in (self.of_all, self.of_new)
        )
        return credit_of(figures, new)

    def paid_at(self, side: Side, platforms: Collection[Key]) -> Credit | None:
        """Return the part of one side's credit that sources of some platforms have."""
        if self.by_platform is None:
            return None
        return Credit.sum_of(credit.at(side) for keys, credit in self.by_platform if keys[-1] in platforms)

    @property
    def causes(self) -> set[ChangeCause]:
        return {cause for each in (self.of_all, self.of_new) if each is not None for cause in each.causes}


def _joined(credit: _Credit, spent: SpentSides, terms: _Terms) -> CostChange:
    """Return the change of spend and credit in one."""

    def figures(side: Side, of_ledger: breakdown.Figures, platforms: Collection[Key] = ()) -> CostFigures:
        return CostFigures(
            of_ledger, credit.at(side), credit.paid_at(side, platforms), terms.cost_rate, terms.has_ratios
        )

    def part(cause: ChangeCause) -> CostFigures:
        return figures(lambda change: change.causes.get(cause), spent.causes.get(cause, NOTHING))

    there = credit.causes | set(spent.causes)
    causes = {cause: part(cause) for cause in ChangeCause if cause in there}
    before, after = terms.ledger.platforms
    return CostChange(
        figures(lambda change: change.start, spent.start, before),
        figures(lambda change: change.end, spent.end, after),
        {cause: parts for cause, parts in causes.items() if not parts.is_nothing},
    )


async def _paid_by_key(reader: ReportReader, paid: Changes, paid_new: Changes) -> PlatformChanges:
    """Return the credit by the keys of the groups that are not of touches, and by platform."""
    by_key, of_new = [await _by_keys(reader, each) for each in (paid, paid_new)]
    return {
        keys: _Credit(by_key.get(keys, _NO_ROW)[1], of_new.get(keys, _NO_ROW)[1])
        for keys in {*by_key, *of_new}
    }


async def _join_rows(
    reader: ReportReader, credit: Changes, firsts: Changes, paid: PlatformChanges, terms: _Terms
) -> list[ChangedCost]:
    """Return all groups, with and without changes."""
    ledger = terms.ledger
    if ledger.group is None:
        return []
    by_key = await _by_key(reader, credit)
    of_firsts = await _by_key(reader, firsts)
    rows: list[ChangedCost] = []
    for key in {*by_key, *ledger.keys()}:
        label, change = by_key.get(key, (ledger.names.get(key or "", key), None))
        by_platform = (
            None
            if ledger.group in OF_TOUCHES
            else tuple((keys, of_key) for keys, of_key in paid.items() if keys[0] == key)
        )
        pair = _Credit(change, of_firsts.get(key, (None, None))[1], by_platform)
        spent = SpentSides() if key is None else ledger.at(key)
        rows.append(ChangedCost(key, label, _joined(pair, spent, terms.of(key))))
    return rows


async def _by_key(reader: ReportReader, of: Changes) -> dict[Key, tuple[str | None, FigureChange]]:
    """Return the groups of a report of one group by their keys, with their names."""
    return {keys[0]: change for keys, change in (await _by_keys(reader, of)).items()}


async def _by_keys(
    reader: ReportReader, of: Changes
) -> dict[tuple[Key, ...], tuple[str | None, FigureChange]]:
    """Return the groups of a report by their keys, with the name of the first."""
    every = await in_thread(of.every_row, (of.start, of.end, *of.causes.values()))
    names = await name_keys(reader, of.planned.period, of.planned.dimensions, [keys for keys, _ in every])
    return {tuple(key.value for key in names[keys]): (names[keys][0].label, change) for keys, change in every}


def _order(row: ChangedCost) -> tuple[int, Fraction, str]:
    """Those first of which most spend has moved, then most revenue."""
    moved = row.change.difference
    return -abs(moved.spent[0]), -abs(Fraction(moved.credited_revenue)), row.key or "\U0010ffff"


async def _causes(
    reader: ReportReader, credit: Changes, ledger: LedgerChanges, moving: Collection[ChangeCause]
) -> tuple[SpendCause, ...]:
    """Return the causes that have moved anything, with the events and rows that they did most."""
    shares = {
        cause: await in_thread(CauseEvents, credit.query, credit.order, sums)
        for cause, sums in credit.changes.causes.items()
        if cause in moving
    }
    groups = {keys for events in shares.values() for keys in events.groups()}
    names = await name_keys(reader, credit.planned.period, credit.planned.dimensions, groups)
    zone, causes = reader.space.zone, list[SpendCause]()
    for cause in ChangeCause:
        if cause not in moving:
            continue
        events, rows = shares.get(cause), ledger.rows.get(cause)
        largest = () if events is None else tuple(events.largest(credit.changes, names, zone))
        causes.append(
            SpendCause(cause, events and events.count, largest, rows and rows[0], rows[1] if rows else ())
        )
    return tuple(causes)
