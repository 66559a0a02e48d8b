"""The first order of every contact, by which new customers are known. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from headwater.paths.path_data import Column, IntArray, PathData
from headwater.reports.dimensions import NO_KEY
from headwater.reports.order import firsts, order_of
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
    nothing = np.empty((3, 0), dtype=np.int64)
    contacts, seconds, event_ids = np.concatenate([nothing, *orders], axis=1)
    order = order_of(contacts, seconds)
    contacts, seconds, event_ids = contacts[order], seconds[order], event_ids[order]
    moments = firsts(contacts, seconds)
    first = firsts(contacts[moments])
    least_ids = np.minimum.reduceat(event_ids, moments) if len(moments) else event_ids
    return FirstOrders(contacts[moments[first]], least_ids[first])
