"""The credit for an event, computed from the documented rule.

Amounts are counted in whole units: hundredths, or the amount's own last decimal if it has more decimals.
Every touch gets its exact share, rounded down to whole units. The remaining units go to the touches that lost
most by rounding, one to each. Earlier touches come first among equals. A refund is shared like an order and
then negated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import TypeVar

from tests.support.decay import decayed_fractions
from tests.support.report_model.facts import Event, Touchpoint

EVENT_UNITS = 5 * 5342931457063200
"""The number of units of an event: five times the least common multiple of 1 to 40, so that shares of paths
with up to 40 touches are whole numbers.
"""
WEIGHED_EVENT_UNITS = 5 * 232792560
"""The same where touches have weights: five times the least common multiple of 1 to 20."""
BY_SOURCE = ("markov", "shapley_distinct")
WEIGHED = ("time_decay", *BY_SOURCE)

S = TypeVar("S", int, str)


@dataclass(frozen=True)
class Credit:
    """A touch's part of an event."""

    touch: Touchpoint
    part: Fraction
    """The part of the event. The parts of all its touches add up to 1."""
    amount: Fraction
    """The part of its amount. 0 without an amount."""
    converts: bool = False
    """Whether it is part of a conversion."""


@dataclass(eq=False)
class Conversion:
    """An event with the touches that led to it."""

    event: Event
    path: list[Touchpoint]
    """All touches before it."""
    window: list[Touchpoint]
    """The touches within the window."""
    credits: dict[str, list[Credit]] = field(default_factory=dict[str, list[Credit]])
    """By model. Empty until computed."""
    kind: str | None = None
    """The event's kind under the question: order, conversion, upsell, refund or None."""
    takes_back: bool = False
    """Whether money was paid back, under any event name."""

    @property
    def converts(self) -> bool:
        return self.kind in ("order", "conversion")

    @property
    def amount(self) -> Fraction:
        return Fraction(self.event.amount or Decimal(0))

    @property
    def days(self) -> Fraction:
        """Return the days from the first touch in the window to the event, with both rounded down to
        seconds.
        """
        first = self.window[0].occurred_at.replace(microsecond=0)
        seconds = (self.event.event_time.replace(microsecond=0) - first).total_seconds()
        return Fraction(int(seconds), 86_400)


def list_path(event: Event, touchpoints: Sequence[Touchpoint], *, by_company: bool) -> list[Touchpoint]:
    """Return the touches before an event or at the same moment, in order."""
    if by_company and event.company_id is not None:
        path = [touch for touch in touchpoints if touch.company_id == event.company_id]
    else:
        path = [touch for touch in touchpoints if touch.contact_id == event.contact_id]
    path = [touch for touch in path if touch.occurred_at <= event.event_time]
    return sorted(path, key=lambda touch: (touch.occurred_at, touch.id))


def select_window(window: int, event: Event, path: Sequence[Touchpoint]) -> list[Touchpoint]:
    """Return the touches within a window of this many days of 86,400 seconds. 0 means a lifetime."""
    if window == 0:
        return list(path)
    earliest = event.event_time - timedelta(seconds=window * 86_400)
    return [touch for touch in path if touch.occurred_at >= earliest]


def is_paid(touch: Touchpoint) -> bool:
    return touch.source.endswith("_ads") or touch.source == "paid_other"


def is_direct(touch: Touchpoint) -> bool:
    return touch.source == "direct"


def split_credit(model: str, path: Sequence[Touchpoint]) -> list[tuple[Touchpoint, Fraction]]:
    """Return the touches that a model credits, in order, each with its fraction of the total."""
    paid_touches = [touch for touch in path if is_paid(touch)]
    not_direct = [touch for touch in path if not is_direct(touch)]
    match model:
        case "first_touch":
            credited_touches = path[:1]
        case "last_touch":
            credited_touches = path[-1:]
        case "linear":
            credited_touches = path
        case "first_platform_touch":
            credited_touches = paid_touches[:1]
        case "last_platform_touch":
            credited_touches = paid_touches[-1:]
        case "linear_paid":
            credited_touches = paid_touches
        case "last_non_direct_touch":
            credited_touches = not_direct[-1:] or path[-1:]
        case "u_shaped" if len(path) > 2:
            inner = Fraction(1, 5) / (len(path) - 2)
            fractions = [Fraction(2, 5), *[inner] * (len(path) - 2), Fraction(2, 5)]
            return list(zip(path, fractions, strict=True))
        case "u_shaped":
            credited_touches = path
        case _:
            raise ValueError(model)
    return [(touch, Fraction(1, len(credited_touches))) for touch in credited_touches]


def share_credit(
    model: str, event: Event, path: Sequence[Touchpoint], weights: Mapping[str, Fraction]
) -> list[Credit]:
    """Return the credited touches of an event with this path within the window. The source weights come from
    the trained model in use.
    """
    event_units = EVENT_UNITS if model not in WEIGHED else WEIGHED_EVENT_UNITS
    amount = event.amount if event.amount is not None else Decimal(0)
    unit = smallest_unit(amount)
    units = abs(Fraction(amount)) / unit
    assert units.denominator == 1
    sign = -1 if amount < 0 else 1
    credited_touches, parts = share_units(model, event_units, path, weights)
    _, amounts = share_units(model, units.numerator, path, weights)
    return [
        Credit(touch, Fraction(units_of_event, event_units), sign * share * unit)
        for touch, units_of_event, share in zip(credited_touches, parts, amounts, strict=True)
    ]


def share_units(
    model: str, units: int, path: Sequence[Touchpoint], weights: Mapping[str, Fraction]
) -> tuple[list[Touchpoint], list[int]]:
    """Return the touches that a model credits, in order, and each one's share in whole units."""
    if model in BY_SOURCE:
        worth = {touch.source: Fraction(1) for touch in path}
        worth = worth if model == "shapley_distinct" else {**dict.fromkeys(worth, 0), **weights}
        weighted_touches = [touch for touch in path if worth[touch.source]]
        return weighted_touches, share_by_source(units, [touch.source for touch in weighted_touches], worth)
    if model == "time_decay":
        age_fractions = decayed_fractions([touch.occurred_at for touch in path])
        fractions = list(zip(path, age_fractions, strict=True))
    else:
        fractions = split_credit(model, path)
    shares = share_out(units, [fraction for _, fraction in fractions])
    return [touch for touch, _ in fractions], shares


def share_by_source(units: int, sources: Sequence[S], weights: Mapping[S, Fraction]) -> list[int]:
    """Share whole units among a path's distinct sources, in order of appearance and by their weights, then
    among the touches of each source.
    """
    weighted_sources = [source for source in dict.fromkeys(sources) if weights[source]]
    total = sum(weights[source] for source in weighted_sources)
    source_shares = share_out(units, [weights[source] / total for source in weighted_sources])
    shares = [0] * len(sources)
    for source, share in zip(weighted_sources, source_shares, strict=True):
        positions = [position for position, touch_source in enumerate(sources) if touch_source == source]
        for position, units_of_touch in zip(
            positions, share_out(share, [Fraction(1, len(positions))] * len(positions)), strict=True
        ):
            shares[position] = units_of_touch
    return shares


def smallest_unit(amount: Decimal) -> Fraction:
    """Return a hundredth, or the last decimal of an amount with more decimals."""
    unit = Fraction(1, 100)
    while (Fraction(amount) / unit).denominator != 1:
        unit /= 10
    return unit


def share_out(units: int, fractions: Sequence[Fraction]) -> list[int]:
    """Share whole units in these fractions, which add up to 1."""
    shares = [int(units * fraction) for fraction in fractions]
    remainders = [units * fraction - share for fraction, share in zip(fractions, shares, strict=True)]
    for _ in range(units - sum(shares) if fractions else 0):
        largest = remainders.index(max(remainders))  # the first of equals
        shares[largest] += 1
        remainders[largest] = Fraction(-1)
    return shares
