"""The first order of every contact, by which new customers are known. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from headwater.paths.lookup import NumberPlaces
from headwater.paths.path_data import Column, IntArray, PathData
from headwater.reports.dimensions import NO_KEY
from headwater.reports.order import firsts, in_order
from headwater.reports.plan import FirstOrders
from headwater.reports.selection import are_named


@dataclass(frozen=True)
class OfCustomer:
    """The group of new and of returning customers: an order that is the first of its contact, or a
    later one. Events that are no orders have no key.
    """

    first_orders: FirstOrders
    of_touch = False
    columns = (Column.CONTACTS, Column.AMOUNTS, Column.EVENT_IDS)

    def keys(self, paths: PathData) -> IntArray:
        returning = np.where(self.first_orders.include(paths), 0, 1)
        return np.where(paths[Column.AMOUNTS] > 0, returning, NO_KEY)


def orders_in(paths: PathData, event_names: Collection[str]) -> IntArray:
    """Return the orders of a piece, as columns of contact, second and event; `event_names` empty is
    all.
    """
    chosen = paths[Column.AMOUNTS] > 0
    if event_names:
        chosen &= are_named(event_names, paths)
    columns = (Column.CONTACTS, Column.SECONDS, Column.EVENT_IDS)
    return np.stack([paths[column][chosen].astype(np.int64) for column in columns])


def first_of(orders: Sequence[IntArray]) -> FirstOrders:
    """Return the earliest of each contact's orders; in one second, that of the least id."""
    contacts, seconds = (_together(orders, place) for place in (0, 1))
    in_turn, times = in_order(contacts, seconds)
    first = firsts(in_turn)
    places, earliest = NumberPlaces(in_turn[first]), times[first]
    second = first[first + 1 < len(in_turn)] + 1
    together = (in_turn[second] == in_turn[second - 1]) & (times[second] == times[second - 1])
    if not together.any():
        return FirstOrders(places, earliest, Column.SECONDS)
    at_first = earliest[places.find(contacts)[0]] == seconds
    in_turn, event_ids = in_order(contacts[at_first], _together(orders, 2)[at_first])
    return FirstOrders(places, event_ids[firsts(in_turn)], Column.EVENT_IDS)


def _together(orders: Sequence[IntArray], place: int) -> IntArray:
    """Return one column of several pieces."""
    return np.concatenate([np.array([], dtype=np.int64), *(each[place] for each in orders)])
