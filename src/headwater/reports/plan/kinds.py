"""The kind of every event in a question: which events are conversions, orders, upsells and refunds.
Every report, list and page goes by this one definition. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from headwater.attribution.paths.path_data import NO_AMOUNT, BoolArray, Column, EventKind, IntArray, PathData
from headwater.events.accepted import EVENT_NAMES, ORDER_NAME, SALES_EVENTS, STEP_EVENTS
from headwater.reports.models import Filters
from headwater.reports.plan.dimensions import NO_KEY


class Kind(IntEnum):
    """The kinds, by the number that stands for each. The names are the keys of the group `kind`."""

    ORDER = 0
    """A purchase that is neither upsell nor refund, whatever its amount."""
    CONVERSION = 1
    """Any other event that converts: a lead, a sign-up."""
    UPSELL = 2
    REFUND = 3

    @property
    def key(self) -> str:
        """The key of the group's row."""
        return self.name.lower()


KIND_KEYS = tuple(kind.key for kind in Kind)


def conversion_names(filters: Filters, *, sells: bool) -> tuple[str, ...]:
    """Return the names of the events that can convert and bring revenue: those that a question
    names; else the sales of a Space that sells, and all but the steps on the way elsewhere.
    """
    if filters.event_names:
        return filters.event_names
    return SALES_EVENTS if sells else _WITHOUT_STEPS


_WITHOUT_STEPS = tuple(name for name in EVENT_NAMES if name not in STEP_EVENTS)


@dataclass(frozen=True)
class KindOfEvent:
    """A group of events: their kind among events with some names. Others have none."""

    names: tuple[str, ...] = ()
    """Empty is all."""
    of_touch = False
    columns = (Column.NAMES, Column.KINDS)

    def keys(self, paths: PathData) -> IntArray:
        """Return the Kind of every event, or NO_KEY."""
        kinds = paths[Column.KINDS]
        keys = np.where(kinds == EventKind.UPSELL, Kind.UPSELL, Kind.REFUND).astype(np.int64)
        is_order = np.array([name == ORDER_NAME for name in paths.event_names], dtype=np.bool_)
        plain = np.where(is_order, Kind.ORDER, Kind.CONVERSION)[paths[Column.NAMES]]
        keys = np.where(kinds == EventKind.PLAIN, plain, keys)
        return keys if self._has_all(paths) else np.where(self._named(paths), keys, NO_KEY)

    def converting_amounts(self, paths: PathData, amounts: IntArray) -> IntArray:
        """Return amounts, those of events with other names as 0."""
        return amounts if self._has_all(paths) else np.where(self._named(paths), amounts, 0)

    def without_other_amounts(self, paths: PathData) -> PathData:
        """Return paths in which events with other names have no amount."""
        if self._has_all(paths):
            return paths
        amounts = np.where(self._named(paths), paths[Column.AMOUNTS], NO_AMOUNT)
        columns = {**paths.columns, Column.AMOUNTS: amounts}
        return replace(paths, columns=columns)

    def _has_all(self, paths: PathData) -> bool:
        return not self.names or set(self.names).issuperset(paths.event_names)

    def _named(self, paths: PathData) -> BoolArray:
        listed = np.array([name in self.names for name in paths.event_names], dtype=np.bool_)
        return listed[paths[Column.NAMES]]


EVERY_NAME = KindOfEvent()
