"""Counts of a Space as they are judged, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headwater.alerts.rules import Rule, Sensitivity
from headwater.alerts.series import CountSeries, UsualRange

LONGEST_WINDOW = 168
"""The longest time that is judged, in hours."""
CONSEQUENCES = frozenset({Rule.SOURCE_VISITS_FELL, Rule.UNATTRIBUTED_ROSE})
"""Rules that are not judged while visits are missing altogether."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A count, or a share, held against its usual range."""

    rule: Rule
    subject: str
    steps: int
    """The hours, or days, that it is of."""
    observed: float
    usual: UsualRange
    is_out: bool
    is_well: bool
    """True when an alert about it may end. A count may be neither."""
    is_severe: bool = False


@dataclass(frozen=True, slots=True)
class SpaceCounts:
    """Everything that is counted in a Space, up to the hour that is judged."""

    visits: CountSeries | None = None
    """Browser visits reported by the tracker."""
    touches: CountSeries | None = None
    """Touchpoints of any source and sender."""
    by_source: Mapping[str, CountSeries] = field(default_factory=dict[str, CountSeries])
    """Touchpoints of each source except `direct`, which no ad or link brings."""
    orders: CountSeries | None = None
    untouched: CountSeries | None = None
    """Orders without a touchpoint in the window."""
    repeated: CountSeries | None = None
    rejected: CountSeries | None = None
    finished: Mapping[str, CountSeries] = field(default_factory=dict[str, CountSeries])
    """Deliveries that came to an end, by destination."""
    failed: Mapping[str, CountSeries] = field(default_factory=dict[str, CountSeries])

    @property
    def arrivals(self) -> CountSeries | None:
        """Visits, or without a site the touchpoints that a server reports."""
        visits = self.visits
        return visits if visits is not None and visits.total(visits.end) else self.touches


@dataclass(frozen=True, slots=True)
class DayCounts:
    """Counts by the day, up to the day that is judged."""

    orders: Mapping[str, CountSeries]
    """Credited to each source."""
    revenue: Mapping[str, CountSeries]


@dataclass(frozen=True, slots=True)
class Alertness:
    """A Space's choices for its rules, and its recent alerts."""

    sensitivity: Mapping[Rule, Sensitivity] = field(default_factory=dict[Rule, Sensitivity])
    off: frozenset[Rule] = frozenset()
    open_for: Mapping[tuple[Rule, str], int] = field(default_factory=dict[tuple[Rule, str], int])
    """For how many steps an alert has been open."""
    well_for: Mapping[tuple[Rule, str], int] = field(default_factory=dict[tuple[Rule, str], int])
    """For how many steps one has been over, of those that ended lately."""

    def of(self, rule: Rule) -> Sensitivity:
        """Return how sensitive a rule is."""
        return self.sensitivity.get(rule, Sensitivity.NORMAL)

    def age(self, rule: Rule, subject: str = "") -> int:
        """Return for how many steps an alert has been open; 0 for none."""
        return self.open_for.get((rule, subject), 0)

    def longest(self, rule: Rule, subject: str = "") -> int:
        """Return the longest time to judge: none that reaches back before an alert, or its end."""
        keys = [(rule, subject)]
        if rule in CONSEQUENCES:
            keys.append((Rule.VISITS_FELL, ""))
        known = (self.open_for.get(key) or self.well_for.get(key) for key in keys)
        return min((steps for steps in known if steps), default=LONGEST_WINDOW)
