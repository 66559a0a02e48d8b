"""Number and date styles of a file, detected or chosen by the user. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headwater.intake.imports.formats.amounts import DECIMALS, DecimalsSurvey, read_number
from headwater.intake.imports.formats.dialects import UnreadableError
from headwater.intake.imports.formats.times import DATES, DatesSurvey, read_time


@dataclass(frozen=True)
class Notation:
    decimals: str = "plain"
    """A key of DECIMALS."""
    dates: str = "iso"
    """A key of DATES."""

    def number(self, text: str) -> str | None:
        """Return digits with a decimal point, or None."""
        return read_number(text, self.decimals)

    def time(self, text: str) -> str:
        """Return ISO 8601; other text unchanged."""
        return read_time(text, self.dates)


@dataclass
class NotationSurvey:
    amounts: Sequence[str] = ()
    counts: Sequence[str] = ()
    times: Sequence[str] = ()
    decimals: DecimalsSurvey = field(default_factory=DecimalsSurvey)
    dates: DatesSurvey = field(default_factory=DatesSurvey)
    unclear_amounts: str = ""
    """The column with the first ambiguous number."""
    unclear_times: str = ""
    """The column with the first ambiguous day."""

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        for row in rows:
            for column in self.amounts:
                self.decimals.add(row.get(column) or "")
                if self.decimals.unclear and not self.unclear_amounts:
                    self.unclear_amounts = column
            for column in self.counts:
                self.decimals.add(row.get(column) or "", is_count=True)
            for column in self.times:
                self.dates.add(row.get(column) or "")
                if self.dates.unclear and not self.unclear_times:
                    self.unclear_times = column
            if self._is_complete:
                return

    @property
    def _is_complete(self) -> bool:
        has_numbers = bool(self.amounts or self.counts)
        return bool((self.decimals.known or not has_numbers) and (self.dates.known or not self.times))

    def decide(self, decimals: str | None = None, dates: str | None = None) -> Notation:
        """Return the notation, with chosen parts. Raises UnreadableError if ambiguous."""
        decimals = decimals or self.decimals.decide()
        dates = dates or self.dates.decide()
        if decimals is None:
            raise UnreadableError(
                f"the column {self.unclear_amounts} is ambiguous: {self.decimals.unclear} may have "
                "decimals or thousands after its separator, and no row decides. Use "
                f"--decimals point ({DECIMALS['point']}) or --decimals comma ({DECIMALS['comma']})"
            )
        if dates is None:
            raise UnreadableError(
                f"the column {self.unclear_times} is ambiguous: {self.dates.unclear} may have the "
                "day or the month first, and no row decides. Use --dates dmy "
                f"({DATES['dmy']}) or --dates mdy ({DATES['mdy']})"
            )
        return Notation(decimals, dates)
