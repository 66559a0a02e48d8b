from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from headwater.alerts.rules import Rule, Sensitivity
from headwater.alerts.series import NO_COUNTS, CountSeries, UsualRange

LONGEST_WINDOW = 168
"""The longest judged period, in hours."""
CONSEQUENCES = frozenset({Rule.SOURCE_VISITS_FELL, Rule.UNATTRIBUTED_ROSE})


class Judgement(Struct, frozen=True):
    rule: Rule
    subject: str
    steps: int
    observed: float
    usual: UsualRange
    is_out: bool
    is_well: bool
    """True if its alert may end. A count may be neither bad nor well."""
    is_severe: bool = False


class SpaceCounts(Struct, frozen=True):
    visits: CountSeries = NO_COUNTS
    touches: CountSeries = NO_COUNTS
    """Touchpoints of all sources and senders."""
    by_source: Mapping[str, CountSeries] = field(default_factory=dict[str, CountSeries])
    """Touchpoints of each source except `direct`, which no ad or link brings."""
    orders: CountSeries = NO_COUNTS
    untouched: CountSeries = NO_COUNTS
    """Orders without a touchpoint in the window."""
    repeated: CountSeries = NO_COUNTS
    rejected: CountSeries = NO_COUNTS
    finished: Mapping[str, CountSeries] = field(default_factory=dict[str, CountSeries])
    """Finished deliveries, by destination."""
    failed: Mapping[str, CountSeries] = field(default_factory=dict[str, CountSeries])
    conversions: Mapping[str, CountSeries] = field(default_factory=dict[str, CountSeries])
    """Conversions for a destination, unless skipped by its rules."""
    unmatched: Mapping[str, CountSeries] = field(default_factory=dict[str, CountSeries])
    """Conversions without an identifier that the platform could match."""

    @property
    def arrivals(self) -> CountSeries:
        """Visits; in a Space without a site, touchpoints sent by a server."""
        return self.visits if self.visits.total(self.visits.end) else self.touches


class DayCounts(Struct, frozen=True):
    orders: Mapping[str, CountSeries]
    """By credited source."""
    revenue: Mapping[str, CountSeries]


class Alertness(Struct, frozen=True):
    """A Space's rule settings and its recent alerts."""

    sensitivity: Mapping[Rule, Sensitivity] = field(default_factory=dict[Rule, Sensitivity])
    disabled_rules: frozenset[Rule] = frozenset()
    open_for: Mapping[tuple[Rule, str], int] = field(default_factory=dict[tuple[Rule, str], int])
    """Hours or days since each open alert began."""
    well_for: Mapping[tuple[Rule, str], int] = field(default_factory=dict[tuple[Rule, str], int])
    """Hours or days since each recent alert ended."""

    def of(self, rule: Rule) -> Sensitivity:
        return self.sensitivity.get(rule, Sensitivity.NORMAL)

    def age(self, rule: Rule, subject: str = "") -> int:
        """Return the steps since an alert opened; 0 without one."""
        return self.open_for.get((rule, subject), 0)

    def longest(self, rule: Rule, subject: str = "") -> int:
        """Return the longest period to judge, which must not reach back before an alert or its end."""
        keys = [(rule, subject)]
        if rule in CONSEQUENCES:
            keys.append((Rule.VISITS_FELL, ""))
        ages = (self.open_for.get(key) or self.well_for.get(key) for key in keys)
        return min((steps for steps in ages if steps), default=LONGEST_WINDOW)
