"""The changes of the spend ledger between two readings, by the groups that it has in common with
reports and in one currency.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest

from headwater.attribution.history.revisions import OF_SPEND, ChangeCause
from headwater.reports.change_models import MOST_LARGEST
from headwater.reports.changes.change_report import Changes
from headwater.reports.changes.change_terms import Readings
from headwater.reports.engine.conversion import LeftOutSpend
from headwater.reports.engine.report_reader import ReportReader, in_thread
from headwater.reports.query import Group, ReportQuery, ReportTooLarge
from headwater.reports.questions.spent import (
    Key,
    SpendExchange,
    Spent,
    fetch_piece_names,
    is_chosen,
    load_exchange,
    plus,
    sum_of,
)
from headwater.spend.breakdown import NOTHING, Figures, Piece
from headwater.spend.changes import ChangedSpend, SpendChanges, TooManyChangesError, split_spend
from headwater.spend.ledger import read_versions


@dataclass(frozen=True)
class SpentSides:
    """Something of the ledger at both readings, and what each cause has added to it."""

    start: Figures = NOTHING
    end: Figures = NOTHING
    causes: Mapping[ChangeCause, Figures] = field(default_factory=dict[ChangeCause, Figures])


@dataclass(frozen=True)
class LedgerChanges:
    """The ledger at both readings by the keys of a group, in one currency."""

    group: Group | None
    start: Mapping[Key, Figures]
    end: Mapping[Key, Figures]
    causes: Mapping[ChangeCause, Mapping[Key, Figures]]
    names: Mapping[str, str]
    """What keys are called."""
    rows: Mapping[ChangeCause, tuple[int, tuple[ChangedSpend, ...]]]
    """By cause, how many rows it has changed, and those that moved most."""
    left_out: tuple[tuple[LeftOutSpend, ...], tuple[LeftOutSpend, ...]]
    """What the sums at both readings leave out."""
    platforms: tuple[Collection[Key], Collection[Key]] = ((), ())
    """The platforms with spend at both readings."""
    unsplit: Collection[Key] = ()
    """Those whose spend a report by source cannot put at one source."""

    def keys(self) -> set[Key]:
        """Return all keys but that of what is not broken down."""
        if self.group is None:
            return set()
        return {key for each in (self.start, self.end, *self.causes.values()) for key in each} - {None}

    def at(self, key: Key) -> SpentSides:
        """Return what is at a key; of no group, nothing is at none."""
        if self.group is None:
            return SpentSides()
        causes = {cause: by_key.get(key, NOTHING) for cause, by_key in self.causes.items()}
        return SpentSides(self.start.get(key, NOTHING), self.end.get(key, NOTHING), causes)

    def total(self) -> SpentSides:
        causes = {cause: sum_of(by_key.values()) for cause, by_key in self.causes.items()}
        return SpentSides(sum_of(self.start.values()), sum_of(self.end.values()), causes)


async def load_ledger_changes(
    reader: ReportReader, query: ReportQuery, credit: Changes, readings: Readings
) -> LedgerChanges:
    """Return what of the ledger has changed, on what a query is about; `credit` is what has of its
    credit. Raises ReportTooLarge.
    """
    days = query.start.date(), query.end.date()
    since, until = (each.point.revision for each in (readings.start, readings.end))
    await reader.bound_time()
    versions = await read_versions(reader.connection, reader.space.id, days, since)
    try:
        split = await in_thread(split_spend, versions, since, until)
    except TooManyChangesError:
        raise ReportTooLarge from None
    await reader.bound_time()
    pieces = list(split.pieces)
    names = await fetch_piece_names(reader.connection, reader.space.id, pieces)
    wanted = query.filters.only
    exchanges = [
        await load_exchange(reader.connection, reader.space.id, reader.currency, pieces, each.rates_at)
        for each in (credit.terms[0], credit.terms[-1])
    ]
    chosen = _Chosen(lambda piece: is_chosen(piece, wanted, names), split)
    sums = _Sums(query.group_by[0] if query.group_by else None, names, _listed(credit))
    return await in_thread(_ledger_of, chosen, exchanges, sums)


class _Chosen:
    """The pieces of the ledger that a query is about."""

    def __init__(self, is_wanted: Callable[[Piece], bool], split: SpendChanges) -> None:
        self._is_wanted = is_wanted
        self.start, self.end = self.of(split.start), self.of(split.end)
        self.causes = {cause: split.causes[cause] for cause in OF_SPEND if cause in split.causes}

    def of(self, pieces: Iterable[Piece]) -> list[Piece]:
        return [piece for piece in pieces if self._is_wanted(piece)]

    def rows(self, cause: ChangeCause) -> list[ChangedSpend]:
        """Return the rows that a cause has changed."""
        return [each for each in self.causes[cause].rows if self._is_wanted(Piece(each.row, False))]


@dataclass(frozen=True)
class _Sums:
    """Adds pieces up by the keys of a group."""

    group: Group | None
    names: Mapping[Group, Mapping[str, str]]
    listed: Collection[Key]
    """The keys that rows have by their credit."""

    def of(self, pieces: Iterable[Piece], exchange: SpendExchange) -> dict[Key, Figures]:
        return Spent([exchange.convert(piece) for piece in pieces], self.names).by_key(
            self.group, self.listed
        )


def _ledger_of(chosen: _Chosen, exchanges: Sequence[SpendExchange], sums: _Sums) -> LedgerChanges:
    first, last = exchanges
    start = sums.of(chosen.start, first)
    causes: dict[ChangeCause, dict[Key, Figures]] = {}
    rows: dict[ChangeCause, tuple[int, tuple[ChangedSpend, ...]]] = {}
    for cause, share in chosen.causes.items():
        new, gone = (sums.of(chosen.of(each), last) for each in (share.new, share.gone))
        causes[cause] = _minus(new, gone)
        changed = chosen.rows(cause)
        largest = nlargest(MOST_LARGEST, changed, lambda each: _weight(each, last))
        rows[cause] = len(changed), tuple(largest)
    if first != last:
        causes[ChangeCause.RATES] = _minus(sums.of(chosen.start, last), start)
    names = Spent((), sums.names).names_of(sums.group)
    sides = [Spent(pieces, {}) for pieces in (chosen.start, chosen.end)]
    before, after = (side.platforms for side in sides)
    unsplit = {platform for side in sides for platform in side.unsplit(sums.group)}
    left_out = first.left_out(chosen.start), last.left_out(chosen.end)
    end = sums.of(chosen.end, last)
    return LedgerChanges(sums.group, start, end, causes, names, rows, left_out, (before, after), unsplit)


def _weight(changed: ChangedSpend, exchange: SpendExchange) -> tuple[int, ...]:
    """Return what rows are ordered by: the money that moved, then all else."""
    return tuple(map(abs, exchange.convert(Piece(changed.row, False)).row.figures))


def _minus(some: Mapping[Key, Figures], others: Mapping[Key, Figures]) -> dict[Key, Figures]:
    negated = {key: tuple(-figure for figure in figures) for key, figures in others.items()}
    return {key: plus(some.get(key, NOTHING), negated.get(key, NOTHING)) for key in {**some, **negated}}


def _listed(credit: Changes) -> set[Key]:
    """Return the keys that rows have by their credit at one of the readings."""
    return {
        credit.planned.dimensions[0].key_text(keys[0])
        for keys, change in credit.every_row((credit.start, credit.end))
        if keys and (any(change.start.values()) or any(change.end.values()))
    }
