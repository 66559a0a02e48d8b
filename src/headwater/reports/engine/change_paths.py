"""Events in former states as the columns that reports add up. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from headwater.attribution.history.transitions import EventState
from headwater.attribution.paths.path_data import NO_AMOUNT, OLDER, Column, EventKind, IntArray, PathData
from headwater.events.accepted import UPSELL_NAME

_MICROSECONDS = 1_000_000
_DAY = 86_400 * _MICROSECONDS

AmountOf = Callable[[EventState], int | None]
"""Returns the amount of an event in the currency of a report, in ten-thousandths."""


def paths_of(states: Sequence[tuple[int, EventState]], amount_of: AmountOf) -> PathData:
    """Return events in some states, by their ids, each with a path of its own."""
    names = tuple(dict.fromkeys(state.name for _, state in states))
    place = {name: number for number, name in enumerate(names)}
    touches = [touch for _, state in states for touch in state.path]
    lengths = _numbers([len(state.path) for _, state in states])
    starts = np.cumsum(lengths) - lengths
    times, touch_times = (
        _numbers([state.at for _, state in states]),
        _numbers([touch.at for touch in touches]),
    )
    amounts = [amount_of(state) for _, state in states]
    columns = {
        Column.EVENT_IDS: _numbers([event_id for event_id, _ in states]),
        Column.CONTACTS: _numbers([state.contact_id for _, state in states]),
        Column.COMPANIES: np.zeros(len(states), dtype=np.int64),
        Column.NAMES: _numbers([place[state.name] for _, state in states]),
        Column.SECONDS: times // _MICROSECONDS,
        Column.AMOUNTS: _numbers([NO_AMOUNT if amount is None else amount for amount in amounts]),
        Column.STARTS: starts,
        Column.LENGTHS: lengths,
        Column.TOUCH_SECONDS: touch_times // _MICROSECONDS,
        Column.SOURCES: _numbers([touch.source_id for touch in touches]),
        Column.TAG_SETS: _numbers([touch.tag_set_id for touch in touches]),
        Column.KINDS: _numbers([_kind_of(state) for _, state in states]),
    }
    events = np.repeat(np.arange(len(states)), lengths)
    for days, column in OLDER.items():
        older = events[touch_times < times[events] - days * _DAY]
        columns[column] = np.bincount(older, minlength=len(states)).astype(np.int64)
    firsts = np.array([state.is_first for _, state in states], dtype=np.bool_)
    until = _numbers([state.orders_until for _, state in states])
    return PathData(columns, names, len(states), len(touches), firsts, until)


def _kind_of(state: EventState) -> EventKind:
    if state.amount is not None and state.amount < 0:
        return EventKind.REFUND
    is_upsell = state.is_upsell or state.name == UPSELL_NAME
    return EventKind.UPSELL if is_upsell else EventKind.PLAIN


def _numbers(values: Sequence[int]) -> IntArray:
    return np.array(values, dtype=np.int64)
