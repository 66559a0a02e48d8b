"""Faults planted into ordinary months, and whether they raise an alert."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from headwater.alerts.rules import Rule
from tests.alerts.simulation import LEARNED, SOURCES, Month, OpenedAlert, Values, Watch, ordinary_month

Fault = Callable[[Month, slice, np.random.Generator], None]


def no_tag(month: Month, hours: slice, dice: np.random.Generator) -> None:
    """The tag is removed from the pages: no visits, and half of the orders can't be matched to one."""
    for values in (month.visits, month.direct_visits, *month.sources.values()):
        values[hours] = 0
    for source in (*SOURCES, "direct"):
        unmatched_orders = dice.binomial(month.orders[source][hours], 0.5)
        month.orders[source][hours] -= unmatched_orders
        month.orders[""][hours] += unmatched_orders


def no_consent(month: Month, hours: slice, dice: np.random.Generator) -> None:
    """The consent banner doesn't respond: three of four visits are not reported."""
    month.visits[hours] = dice.binomial(month.visits[hours], 0.25)
    for values in (month.direct_visits, *month.sources.values()):
        values[hours] = dice.binomial(values[hours], 0.25)


def no_parameters(source: str) -> Fault:
    """A redirect strips a source's parameters: its visits become direct."""

    def plant(month: Month, hours: slice, _: np.random.Generator) -> None:
        month.direct_visits[hours] += month.sources[source][hours]
        month.sources[source][hours] = 0

    return plant


def no_channel(source: str) -> Fault:
    """A channel dies: its visits and their orders are gone."""

    def plant(month: Month, hours: slice, _: np.random.Generator) -> None:
        month.visits[hours] -= month.sources[source][hours]
        month.sources[source][hours] = 0
        month.orders[source][hours] = 0

    return plant


def fewer_orders(share: float) -> Fault:
    """Only a part of the orders is reported."""

    def plant(month: Month, hours: slice, dice: np.random.Generator) -> None:
        for values in month.orders.values():
            values[hours] = dice.binomial(values[hours], share)

    return plant


def bad_file(month: Month, hours: slice, _: np.random.Generator) -> None:
    """A file whose rows are refused."""
    month.rejected_events[hours.start] += 60


def refused_events(month: Month, hours: slice, dice: np.random.Generator) -> None:
    """A platform refuses most events."""
    refused_counts = dice.binomial(month.delivered_events[hours], 0.8)
    month.delivered_events[hours] -= refused_counts
    month.failed_events[hours] += refused_counts


def unmatched_orders(month: Month, hours: slice, dice: np.random.Generator) -> None:
    """Most orders have no identifier that a platform could match."""
    month.unmatched_events[hours] = dice.binomial(month.all_orders[hours], 0.8)


def double_orders(month: Month, hours: slice, _: np.random.Generator) -> None:
    """Every order arrives a second time, from another sender."""
    month.repeated_events[hours] += month.all_orders[hours]
    for values in month.orders.values():
        values[hours] *= 2


def nameless(month: Month, hours: slice, dice: np.random.Generator) -> None:
    """Most orders no longer identify the customer."""
    for source in (*SOURCES, "direct"):
        unmatched_orders = dice.binomial(month.orders[source][hours], 0.9)
        month.orders[source][hours] -= unmatched_orders
        month.orders[""][hours] += unmatched_orders


@dataclass(frozen=True)
class PlantedFault:
    """A fault, the size of the Space, and the rule that must report it."""

    name: str
    plant: Fault
    size: int
    rule: Rule
    subject: str = ""

    def measure(self, month: Month) -> Values:
        """Return the counts that reveal the fault."""
        if self.rule is Rule.VISITS_FELL:
            return month.visits
        if self.rule is Rule.SOURCE_VISITS_FELL:
            return month.sources[self.subject]
        if self.rule is Rule.REJECTIONS_ROSE:
            return np.full(month.hours, 1_000)
        return month.all_orders


def _make_faults(name: str, plant: Fault, rule: Rule, *sizes: int, subject: str = "") -> list[PlantedFault]:
    return [PlantedFault(name, plant, size, rule, subject) for size in sizes]


FAULTS = [
    *_make_faults("tag removed", no_tag, Rule.VISITS_FELL, 40, 150, 600, 3_000, 150_000),
    *_make_faults("consent banner broken", no_consent, Rule.VISITS_FELL, 150, 600, 3_000, 20_000),
    *_make_faults("UTM stripped", no_parameters("google_ads"), Rule.SOURCE_VISITS_FELL,
         150, 600, 3_000, 20_000, subject="google_ads"),
    *_make_faults("click id stripped", no_parameters("facebook_ads"), Rule.SOURCE_VISITS_FELL,
         600, 20_000, subject="facebook_ads"),
    *_make_faults("channel dies", no_channel("tiktok_ads"), Rule.SOURCE_VISITS_FELL,
         150, 600, 3_000, 150_000, subject="tiktok_ads"),
    *_make_faults("webhook stopped", fewer_orders(0), Rule.ORDERS_FELL, 150, 600, 3_000, 20_000),
    *_make_faults("API key revoked", fewer_orders(0), Rule.ORDERS_FELL, 3_000, 150_000),
    *_make_faults("one of two webhooks stopped", fewer_orders(0.3), Rule.ORDERS_FELL, 3_000, 20_000),
    *_make_faults("CSV rejected", bad_file, Rule.REJECTIONS_ROSE, 12, 150, 20_000),
    *_make_faults("platform refuses events", refused_events, Rule.DELIVERIES_FAILED, 600, 3_000, 20_000,
         subject="1"),
    *_make_faults("identifiers lost", unmatched_orders, Rule.IDENTIFIERS_MISSING,
         600, 3_000, 20_000, subject="1"),
    *_make_faults("orders doubled", double_orders, Rule.ORDERS_REPEATED, 600, 3_000, 20_000),
    *_make_faults("orders without a name", nameless, Rule.UNATTRIBUTED_ROSE, 3_000, 20_000),
]  # fmt: skip
AN_HOUR = 40
"""The count in an hour of traffic. For a Space with less traffic, the hour is extended until this count is
usual.
"""


@dataclass(frozen=True)
class PlantedResult:
    """The outcome of a planted fault."""

    fault: PlantedFault
    hours: int | None
    """Hours until the alert; None if it wasn't raised."""
    allowed: int
    other_alerts: tuple[OpenedAlert, ...]
    """Other alerts raised by then."""

    @property
    def is_told(self) -> bool:
        return self.hours is not None and self.hours <= self.allowed


def run_fault(fault: PlantedFault, seed: int) -> PlantedResult:
    """Plant a fault at some hour of the month's second week."""
    dice = np.random.default_rng(seed)
    month = ordinary_month(dice, fault.size)
    start = LEARNED + 24 * int(dice.integers(5, 10)) + int(dice.integers(8, 20))
    cumulative_counts = np.cumsum(fault.measure(month)[start - 168 : start])
    allowed_hours = 1 + int(np.searchsorted(cumulative_counts, AN_HOUR))
    after = slice(start, month.hours)
    fault.plant(month, after, dice)
    watch = Watch(month)
    alerts = watch.run(end=min(start + allowed_hours + 24, month.hours))
    fault_alerts = [alert for alert in alerts if (alert.rule, alert.subject) == (fault.rule, fault.subject)
                    and alert.hour + LEARNED >= start]  # fmt: skip
    hours = fault_alerts[0].hour + LEARNED + 1 - start if fault_alerts else None
    by = start - LEARNED + (hours or allowed_hours)
    other_alerts = tuple(
        alert for alert in alerts if start - LEARNED <= alert.hour < by and alert not in fault_alerts
    )
    return PlantedResult(fault, hours, allowed_hours, other_alerts)
