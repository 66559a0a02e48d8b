"""The first order of every customer, by which new ones are known. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headwater.attribution.paths.lookup import NumberMap
from headwater.attribution.paths.path_data import BoolArray, Column, IntArray, PathData
from headwater.attribution.paths.survey import Survey
from headwater.reports.engine.remembered_sums import Addition
from headwater.reports.plan.customers import CONTACTS, Customers
from headwater.reports.plan.dimensions import NO_KEY
from headwater.reports.plan.kinds import Kind, KindOfEvent
from headwater.reports.plan.order import distinct_values
from headwater.reports.plan.plan import NEVER, NO_MARK, WHOLE_BLOCK, FirstOrders
from headwater.reports.plan.selection import are_named

_SPARSE = 16
"""Contacts lie close where there is an order for every so many of their ids."""
NEW, RETURNING = range(2)
"""The keys of the group."""


@dataclass(frozen=True, eq=False)
class OfCustomer:
    """The group of new and of returning customers: an event that brings money is the first of its
    contact, or a later one; a refund is in the group of its customer's latest order before it.
    Other events have no key.
    """

    first_orders: FirstOrders
    kinds: KindOfEvent
    of_touch = False

    @property
    def columns(self) -> tuple[Column, ...]:
        of_customers = self.first_orders.customers.columns
        return (*of_customers, Column.AMOUNTS, Column.EVENT_IDS, Column.NAMES, Column.SECONDS, Column.KINDS)

    def keys(self, paths: PathData) -> IntArray:
        is_first, kinds = self.first_orders.include(paths), self.kinds.keys(paths)
        brings = (paths[Column.AMOUNTS] > 0) & (kinds != NO_KEY)
        keys = np.where(brings, np.where(is_first, NEW, RETURNING), NO_KEY)
        refunds = np.flatnonzero(kinds == Kind.REFUND)
        if len(refunds):
            until = self.first_orders.orders_until(paths.select(refunds))
            keys[refunds] = np.choose(until, [NO_KEY, NEW, RETURNING])
        return keys


@dataclass(frozen=True)
class OrderScope:
    """Orders with some names."""

    event_names: frozenset[str]
    """Empty is all."""
    customers: Customers = CONTACTS

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of paths that tell them."""
        return (*self.customers.columns, Column.NAMES, Column.AMOUNTS, Column.SECONDS)

    def orders(self, paths: PathData) -> IntArray:
        """Return the orders of a piece, as columns of customer, second and event."""
        chosen = paths[Column.AMOUNTS] > 0
        if self.event_names:
            chosen &= are_named(self.event_names, paths)
        columns = [self.customers.keys(paths), paths[Column.SECONDS], paths[Column.EVENT_IDS]]
        return np.stack([column[chosen].astype(np.int64) for column in columns])


def gather_orders(scopes: Sequence[OrderScope], paths: PathData) -> list[IntArray]:
    """Return the orders of a piece for each scope."""
    return [scope.orders(paths) for scope in scopes]


OF_ORDERS = Addition[OrderScope, IntArray](
    gather_orders,
    lasting=lambda scope: scope,
    section=lambda _scope, _block: WHOLE_BLOCK,
    shifted=lambda orders, _: orders,
    nothing=np.empty((3, 0), dtype=np.int64),
)


def first_of(orders: Sequence[IntArray], survey: Survey, customers: Customers = CONTACTS) -> FirstOrders:
    """Return the earliest of each customer's orders of a survey; in one second, that of the least
    id.
    """
    contacts, seconds = (_together(orders, place) for place in (0, 1))
    numbers, places = _numbered(contacts)
    earliest = _least(places, seconds, len(numbers))
    at_first = earliest[places] == seconds
    known = earliest != NEVER
    second = _second_of(places, seconds, at_first, earliest)
    both = NumberMap(numbers, earliest, NEVER), NumberMap(numbers, second, NEVER)
    if np.count_nonzero(at_first) == np.count_nonzero(known):
        marks = NumberMap(numbers[known], earliest[known], NO_MARK)
        return FirstOrders(marks, Column.SECONDS, survey, customers, both)
    ids = _least(places[at_first], _together(orders, 2)[at_first], len(numbers))
    marks = NumberMap(numbers[known], ids[known], NO_MARK)
    return FirstOrders(marks, Column.EVENT_IDS, survey, customers, both)


def _second_of(places: IntArray, seconds: IntArray, at_first: BoolArray, earliest: IntArray) -> IntArray:
    """Return the second of the second order at each place: the first one's where two share it."""
    later = np.flatnonzero(~at_first)
    second = _least(places[later], seconds[later], len(earliest))
    shared = np.bincount(places[at_first], minlength=len(earliest)) > 1
    return np.where(shared, earliest, second)


def _numbered(contacts: IntArray) -> tuple[IntArray, IntArray]:
    """Return contacts, ascending, and the place of each one among them. Where they
    lie close, as those of one Space do, these are all from the least on, with no need to sort.
    """
    least, most = (int(contacts.min()), int(contacts.max())) if len(contacts) else (0, -1)
    if most - least < _SPARSE * len(contacts):
        return np.arange(least, most + 1), contacts - least
    numbers = distinct_values(contacts)
    return numbers, np.searchsorted(numbers, contacts)


def _least(places: IntArray, values: IntArray, size: int) -> IntArray:
    """Return the least value at each place."""
    least = np.full(size, NEVER, dtype=np.int64)
    np.minimum.at(least, places, values)
    return least


def _together(orders: Sequence[IntArray], place: int) -> IntArray:
    """Return one column of several pieces."""
    return np.concatenate([np.array([], dtype=np.int64), *(each[place] for each in orders)])
