"""Explain the changed figures of a spend report by cause. A ratio is explained by its two sums, because parts
of ratios don't add up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from heapq import nlargest

from msgspec import Struct
from psycopg import AsyncConnection

from headwater.attribution.history.revisions import ChangeCause
from headwater.reports.changes.change import (
    MAX_LARGEST,
    NONE_CHANGED,
    CauseShare,
    ChangedRow,
    ChangeQuery,
    ExplainedChange,
    FigureChange,
    Figures,
    SpendChangeReport,
    check_changes,
    zip_changes,
)
from headwater.reports.changes.credit import CreditChanges, Terms, load_changes, load_largest
from headwater.reports.engine.conversion import LeftOutSpend
from headwater.reports.engine.measures import Figures as ReportFigures
from headwater.reports.engine.measures import Sums, compute_figures
from headwater.reports.engine.passes import PeriodPlan, PlanLoader
from headwater.reports.engine.report import GroupKey, name_keys
from headwater.reports.engine.report_reader import ReportReader, open_reader, run_in_thread
from headwater.reports.engine.result import Keys, PeriodSums
from headwater.reports.engine.snapshots import Snapshots, find_snapshots
from headwater.reports.query import OF_TOUCHES, Comparison, Group, ReportQuery, ReportTooLarge
from headwater.reports.questions.cost_figures import (
    NO_CREDIT,
    CostFigures,
    Credit,
    CreditByKeys,
    CustomersByKeys,
    FiguresByKeys,
    add_up_paid,
    count_customers,
    credit_queries,
    customers_query,
    join_credit,
    make_credit,
    spend_problem,
)
from headwater.reports.questions.period_spend import (
    Key,
    PeriodSpend,
    SpendExchange,
    add_up_all,
    fetch_part_names,
    list_currency_days,
    load_exchange,
    meets_filters,
    plus,
)
from headwater.reports.questions.spend import FIGURES, check_only
from headwater.spaces.models import Space
from headwater.spend.breakdown import NOTHING, SpendPart
from headwater.spend.breakdown import Figures as LedgerFigures
from headwater.spend.changes import ChangedSpend, SpendChanges, TooManyChangesError, split_spend
from headwater.spend.ledger import find_pulls, read_versions

RATIOS: Mapping[str, tuple[str, str]] = {
    "roas": ("credited_revenue", "spend"),
    "cpa": ("spend", "credited_conversions"),
    "cac": ("spend", "new_customers"),
}
"""The two sums of each ratio, dividend first."""
SUMS = tuple(name for name in FIGURES if name not in RATIOS)
"""Figures whose differences add up."""

Names = Mapping[Keys, tuple[GroupKey, ...]]
LedgerByKey = Mapping[Key, LedgerFigures]


async def query_spend_changes(
    connection: AsyncConnection, space_id: int, query: ChangeQuery
) -> SpendChangeReport:
    """See `query_changes` for conditions and errors."""
    report = replace(query.report, compare=Comparison.NONE)
    check_only(report)
    queries = credit_queries(report)
    for credit_query in queries.members:
        check_changes(replace(query, report=credit_query))
    async with open_reader(connection, space_id, report.currency, money=True) as reader:
        plans = await _make_plans(reader, queries.members)
        snapshots = await find_snapshots(reader, query.start, query.end, plans[0])
        changed_spend = await _load_changed_spend(reader, report, snapshots)
        counts = [customers_query(queries.of_all, platforms) for platforms in changed_spend.platforms]
        needed_queries = list(dict.fromkeys(count for count in counts if count is not None))
        plans += await _make_plans(reader, needed_queries)
        reports = await load_changes(reader, plans, snapshots)
        names = [await _name_groups(reader, changes) for changes in reports]
        customer_indexes = [
            None if count is None else len(queries.members) + needed_queries.index(count) for count in counts
        ]
        credit = await run_in_thread(_split_credit, reports, names, customer_indexes)
        ledger = await _load_ledger(reader, report, changed_spend, reports[0].terms, _list_keys(credit))
        table = _Table(report, reader.space, ledger, credit)
        labels = {keys[0].value: keys[0].label for keys in names[0].values() if keys}
        total, rows = table.total(), await run_in_thread(table.rows, labels)
        moving = {*total.causes, *(cause for row in rows for cause in row.change.causes)}
        events = await load_largest(reader, reports[0], moving)
        return SpendChangeReport(
            start=snapshots.start,
            end=snapshots.end,
            trained_models=reports[0].trained_models,
            group=table.group,
            total=total,
            unmatched=table.unmatched(),
            rows=tuple(rows[: report.limit]),
            left_out=max(0, len(rows) - report.limit),
            causes=tuple(
                CauseShare(cause, *events.get(cause, NONE_CHANGED), *ledger.rows.get(cause, NONE_CHANGED))
                for cause in ChangeCause
                if cause in moving
            ),
            span=plans[0].period.span,
            timezone=reader.space.timezone,
            currency=reader.currency,
            cost_rate=reader.space.cost_rate,
            left_out_money_before=reports[0].left_out[0],
            left_out_money=reports[0].left_out[1],
            left_out_spend_before=ledger.left_out[0],
            left_out_spend=ledger.left_out[1],
        )


@dataclass(frozen=True)
class _Credit:
    """The credit of one snapshot, or one cause's part."""

    total: Credit
    by_key: CreditByKeys
    by_platform: CreditByKeys
    """By group key and platform; groups of touches need no key."""
    paid_customers: CustomersByKeys | None = None
    """Each new customer of platforms with spend, once. None if equal to the sum over platforms, and for a
    cause's part.
    """


_NO_CREDIT = _Credit(NO_CREDIT, {}, {})


async def _make_plans(reader: ReportReader, queries: Iterable[ReportQuery]) -> list[PeriodPlan]:
    return [
        period_plan for query in queries for period_plan in await PlanLoader(reader, [query]).plans(query)
    ]


async def _name_groups(reader: ReportReader, changes: CreditChanges) -> Names:
    keys = {sums.keys(index) for sums in changes.sums.sides for index in range(sums.groups.groups)}
    return await name_keys(reader, changes.planned.period, changes.planned.dimensions, keys)


def _split_credit(
    reports: Sequence[CreditChanges], names: Sequence[Names], following: Sequence[int | None]
) -> ExplainedChange[_Credit]:
    """Combine the reports of all and of first orders, without and with the platform. `following` has each
    snapshot's place of a further report, of several platforms' new customers.
    """
    credit = zip_changes([changes.sums for changes in reports[:4]]).map(partial(_join_credit, names[:4]))

    def with_customers(side: _Credit, index: int) -> _Credit:
        position = following[index]
        if position is None:
            return side
        sums = reports[position].sums.sides[index]
        figures = {**_figures_by_keys(sums, names[position]), (): _figures(sums.query, sums.total)}
        return replace(side, paid_customers=count_customers(figures))

    return ExplainedChange(with_customers(credit.start, 0), with_customers(credit.end, 1), credit.causes)


def _figures_by_keys(sums: PeriodSums, group_names: Names) -> FiguresByKeys:
    return {
        tuple(key.value for key in group_names[sums.keys(index)]): _figures(sums.query, sums.at(index))
        for index in range(sums.groups.groups)
    }


def _join_credit(names: Sequence[Names], sums: Sequence[PeriodSums]) -> _Credit:
    totals = [_figures(report_sums.query, report_sums.total) for report_sums in sums]
    groups = [
        _figures_by_keys(report_sums, group_names)
        for report_sums, group_names in zip(sums, names, strict=True)
    ]
    return _Credit(
        make_credit(totals[0], totals[1]),
        join_credit(groups[0], groups[1]),
        join_credit(groups[2], groups[3]),
    )


def _figures(query: ReportQuery, sums: Sums) -> ReportFigures:
    return compute_figures(query, sums, sums)


def _list_keys(credit: ExplainedChange[_Credit]) -> set[Key]:
    return {
        keys[0]
        for side in (credit.start, credit.end)
        for keys, credit_of_key in side.by_key.items()
        if keys and (credit_of_key.revenue or credit_of_key.conversions or credit_of_key.new_customers)
    }


class _Ledger(Struct, frozen=True):
    sums: ExplainedChange[LedgerByKey]
    """By group key."""
    names: Mapping[str, str]
    rows: Mapping[ChangeCause, tuple[int, tuple[ChangedSpend, ...]]]
    """The number of changed rows, and the largest."""
    left_out: tuple[tuple[LeftOutSpend, ...], tuple[LeftOutSpend, ...]]
    platforms: tuple[Collection[Key], Collection[Key]]
    unsplit: Collection[str]
    """Platforms whose spend can't be assigned to one source."""


class _ChangedSpend(Struct, frozen=True):
    """Spend at both snapshots in its original currencies, and the changes in between."""

    start: list[SpendPart]
    end: list[SpendPart]
    changes: SpendChanges
    names: Mapping[Group, Mapping[str, str]]

    @property
    def platforms(self) -> tuple[Collection[Key], Collection[Key]]:
        return PeriodSpend(self.start, {}).platforms, PeriodSpend(self.end, {}).platforms


async def _load_changed_spend(
    reader: ReportReader, query: ReportQuery, snapshots: Snapshots
) -> _ChangedSpend:
    """Raises ReportTooLarge."""
    connection, space_id = reader.connection, reader.space.id
    since, until = snapshots.start.point.revision, snapshots.end.point.revision
    await reader.bound_time()
    versions = await read_versions(connection, space_id, (query.start.date(), query.end.date()), since)
    try:
        changes = await run_in_thread(split_spend, versions, since, until)
    except TooManyChangesError:
        raise ReportTooLarge from None
    await reader.bound_time()
    await _name_pulls(connection, space_id, changes)
    names = await fetch_part_names(connection, space_id, list(changes.pieces))
    start, end = (_select(parts, query, names) for parts in (changes.start, changes.end))
    return _ChangedSpend(start, end, changes, names)


async def _name_pulls(connection: AsyncConnection, space_id: int, changes: SpendChanges) -> None:
    """Note when restated rows were pulled."""
    share = changes.causes.get(ChangeCause.SPEND_REPLACEMENTS)
    if share is not None:
        pulls = await find_pulls(connection, space_id, {row.revision for row in share.rows})
        share.rows = [row._replace(pulled_at=pulls.get(row.revision)) for row in share.rows]


def _select(
    parts: Iterable[SpendPart], query: ReportQuery, names: Mapping[Group, Mapping[str, str]]
) -> list[SpendPart]:
    """Return the parts that meet the query's filters."""
    return [spend_part for spend_part in parts if meets_filters(spend_part, query.filters.only, names)]


async def _load_ledger(
    reader: ReportReader,
    query: ReportQuery,
    changed_spend: _ChangedSpend,
    terms: Sequence[Terms],
    listed_keys: Collection[Key],
) -> _Ledger:
    currency_days = list_currency_days(changed_spend.changes.pieces)
    exchanges = [
        await load_exchange(reader.connection, reader.space.id, reader.currency, currency_days, term.rates_at)
        for term in (terms[0], terms[-1])
    ]
    return await run_in_thread(_add_up_ledger, query, changed_spend, exchanges, listed_keys)


def _add_up_ledger(
    query: ReportQuery,
    changed_spend: _ChangedSpend,
    exchanges: Sequence[SpendExchange],
    listed_keys: Collection[Key],
) -> _Ledger:
    changes, names, start, end = (
        changed_spend.changes,
        changed_spend.names,
        changed_spend.start,
        changed_spend.end,
    )
    group = query.group_by[0] if query.group_by else None
    first, last = exchanges

    def by_key(parts: Iterable[SpendPart], exchange: SpendExchange) -> LedgerByKey:
        return PeriodSpend([exchange.convert(spend_part) for spend_part in parts], names).by_key(
            group, listed_keys
        )

    causes: dict[ChangeCause, LedgerByKey] = {}
    rows: dict[ChangeCause, tuple[int, tuple[ChangedSpend, ...]]] = {}
    for cause, share in changes.causes.items():
        new_sums, gone_sums = (
            by_key(_select(parts, query, names), last) for parts in (share.new, share.gone)
        )
        causes[cause] = _subtract(new_sums, gone_sums)
        changed_rows = [
            row for row in share.rows if meets_filters(SpendPart(row.row, False), query.filters.only, names)
        ]
        rows[cause] = len(changed_rows), tuple(nlargest(MAX_LARGEST, changed_rows, partial(_weight, last)))
    if first != last:
        causes[ChangeCause.RATES] = _subtract(by_key(start, last), by_key(start, first))
    sides = PeriodSpend(start, {}), PeriodSpend(end, {})
    return _Ledger(
        ExplainedChange(by_key(start, first), by_key(end, last), causes),
        PeriodSpend((), names).find_names(group),
        rows,
        (first.left_out(start), last.left_out(end)),
        changed_spend.platforms,
        {platform for side in sides for platform in side.unsplit(group)},
    )


def _weight(exchange: SpendExchange, change: ChangedSpend) -> tuple[int, ...]:
    return tuple(map(abs, exchange.convert(SpendPart(change.row, False)).row.figures))


def _subtract(figures: LedgerByKey, subtrahend: LedgerByKey) -> LedgerByKey:
    negated = {key: tuple(-figure for figure in figures_of_key) for key, figures_of_key in subtrahend.items()}
    return {key: plus(figures.get(key, NOTHING), negated.get(key, NOTHING)) for key in {**figures, **negated}}


class _Side(Struct, frozen=True):
    """Spend and credit of one snapshot, or one cause's part."""

    spent: LedgerByKey
    credit: _Credit
    paid: CreditByKeys
    """By group key, unless touches are grouped, and under no keys the total."""
    columns: tuple[str, ...]
    """A cause's part has no ratios."""

    @classmethod
    def of(cls, spent: LedgerByKey, credit: _Credit, platforms: Collection[Key] | None) -> _Side:
        """Join credit and spend; leave `platforms` out for a cause's part."""
        paid = add_up_paid(credit.by_platform, platforms or (), credit.paid_customers)
        return cls(spent, credit, paid, SUMS if platforms is None else FIGURES)


class _Table:
    def __init__(
        self, query: ReportQuery, space: Space, ledger: _Ledger, credit: ExplainedChange[_Credit]
    ) -> None:
        self.group = query.group_by[0] if query.group_by else None
        self._space, self._ledger = space, ledger
        self._has_ratios = spend_problem(query.filters.only, space.sources) is None
        before, after = ledger.platforms
        causes = {
            cause: _Side.of(ledger.sums.causes.get(cause, {}), credit.causes.get(cause, _NO_CREDIT), None)
            for cause in ChangeCause
            if cause in ledger.sums.causes or cause in credit.causes
        }
        self._sides = ExplainedChange(
            _Side.of(ledger.sums.start, credit.start, before),
            _Side.of(ledger.sums.end, credit.end, after),
            causes,
        )

    def total(self) -> FigureChange:

        def figures(side: _Side) -> Figures:
            return self._figures(side, add_up_all(side.spent.values()), side.credit.total, side.paid[()])

        return FigureChange.of(self._sides.map(figures))

    def unmatched(self) -> FigureChange:

        def figures(side: _Side) -> Figures:
            spent_figures = NOTHING if self.group is None else side.spent.get(None, NOTHING)
            return self._figures(side, spent_figures, NO_CREDIT, None)

        return FigureChange.of(self._sides.map(figures))

    def rows(self, labels: Mapping[Key, str | None]) -> list[ChangedRow]:
        """Order rows by largest difference of spend; `labels` name the keys of credit."""
        if self.group is None:
            return []
        spent_keys = {key for side in self._sides.sides for key in side.spent if key is not None}
        rows: list[ChangedRow] = []
        for key in {*labels, *spent_keys}:
            change = FigureChange.of(self._sides.map(partial(self._row, key)))
            if change.causes:
                label = labels[key] if key in labels else self._ledger.names.get(key or "", key)
                rows.append(ChangedRow((GroupKey(key, label),), change))
        return sorted(rows, key=_order)

    def _row(self, key: Key, side: _Side) -> Figures:
        spent_figures = NOTHING if key is None else side.spent.get(key, NOTHING)
        paid = None if self.group in OF_TOUCHES else side.paid.get((key,), NO_CREDIT)
        platform = self._space.sources.find_platform(key) if self.group is Group.SOURCE and key else None
        credit = side.credit.by_key.get((key,), NO_CREDIT)
        return self._figures(side, spent_figures, credit, paid, is_split=platform not in self._ledger.unsplit)

    def _figures(
        self, side: _Side, spent: LedgerFigures, credit: Credit, paid: Credit | None, *, is_split: bool = True
    ) -> Figures:
        has_ratios = self._has_ratios and is_split
        figures = CostFigures(spent, credit, paid, self._space.cost_rate, has_ratios)
        return {name: getattr(figures, name) for name in side.columns}


def _order(row: ChangedRow) -> tuple[Fraction, Fraction, str]:
    """Order rows by largest difference of spend, then of revenue."""
    difference = row.change.difference
    spend, revenue = (abs(Fraction(difference[name] or 0)) for name in ("spend", "credited_revenue"))
    return -spend, -revenue, row.keys[0].value or "\U0010ffff"
