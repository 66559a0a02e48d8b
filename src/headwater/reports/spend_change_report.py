"""The changes of a report of spend between two readings, and why: the sums that it is made of, each
split by cause. A ratio is explained by the two sums that it is of, never by adding ratios up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from psycopg import AsyncConnection

from headwater.history.causes import ChangeCause
from headwater.reports.change_events import CauseEvents
from headwater.reports.change_models import ChangeQuery, FigureChange
from headwater.reports.change_report import Changes, load_changes, load_readings
from headwater.reports.models import Comparison, FigureColumn, Figures, Measure
from headwater.reports.plan_loader import PlanLoader
from headwater.reports.report import name_keys
from headwater.reports.report_reader import ReportReader, in_thread, open_reader
from headwater.reports.spend_change_models import (
    ChangedCost,
    CostChange,
    CostChangeReport,
    SpendCause,
)
from headwater.reports.spend_report import (
    MEASURES,
    CostFigures,
    check_only,
    money_of,
    of_credit,
)
from headwater.reports.spent import Key
from headwater.reports.spent_changes import LedgerChanges, SpentSides, load_ledger_changes
from headwater.reports.validation import check_changes
from headwater.spend import breakdown
from headwater.spend.breakdown import NOTHING


async def query_spend_changes(
    connection: AsyncConnection, space_id: int, query: ChangeQuery
) -> CostChangeReport:
    """Return what has changed between two readings of a report of spend. Needs and raises the same
    as `query_changes`.
    """
    report = replace(query.report, compare=Comparison.NONE)
    check_only(report)
    queries = of_credit(report)
    for each in queries:
        check_changes(replace(query, report=each))
    async with open_reader(connection, space_id, report.currency, money=True) as reader:
        plans = [
            planned for each in queries for planned in await PlanLoader(reader, [each]).plans(each)
        ]
        readings = await load_readings(reader, query, plans[0])
        credit, firsts = [await load_changes(reader, planned, readings) for planned in plans]
        credit.require_counted(readings)
        ledger = await load_ledger_changes(reader, report, credit, readings)
        rows = await _join_rows(reader, credit, firsts, ledger)
        total = _joined(
            _Credit(credit.total(), firsts.total()), ledger.total(), reader.space.cost_rate
        )
        listed = sorted((row for row in rows if row.change.causes), key=_order)
        return CostChangeReport(
            ledger.group, readings.start, readings.end, credit.fits, total,
            _joined(_Credit(), ledger.at(None), reader.space.cost_rate),
            tuple(listed[: report.limit]), max(0, len(listed) - report.limit),
            await _causes(reader, credit, ledger, {*total.causes, *(
                cause for row in listed for cause in row.change.causes
            )}),
            plans[0].period.span, reader.space.timezone, reader.currency, reader.space.cost_rate,
            credit.left_out_money, ledger.left_out,
        )  # fmt: skip


@dataclass(frozen=True)
class _Credit:
    """The credit of a group, of all orders and of first ones; None is nothing."""

    of_all: FigureChange | None = None
    of_firsts: FigureChange | None = None

    def at(
        self, side: Callable[[FigureChange], Figures | None], spent: breakdown.Figures
    ) -> CostFigures:
        """Return the figures of one side, with what was spent."""
        credit, firsts = (
            (side(change) if change is not None else None) or {}
            for change in (self.of_all, self.of_firsts)
        )
        revenue, events, customers = (_number(credit, measure) for measure in MEASURES)
        return CostFigures(
            spent, money_of(revenue), events, int(customers), money_of(_number(firsts, MEASURES[0]))
        )

    @property
    def causes(self) -> set[ChangeCause]:
        return {
            cause
            for each in (self.of_all, self.of_firsts)
            if each is not None
            for cause in each.causes
        }


def _number(figures: Figures, measure: Measure) -> Fraction:
    return Fraction(figures.get(FigureColumn(measure)) or 0)


def _joined(credit: _Credit, spent: SpentSides, cost_rate: Decimal | None) -> CostChange:
    """Return the change of spend and credit in one."""

    def figures(
        side: Callable[[FigureChange], Figures | None], of_ledger: breakdown.Figures
    ) -> CostFigures:
        return replace(credit.at(side, of_ledger), cost_rate=cost_rate)

    def part(cause: ChangeCause) -> CostFigures:
        return figures(lambda change: change.causes.get(cause), spent.causes.get(cause, NOTHING))

    there = credit.causes | set(spent.causes)
    causes = {cause: part(cause) for cause in ChangeCause if cause in there}
    return CostChange(
        figures(lambda change: change.start, spent.start),
        figures(lambda change: change.end, spent.end),
        {cause: parts for cause, parts in causes.items() if not parts.is_nothing},
    )


async def _join_rows(
    reader: ReportReader, credit: Changes, firsts: Changes, ledger: LedgerChanges
) -> list[ChangedCost]:
    """Return all groups, with and without changes."""
    if ledger.group is None:
        return []
    by_key = await _by_key(reader, credit)
    of_firsts = await _by_key(reader, firsts)
    rows: list[ChangedCost] = []
    for key in {*by_key, *ledger.keys()}:
        label, change = by_key.get(key, (ledger.names.get(key or "", key), None))
        pair = _Credit(change, of_firsts.get(key, (None, None))[1])
        spent = SpentSides() if key is None else ledger.at(key)
        rows.append(ChangedCost(key, label, _joined(pair, spent, reader.space.cost_rate)))
    return rows


async def _by_key(reader: ReportReader, of: Changes) -> dict[Key, tuple[str | None, FigureChange]]:
    """Return the groups of a report by their keys, with their names."""
    every = await in_thread(of.every_row, (of.start, of.end, *of.causes.values()))
    names = await name_keys(
        reader, of.planned.period, of.planned.dimensions, [keys for keys, _ in every]
    )
    keyed: dict[Key, tuple[str | None, FigureChange]] = {}
    for keys, change in every:
        (key,) = names[keys]
        keyed[key.value] = key.label, change
    return keyed


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
        causes.append(SpendCause(
            cause, events and events.count, largest, rows and rows[0], rows[1] if rows else ()
        ))  # fmt: skip
    return tuple(causes)
