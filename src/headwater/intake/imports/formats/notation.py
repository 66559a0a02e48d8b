"""The way in which a file writes numbers and times: found out from all its cells, or chosen by the
user. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headwater.intake.imports.formats.amounts import DECIMALS, DecimalsSurvey, read_number
from headwater.intake.imports.formats.dialects import UnreadableError
from headwater.intake.imports.formats.times import DATES, DatesSurvey, read_time


@dataclass(frozen=True)
class Notation:
    """The way in which a file writes numbers and times."""

    decimals: str = "plain"
    """A key of DECIMALS."""
    dates: str = "iso"
    """A key of DATES."""

    def number(self, text: str) -> str | None:
        """Return the number in a cell, with a decimal point; None for a cell that is none."""
        return read_number(text, self.decimals)

    def time(self, text: str) -> str:
        """Return a day or a time in ISO 8601; a text in another form as it is."""
        return read_time(text, self.dates)


@dataclass
class NotationSurvey:
    """The notation of a table, gathered from its rows."""

    amounts: Sequence[str] = ()
    """The columns with numbers."""
    counts: Sequence[str] = ()
    """The columns with whole numbers."""
    times: Sequence[str] = ()
    """The columns with days or times."""
    decimals: DecimalsSurvey = field(default_factory=DecimalsSurvey)
    dates: DatesSurvey = field(default_factory=DatesSurvey)
    unclear_amounts: str = ""
    """The column of the first number that can be meant in two ways."""
    unclear_times: str = ""
    """The column of the first day that can be meant in two ways."""

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Take rows, until nothing is left to find out."""
        for row in rows:
            for column in self.amounts:
                self.decimals.add([row.get(column) or ""])
                if self.decimals.unclear and not self.unclear_amounts:
                    self.unclear_amounts = column
            for column in self.counts:
                self.decimals.add([row.get(column) or ""], are_counts=True)
            for column in self.times:
                self.dates.add([row.get(column) or ""])
                if self.dates.unclear and not self.unclear_times:
                    self.unclear_times = column
            if self._is_complete:
                return

    @property
    def _is_complete(self) -> bool:
        has_numbers = bool(self.amounts or self.counts)
        return bool((self.decimals.known or not has_numbers) and (self.dates.known or not self.times))

    def decide(self, decimals: str | None = None, dates: str | None = None) -> Notation:
        """Return the notation, of which a part may have been chosen. Raises UnreadableError, naming
        the column, where the cells can be meant in two ways.
        """
        decimals = decimals or self.decimals.decide()
        dates = dates or self.dates.decide()
        if decimals is None:
            raise UnreadableError(
                f"the column {self.unclear_amounts} is unclear: {self.decimals.unclear} may have "
                "decimals or thousands behind its separator, and no row of the file tells. Say "
                f"--decimals point ({DECIMALS['point']}) or --decimals comma ({DECIMALS['comma']})"
            )
        if dates is None:
            raise UnreadableError(
                f"the column {self.unclear_times} is unclear: {self.dates.unclear} may have the "
                "day or the month first, and no row of the file tells. Say --dates dmy "
                f"({DATES['dmy']}) or --dates mdy ({DATES['mdy']})"
            )
        return Notation(decimals, dates)
