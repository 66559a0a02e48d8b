"""Changes of a report of spend between two readings. Exact: no float."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from headwater.attribution.fits.choice import ChosenFit
from headwater.attribution.history.revisions import ChangeCause
from headwater.reports.change_models import ChangedEvent, LeftOutSides
from headwater.reports.engine.conversion import LeftOutSpend
from headwater.reports.engine.measures import Figure
from headwater.reports.engine.readings import ReportReading
from headwater.reports.query import DateTimeSpan, Group
from headwater.reports.questions.cost_figures import CostFigures
from headwater.reports.questions.spent import Key
from headwater.spend.changes import ChangedSpend

RATIOS: Mapping[str, tuple[str, str]] = {
    "roas": ("credited_revenue", "spend"),
    "cpa": ("spend", "credited_conversions"),
    "cac": ("spend", "new_customers"),
}
"""The two figures of each ratio: the one that is divided, and that by which it is."""


@dataclass(frozen=True)
class CostChange:
    """The figures of a group, or of everything, at both readings, and what led from one to the
    other.
    """

    start: CostFigures
    end: CostFigures
    causes: Mapping[ChangeCause, CostFigures]
    """The parts of the differences of sums, which add up to them; what is all 0 is left out."""

    @property
    def difference(self) -> CostFigures:
        """The differences of the sums."""
        return self.end.less(self.start)

    @property
    def unexplained(self) -> CostFigures:
        """The rest of the differences, which is put down to no cause: nothing."""
        left = self.difference
        for parts in self.causes.values():
            left = left.less(parts)
        return left

    def moved(self, name: str) -> Figure:
        """Return the difference of a figure by its name; None from or to none."""
        if name not in RATIOS:
            return getattr(self.difference, name)
        change = self.end.change(name, self.start)
        return None if change is None else change.difference


@dataclass(frozen=True)
class ChangedCost:
    """A group whose figures have changed."""

    key: Key
    label: str | None
    change: CostChange


@dataclass(frozen=True)
class SpendCause:
    """One cause of the differences."""

    cause: ChangeCause
    events: int | None
    """The events that it has changed; None where it changes none, or what all are measured by."""
    largest_events: tuple[ChangedEvent, ...]
    """Those that it has changed most, at most MOST_LARGEST."""
    rows: int | None
    """The rows of the ledger that it has changed; None likewise."""
    largest_rows: tuple[ChangedSpend, ...]
    """Likewise."""


@dataclass(frozen=True)
class CostChangeReport:
    """The result of a query."""

    group: Group | None
    start: ReportReading
    end: ReportReading
    fits: tuple[ChosenFit | None, ChosenFit | None]
    total: CostChange
    without_place: CostChange
    """Of spend that is in no row."""
    rows: tuple[ChangedCost, ...]
    """Those of which most spend has moved come first."""
    left_out: int
    causes: tuple[SpendCause, ...]
    span: DateTimeSpan
    timezone: str
    currency: str
    cost_rate: Decimal | None
    """The Space's at present: contribution is by it at both readings."""
    left_out_money: LeftOutSides
    left_out_spend: tuple[tuple[LeftOutSpend, ...], tuple[LeftOutSpend, ...]]
    """Likewise at both readings."""
