"""Customers from their first order on: the path to that order, and everything they bring after it.
Each event gets the path of its customer's first order, so that whoever has credit of the first has
the same part of all. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from headwater.attribution.paths.lookup import NumberMap
from headwater.attribution.paths.path_data import (
    NO_AMOUNT,
    ON_PATHS,
    TOUCH_COLUMNS,
    Column,
    IntArray,
    PathData,
)
from headwater.reports.plan.customers import Customers
from headwater.reports.plan.dimensions import Step
from headwater.reports.plan.plan import FirstOrders
from headwater.reports.plan.selection import EventConditions

PAIRS = 1_000_000
"""Pairs of an event and a touch that are worked on at once."""
_NOBODY = -1


@dataclass(frozen=True)
class Observation:
    """The part of a piece of paths that is about cohorts."""

    firsts: PathData
    """The first orders in the months of acquisition, with the touches in the window before them."""
    events: IntArray
    """Of every event with an amount: customer, second and amount."""


@dataclass(frozen=True)
class Observer:
    """Finds what of a piece is about cohorts."""

    conditions: EventConditions
    """On all events, within the time that is observed."""
    orders: FirstOrders
    acquired: range
    """The seconds of the months of acquisition."""
    columns: tuple[Column, ...]
    """Those that first orders are needed with."""
    window_days: int

    def observe(self, paths: PathData) -> Observation:
        chosen = paths.select(self.conditions.chosen(paths))
        seconds = chosen[Column.SECONDS]
        in_time = (seconds >= self.acquired.start) & (seconds < self.acquired.stop)
        firsts = chosen.select(in_time & self.orders.include(chosen)).only(self.columns)
        amounts = chosen[Column.AMOUNTS]
        customers = self.orders.customers.keys(chosen)
        has_amount = (amounts != 0) & (amounts != NO_AMOUNT)
        events = np.stack([customers, seconds, amounts])[:, has_amount]
        return Observation(firsts.cut_to_window(self.window_days), events.astype(np.int64, copy=False))


@dataclass(frozen=True)
class FollowedCustomers:
    """Some customers, and what they brought. Paths are those of their first orders."""

    paths: PathData
    """Of every event with an amount, by customer and month."""
    acquired: IntArray
    """Of every event the month of its customer's first order, from 1."""
    since: IntArray
    """The months since then."""
    is_buying: IntArray
    """The places of events that are their customer's first order of a month."""


# Anna's first order came by G and M; she bought again two months later, and gave one back:
#
#     events      acquired   since   amount    path
#     May 3          1         0      50.00    G M
#     July 9         1         2      30.00    G M      of the first order, not of July's
#     July 20        1         2     -30.00    G M
#
# So each model shares out 50.00, 30.00 and -30.00 over G and M alike. She buys in months 0 and 2.


def follow(
    firsts: Sequence[PathData], events: Sequence[IntArray], customers: Customers, months: Step
) -> list[FollowedCustomers]:
    """Return all customers with what they brought since their month of acquisition, in parts that
    can be worked on at once.
    """
    first_orders = PathData.join(firsts)
    numbers = customers.keys(first_orders)
    order = np.argsort(numbers, kind="stable")
    first_orders, numbers = first_orders.select(order).cut_to_window(0), numbers[order]
    acquired = months.keys(first_orders)
    together: IntArray = np.concatenate(events, axis=1)
    who: IntArray = together[0]
    seconds: IntArray = together[1]
    amounts: IntArray = together[2]
    places = NumberMap(numbers, np.arange(len(numbers)), _NOBODY).find(who)
    since = np.searchsorted(months.starts, seconds, "right").astype(np.int64) - acquired[places]
    kept = np.flatnonzero((places != _NOBODY) & (since >= 0))
    kept = kept[np.argsort(places[kept] * len(months.starts) + since[kept], kind="stable")]
    places, since, amounts = places[kept], since[kept], amounts[kept]
    parts: list[FollowedCustomers] = []
    for start, end in _runs(first_orders[Column.LENGTHS], places):
        some = slice(*np.searchsorted(places, [start, end]).tolist())
        own = _some(first_orders, start, end)
        parts.append(_followed(own, acquired[start:end], places[some] - start, since[some], amounts[some]))
    return parts


def _some(paths: PathData, start: int, end: int) -> PathData:
    """Return the events from one place to another, of which paths lie one after the other."""
    starts, lengths = paths[Column.STARTS][start:end], paths[Column.LENGTHS][start:end]
    first, touches = int(starts[0]), int(lengths.sum())
    columns = {
        column: values[first : first + touches] if column in TOUCH_COLUMNS else values[start:end]
        for column, values in paths.columns.items()
    }
    columns[Column.STARTS] = starts - first
    return PathData(columns, paths.event_names, end - start, touches)


def _runs(lengths: IntArray, places: IntArray) -> Iterator[tuple[int, int]]:
    """Yield runs of customers of whose events and touches there are not too many."""
    events = np.bincount(places, minlength=len(lengths))
    pairs = np.cumsum(events * np.maximum(lengths, 1))
    start = 0
    while start < len(lengths):
        done = int(pairs[start - 1]) if start else 0
        end = max(start + 1, int(np.searchsorted(pairs, done + PAIRS, "right")))
        yield start, end
        start = end


def _followed(
    firsts: PathData, acquired: IntArray, places: IntArray, since: IntArray, amounts: IntArray
) -> FollowedCustomers:
    columns = {
        column: values if column in TOUCH_COLUMNS else values[places]
        for column, values in firsts.columns.items()
        if column in ON_PATHS
    }
    paths = PathData({**columns, Column.AMOUNTS: amounts}, firsts.event_names, len(places), firsts.touches)
    orders = np.flatnonzero(amounts > 0)
    bought = places[orders] * (int(since.max(initial=0)) + 1) + since[orders]
    buying = orders[np.flatnonzero(np.diff(bought, prepend=-1))]
    return FollowedCustomers(paths, acquired[places], since, buying)
