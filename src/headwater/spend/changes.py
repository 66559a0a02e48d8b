"""The changes of the ledger between two moments, by cause. Pure.

A new campaign reduces the remainder of its account. So the changes of one day, platform and currency are
applied one by one, and the parts before and after each are compared:

    google, 13 May          account 123    campaign 4711     parts
    snapshot 1                   100                           100 of the account
    ├── spend_imports           100              60            40 of it, 60 of the campaign
    ├── spend_replacements      120              60            60 of it, 60 of the campaign
    snapshot 2

The differences of all changes add up to the difference between the snapshots, for any grouping.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import NamedTuple

from headwater.attribution.history.revisions import OF_SPEND, ChangeCause
from headwater.spend.breakdown import NOTHING, Figures, LedgerRow, SpendPart, break_down

NEVER = 1 << 62
"""The number of a change that has not happened."""
MOST_WORK = 3_000_000
"""Rows to break down, once per change of their day: about ten seconds."""

DayKey = tuple[date, str, str]
"""The day, platform and currency of rows that are broken down together."""


class SpendVersion(NamedTuple):
    """A former or current version of a row of the ledger."""

    row: LedgerRow
    start: int
    """The change that created it; 0 if unknown."""
    end: int = NEVER
    """The change that ended it."""
    end_cause: ChangeCause = ChangeCause.SPEND_DELETIONS


class ChangedSpend(NamedTuple):
    row: LedgerRow
    """With the difference as its figures."""
    is_stored: bool
    revision: int
    pulled_at: datetime | None = None
    """When a connection asked its platform, if that restated the row."""


class TooManyChangesError(Exception):
    """The comparison exceeds MOST_WORK."""


@dataclass
class SpendShare:
    gone: list[SpendPart] = field(default_factory=list[SpendPart])
    new: list[SpendPart] = field(default_factory=list[SpendPart])
    rows: list[ChangedSpend] = field(default_factory=list[ChangedSpend])


@dataclass
class SpendChanges:
    """The ledger of some days at two moments, each part once, and the changes in between."""

    start: list[SpendPart] = field(default_factory=list[SpendPart])
    end: list[SpendPart] = field(default_factory=list[SpendPart])
    causes: dict[ChangeCause, SpendShare] = field(default_factory=dict[ChangeCause, SpendShare])

    @property
    def pieces(self) -> Iterator[SpendPart]:
        yield from self.start
        yield from self.end
        for share in self.causes.values():
            yield from share.gone
            yield from share.new


def split_spend(versions: Iterable[SpendVersion], since: int, until: int) -> SpendChanges:
    """Return the changes after one number, up to another. `versions` must be complete in between. Raises
    TooManyChangesError.
    """
    changes, unchanged_rows, work = SpendChanges(), list[LedgerRow](), 0
    by_day: dict[DayKey, list[SpendVersion]] = {}
    for version in versions:
        by_day.setdefault(version.row[:3], []).append(version)
    for day_versions in by_day.values():
        if all(version.start <= since and version.end > until for version in day_versions):
            unchanged_rows += [version.row for version in day_versions]
        else:
            numbers = range(since + 1, until + 1)
            work += len(day_versions) * len(
                {version.start for version in day_versions if version.start in numbers}
            )
            if work > MOST_WORK:
                raise TooManyChangesError
            _split_day(changes, day_versions, numbers)
    pieces = list(break_down(unchanged_rows))
    changes.start += pieces
    changes.end += pieces
    return changes


def _split_day(changes: SpendChanges, versions: Sequence[SpendVersion], numbers: range) -> None:
    rows_before = {v.row[:5]: v.row for v in versions if v.start < numbers.start <= v.end}
    before = list(break_down(rows_before.values()))
    changes.start += before
    for number, cause, rows in _steps(versions, numbers):
        share = changes.causes.setdefault(cause, SpendShare())
        for row in rows:
            row_before = rows_before.pop(row[:5], None)
            is_deleted = cause is ChangeCause.SPEND_DELETIONS
            if not is_deleted:
                rows_before[row[:5]] = row
            difference = _minus(NOTHING if is_deleted else row.figures, row_before)
            share.rows.append(ChangedSpend(row._replace(figures=difference), not is_deleted, number))
        after = list(break_down(rows_before.values()))
        share.gone += set(before) - set(after)
        share.new += set(after) - set(before)
        before = after
    changes.end += before


def _steps(
    versions: Sequence[SpendVersion], numbers: range
) -> list[tuple[int, ChangeCause, list[LedgerRow]]]:
    steps: dict[tuple[int, int], list[LedgerRow]] = {}
    end_causes = {(v.end, v.row[:5]): v.end_cause for v in versions}
    for version in versions:
        if version.end_cause is ChangeCause.SPEND_DELETIONS and version.end in numbers:
            steps.setdefault((version.end, 0), []).append(version.row)
        if version.start in numbers:
            replaces = end_causes.get((version.start, version.row[:5]))
            cause = replaces or ChangeCause.SPEND_IMPORTS
            steps.setdefault((version.start, OF_SPEND.index(cause)), []).append(version.row)
    return [(number, OF_SPEND[rank], rows) for (number, rank), rows in sorted(steps.items())]


def _minus(figures: Figures, row_before: LedgerRow | None) -> Figures:
    before = NOTHING if row_before is None else row_before.figures
    return tuple(new - old for new, old in zip(figures, before, strict=True))
