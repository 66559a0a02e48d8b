"""The first order of every contact, by which new customers are known. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from headwater.paths.path_data import Column, IntArray, PathData
from headwater.reports.order import firsts, order_of
from headwater.reports.plan import FirstOrders
from headwater.reports.selection import are_named


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
