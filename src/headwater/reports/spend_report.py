"""The cost of ads beside what they brought: a report's credit, and the spend ledger, by the groups
that both know. Money is exact, and ratios are of sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

from psycopg import AsyncConnection

from headwater.ads.catalogue import fetch_names
from headwater.fits.choice import ChosenFit
from headwater.http.errors import Invalid
from headwater.rates.exchange import converted
from headwater.rates.store import load_rates
from headwater.reports.conversion import missing_rates
from headwater.reports.errors import MissingRates, ReportTooLarge
from headwater.reports.measures import plain, rounded
from headwater.reports.models import (
    DateTimeSpan,
    FigureColumn,
    Group,
    KeyCondition,
    Measure,
    Report,
    ReportQuery,
    ReportRow,
)
from headwater.reports.report import query_reports
from headwater.reports.validation import MOST_ROWS
from headwater.spaces.spaces import fetch_space
from headwater.spend.breakdown import NOTHING, Figures, Piece
from headwater.spend.ledger import read_pieces
from headwater.spend.models import source_of

GROUPS = (
    Group.SOURCE, Group.CAMPAIGN, Group.ADSET, Group.AD, Group.COUNTRY, Group.DAY, Group.WEEK,
    Group.MONTH,
)  # fmt: skip
"""The groups that both events and spend have."""
ONLY = (Group.SOURCE, Group.CAMPAIGN, Group.ADSET)
"""The groups whose keys a report may be narrowed by."""
MEASURES = (Measure.CREDITED_REVENUE, Measure.CREDITED_EVENTS, Measure.NEW_CUSTOMERS)
MILLIONTHS = 10**6
_HUNDREDTH = 10**4
_SMALLEST = 10**4
"""Amounts of events have four decimals."""
_FIRST_ORDERS = KeyCondition(Group.CUSTOMER, "new")
_UNNAMED: Mapping[str, str] = {}
_DEPTH = {Group.CAMPAIGN: 1, Group.ADSET: 2, Group.AD: 3}

Key = str | None
Names = Mapping[Group, Mapping[str, str]]
"""By group what ids are called."""


@dataclass(frozen=True)
class CostFigures:
    """Sums of what was spent, what the platforms claim for it, and what we credit."""

    spent: Figures = NOTHING
    credited_revenue: Decimal = Decimal(0)
    credited_events: Fraction = Fraction(0)
    new_customers: int = 0
    new_customer_revenue: Decimal = Decimal(0)
    """The credited revenue of first orders."""
    cost_rate: Decimal | None = None
    """The Space's, in per cent of revenue."""

    @property
    def spend(self) -> Decimal:
        return plain(Decimal(self.spent[0]) / MILLIONTHS)

    @property
    def impressions(self) -> int:
        return self.spent[1]

    @property
    def clicks(self) -> int:
        return self.spent[2]

    @property
    def platform_conversions(self) -> Decimal:
        return plain(Decimal(self.spent[3]) / MILLIONTHS)

    @property
    def platform_revenue(self) -> Decimal:
        return plain(Decimal(self.spent[4]) / MILLIONTHS)

    @property
    def contribution(self) -> Decimal | None:
        """The rest of the credited revenue after the Space's cost rate and spend, exactly; None
        where the Space has no cost rate.
        """
        if self.cost_rate is None:
            return None
        return plain(self.credited_revenue * (100 - self.cost_rate) / 100 - self.spend)

    @property
    def roas(self) -> Decimal | None:
        """The credited revenue for one unit of spend; None where nothing is spent."""
        return _ratio(Fraction(self.credited_revenue), Fraction(self.spent[0], MILLIONTHS))

    @property
    def cpa(self) -> Decimal | None:
        """The spend for one credited event."""
        return _ratio(Fraction(self.spent[0], MILLIONTHS), self.credited_events)

    @property
    def cac(self) -> Decimal | None:
        """The spend for one new customer."""
        return _ratio(Fraction(self.spent[0], MILLIONTHS), Fraction(self.new_customers))


@dataclass(frozen=True)
class CostRow:
    """A group, what was spent on it and what it brought."""

    key: Key
    label: str | None
    figures: CostFigures


@dataclass(frozen=True)
class CostReport:
    """The result of a query. The spend of all rows and that without a place is the ledger's."""

    group: Group | None
    rows: tuple[CostRow, ...]
    left_out: int
    total: CostFigures
    """Of everything, with and without spend."""
    with_spend: CostFigures
    """The sum of the rows that have spend."""
    without_place: CostFigures
    """Spend that is not broken down by the group, or of a platform that is no source."""
    span: DateTimeSpan
    timezone: str
    currency: str
    cost_rate: Decimal | None = None
    """The Space's, in per cent of revenue."""
    fit: ChosenFit | None = None
    """The fit that credit depends on."""

    def at_cost_rate(self, rate: Decimal | None) -> CostReport:
        """Return the report with the contribution at a cost rate."""

        def at(figures: CostFigures) -> CostFigures:
            return replace(figures, cost_rate=rate)

        return replace(
            self, rows=tuple(replace(row, figures=at(row.figures)) for row in self.rows),
            total=at(self.total), with_spend=at(self.with_spend),
            without_place=at(self.without_place), cost_rate=rate,
        )  # fmt: skip


async def query_spend(connection: AsyncConnection, space_id: int, query: ReportQuery) -> CostReport:
    """Return the report of a query, of which group and measures are those that spend has. Needs and
    raises the same as `query_report`.
    """
    wanted = {condition.group for condition in query.filters.only}
    if not wanted <= set(ONLY):
        raise Invalid.of("only", f"must be of {', '.join(ONLY)}.")
    of_credit = replace(query, measures=MEASURES, limit=MOST_ROWS, order_by=None, descending=True)
    firsts = replace(
        of_credit, measures=MEASURES[:1],
        filters=replace(query.filters, only=(*query.filters.only, _FIRST_ORDERS)),
    )  # fmt: skip
    report, of_firsts = await query_reports(connection, space_id, [of_credit, firsts])
    if report.left_out:
        raise ReportTooLarge
    first, last = query.start.date(), query.end.date()
    pieces = await read_pieces(connection, space_id, first, last)
    names = await _names(connection, space_id, pieces)
    chosen = [piece for piece in pieces if _is_chosen(piece, query, names)]
    spent = await _in_one_currency(connection, space_id, report.currency, chosen)
    space = await fetch_space(connection, space_id)
    return _joined(query, (report, of_firsts), spent, names).at_cost_rate(space.cost_rate)


async def _names(
    connection: AsyncConnection, space_id: int, pieces: Sequence[Piece]
) -> Names:  # fmt: skip
    """Return what the ad catalogue calls the ids of pieces."""
    names: dict[Group, Mapping[str, str]] = {}
    for group, depth in _DEPTH.items():
        ids = {piece.row.path[depth] for piece in pieces if len(piece.row.path) > depth}
        names[group] = await fetch_names(connection, space_id, str(group), ids) if ids else {}
    return names


def _joined(
    query: ReportQuery, reports: tuple[Report, Report], spent: Iterable[Piece], names: Names
) -> CostReport:
    """Return spend and credit in one; the second report is of first orders alone."""
    report, of_firsts = reports
    group = query.group_by[0] if query.group_by else None
    by_key = _by_key(group, spent)
    whole = _sum(by_key.values())
    nowhere = NOTHING if group is None else by_key.pop(None, NOTHING)
    of_group = _UNNAMED if group is None else names.get(group, _UNNAMED)
    listed = {row.keys[0].value: row for row in report.rows} if group is not None else {}
    for key in [key for key in by_key if key not in listed]:
        name = of_group.get(key or "")
        if name is not None and name in listed:  # of touchpoints that came without an id
            by_key[name] = _plus(by_key.get(name, NOTHING), by_key.pop(key))
    firsts = {row.keys[0].value: row for row in of_firsts.rows} if group is not None else {}
    rows = [
        CostRow(key, row.keys[0].label, _figures(row, firsts.get(key), by_key.pop(key, NOTHING)))
        for key, row in listed.items()
    ]
    if group is not None:
        rows += [
            CostRow(key, of_group.get(key or "", key), CostFigures(figures))
            for key, figures in by_key.items()
        ]
    rows.sort(key=_order)
    return CostReport(
        group, tuple(rows[: query.limit]), max(0, len(rows) - query.limit),
        _figures(report.total, of_firsts.total, whole),
        _total([row.figures for row in rows if row.figures.spent != NOTHING]),
        CostFigures(nowhere), report.span, report.timezone, report.currency, fit=report.fit,
    )  # fmt: skip


def _by_key(group: Group | None, spent: Iterable[Piece]) -> dict[Key, Figures]:
    by_key: dict[Key, Figures] = {}
    for piece in spent:
        key = key_of(group, piece)
        by_key[key] = _plus(by_key.get(key, NOTHING), piece.row.figures)
    return by_key


def key_of(group: Group | None, piece: Piece) -> Key:
    """Return the key of a piece in a group, as a report's rows have it; None where it has none."""
    row = piece.row
    match group:
        case Group.SOURCE:
            return source_of(row.platform)
        case Group.CAMPAIGN | Group.ADSET | Group.AD:
            return row.path[_DEPTH[group]] if len(row.path) > _DEPTH[group] else None
        case Group.COUNTRY:
            return row.country or None
        case Group.WEEK:
            return f"{row.date - timedelta(days=row.date.weekday())}"
        case Group.MONTH:
            return f"{row.date.replace(day=1)}"
        case _:
            return f"{row.date}"


def _is_chosen(piece: Piece, query: ReportQuery, names: Names) -> bool:
    """Return whether a piece meets the conditions on keys, by its id or by its name."""
    wanted: dict[Group, set[Key]] = {}
    for condition in query.filters.only:
        wanted.setdefault(condition.group, set()).add(condition.key)
    for group, keys in wanted.items():
        key = key_of(group, piece)
        if keys.isdisjoint({key, names.get(group, {}).get(key or "", key)}):
            return False
    return True


async def _in_one_currency(
    connection: AsyncConnection, space_id: int, target: str, pieces: Sequence[Piece]
) -> list[Piece]:
    """Return pieces with their money in one currency, each at the rate of its own day. Raises
    MissingRates.
    """
    foreign = {(piece.row.currency, piece.row.date) for piece in pieces}
    foreign = {(currency, day) for currency, day in foreign if currency != target}
    currencies = {currency for currency, _ in foreign} | {target}
    table = await load_rates(connection, space_id, {day for _, day in foreign}, currencies)
    rates = {pair: table.rate(pair[1], pair[0], target) for pair in foreign}
    missing = [pair for pair, rate in rates.items() if rate is None]
    if missing:
        raise MissingRates(target, missing_rates(missing))
    known = {pair: rate for pair, rate in rates.items() if rate is not None}
    return [_converted(piece, known) for piece in pieces]


def _converted(piece: Piece, rates: Mapping[tuple[str, date], Fraction]) -> Piece:
    rate = rates.get((piece.row.currency, piece.row.date))
    if rate is None:
        return piece
    amount, impressions, clicks, conversions, revenue = piece.row.figures
    figures = (
        converted(amount, rate, _HUNDREDTH), impressions, clicks, conversions,
        converted(revenue, rate, _HUNDREDTH),
    )  # fmt: skip
    return Piece(piece.row._replace(figures=figures), piece.left_over)


def _figures(row: ReportRow, firsts: ReportRow | None, spent: Figures) -> CostFigures:
    revenue, events, customers = (_of(row, measure) for measure in MEASURES)
    of_firsts = _of(firsts, MEASURES[0]) if firsts is not None else Fraction(0)
    return CostFigures(spent, _money(revenue), events, int(customers), _money(of_firsts))


def _money(amount: Fraction) -> Decimal:
    return Decimal(int(amount * _SMALLEST)) / _SMALLEST


def _of(row: ReportRow, measure: Measure) -> Fraction:
    figure = row.figures[FigureColumn(measure)]
    return Fraction(0) if figure is None else Fraction(figure)


def _total(several: Sequence[CostFigures]) -> CostFigures:
    return CostFigures(
        _sum(each.spent for each in several),
        sum((each.credited_revenue for each in several), Decimal(0)),
        sum((each.credited_events for each in several), Fraction(0)),
        sum(each.new_customers for each in several),
        sum((each.new_customer_revenue for each in several), Decimal(0)),
    )


def _order(row: CostRow) -> tuple[int, Decimal, str]:
    """The most spend first, then the most revenue."""
    return -row.figures.spent[0], -row.figures.credited_revenue, row.key or "\U0010ffff"


def _plus(some: Figures, others: Figures) -> Figures:
    return tuple(a + b for a, b in zip(some, others, strict=True))


def _sum(several: Iterable[Figures]) -> Figures:
    total = NOTHING
    for figures in several:
        total = _plus(total, figures)
    return total


def _ratio(part: Fraction, whole: Fraction) -> Decimal | None:
    return rounded(part / whole) if whole else None
