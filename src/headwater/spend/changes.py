"""The changes of the ledger between two moments, by cause. Pure.

Rows of one day, platform and currency are broken down together, so a campaign that comes in takes
from what its account had not broken down. The changes of such a day are made one by one, and what
each leads to is compared with what was before it:

    google, 13 May          account 123    campaign 4711     pieces
    reading 1                   100                           100 of the account
    ├── spend_imports           100              60            40 of it, 60 of the campaign
    ├── spend_replacements      120              60            60 of it, 60 of the campaign
    reading 2

So the differences of all changes add up to that between the readings, whatever they are grouped by.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from headwater.attribution.history.revisions import OF_SPEND, ChangeCause
from headwater.spend.breakdown import NOTHING, Figures, LedgerRow, SpendPart, break_down

NEVER = 1 << 62
"""The number of a change that has not been made."""
MOST_WORK = 3_000_000
"""The rows that are broken down, those of a day once for each of its changes: some ten seconds."""

DayKey = tuple[date, str, str]
"""The day, platform and currency of rows that are broken down together."""


class SpendVersion(NamedTuple):
    """A row of the ledger as it was for a time."""

    row: LedgerRow
    start: int
    """The number of the change from which on it was so; 0 where that is not known."""
    end: int = NEVER
    """The number of the change from which on it was so no longer."""
    end_cause: ChangeCause = ChangeCause.SPEND_DELETIONS


class ChangedSpend(NamedTuple):
    """A row that a change has given other figures."""

    row: LedgerRow
    """With the difference as its figures."""
    is_stored: bool
    """False of one that was deleted by it."""


class TooManyChangesError(Exception):
    """There is more to compare than MOST_WORK."""


@dataclass
class SpendShare:
    """The changes of one cause."""

    gone: list[SpendPart] = field(default_factory=list[SpendPart])
    """Pieces that there were before a change and not after it."""
    new: list[SpendPart] = field(default_factory=list[SpendPart])
    """Pieces that there are since a change."""
    rows: list[ChangedSpend] = field(default_factory=list[ChangedSpend])


@dataclass
class SpendChanges:
    """The ledger of some days at two moments, each part once, and what lies between."""

    start: list[SpendPart] = field(default_factory=list[SpendPart])
    end: list[SpendPart] = field(default_factory=list[SpendPart])
    causes: dict[ChangeCause, SpendShare] = field(default_factory=dict[ChangeCause, SpendShare])

    @property
    def pieces(self) -> Iterator[SpendPart]:
        """All pieces of all moments."""
        yield from self.start
        yield from self.end
        for share in self.causes.values():
            yield from share.gone
            yield from share.new


def split_spend(versions: Iterable[SpendVersion], since: int, until: int) -> SpendChanges:
    """Return what has changed from after one change until after another, in days of which every
    version that was there then is given. Raises TooManyChangesError.
    """
    changes, same, work = SpendChanges(), list[LedgerRow](), 0
    by_day: dict[DayKey, list[SpendVersion]] = {}
    for version in versions:
        by_day.setdefault(version.row[:3], []).append(version)
    for of_day in by_day.values():
        if all(each.start <= since and each.end > until for each in of_day):
            same += [each.row for each in of_day]
        else:
            numbers = range(since + 1, until + 1)
            work += len(of_day) * len({each.start for each in of_day if each.start in numbers})
            if work > MOST_WORK:
                raise TooManyChangesError
            _split_day(changes, of_day, numbers)
    pieces = list(break_down(same))
    changes.start += pieces
    changes.end += pieces
    return changes


def _split_day(changes: SpendChanges, versions: Sequence[SpendVersion], numbers: range) -> None:
    """Add the changes of one day, platform and currency whose numbers are in a range."""
    there = {v.row[:5]: v.row for v in versions if v.start < numbers.start <= v.end}
    before = list(break_down(there.values()))
    changes.start += before
    for _, cause, rows in _steps(versions, numbers):
        share = changes.causes.setdefault(cause, SpendShare())
        for row in rows:
            former = there.pop(row[:5], None)
            gone = cause is ChangeCause.SPEND_DELETIONS
            if not gone:
                there[row[:5]] = row
            difference = _minus(NOTHING if gone else row.figures, former)
            share.rows.append(ChangedSpend(row._replace(figures=difference), not gone))
        after = list(break_down(there.values()))
        share.gone += set(before) - set(after)
        share.new += set(after) - set(before)
        before = after
    changes.end += before


def _steps(
    versions: Sequence[SpendVersion], numbers: range
) -> list[tuple[int, ChangeCause, list[LedgerRow]]]:
    """Return the changes in their order, with the rows that each deletes, or gives figures."""
    steps: dict[tuple[int, int], list[LedgerRow]] = {}
    ended = {(v.end, v.row[:5]): v.end_cause for v in versions}
    for version in versions:
        if version.end_cause is ChangeCause.SPEND_DELETIONS and version.end in numbers:
            steps.setdefault((version.end, 0), []).append(version.row)
        if version.start in numbers:
            replaces = ended.get((version.start, version.row[:5]))
            cause = replaces or ChangeCause.SPEND_IMPORTS
            steps.setdefault((version.start, OF_SPEND.index(cause)), []).append(version.row)
    return [(number, OF_SPEND[rank], rows) for (number, rank), rows in sorted(steps.items())]


def _minus(figures: Figures, former: LedgerRow | None) -> Figures:
    before = NOTHING if former is None else former.figures
    return tuple(new - old for new, old in zip(figures, before, strict=True))
