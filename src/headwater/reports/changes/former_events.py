"""Events in former states, as reports add them up: their columns, their amounts by the rates of a moment,
and the money that was left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import numpy as np
from psycopg import AsyncConnection

from headwater.attribution.history.states import EventState, EventVersion, Family
from headwater.attribution.paths.path_data import NO_AMOUNT, OLDER, Column, EventKind, IntArray, PathData
from headwater.events.accepted import UPSELL_NAME
from headwater.reports.engine.conversion import (
    CurrencyExchange,
    LeftOutAmounts,
    LeftOutMoney,
    join_left_out,
    stored_amount,
)
from headwater.reports.engine.passes import PeriodPlan, find_left_out, load_left_out
from headwater.reports.engine.report_reader import ReportReader
from headwater.spaces.models import Space
from headwater.spend.rates.counted_amounts import Counted, LeftOutReason
from headwater.spend.rates.exchange import RateTable
from headwater.spend.rates.store import load_rates

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


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class FormerAmounts:
    """The amounts of events in some state, as the column of amounts has them."""

    exchange: CurrencyExchange | None
    """None where amounts count for no more than their sign."""
    rates: RateTable

    def __call__(self, state: EventState) -> int | None:
        if self.exchange is None or not state.amount:
            return state.amount
        return stored_amount(state.amount, self._count(self.exchange, state))

    def left_out(self, states: Mapping[int, EventState]) -> LeftOutAmounts:
        """Return those of some events, by their ids, whose amounts are left out."""
        by_kind: dict[tuple[str, LeftOutReason], list[tuple[int, int, date]]] = {}
        for event_id, state in states.items():
            if self.exchange is not None and state.amount:
                currency, day = _place(self.exchange.space, state)
                counted = self._count(self.exchange, state)
                if isinstance(counted, LeftOutReason):
                    by_kind.setdefault((currency, counted), []).append((event_id, state.amount, day))
        return LeftOutAmounts.of(by_kind)

    def _count(self, exchange: CurrencyExchange, state: EventState) -> Counted:
        rule = exchange.rule(self.rates, *_place(exchange.space, state))
        return rule.count(state.amount or 0, from_page=state.from_page)


def _place(space: Space, state: EventState | EventVersion) -> tuple[str, date]:
    """Return the currency and the day, on the Space's clock, of an event."""
    moment = _EPOCH + timedelta(microseconds=state.at)
    return state.currency or space.currency, moment.astimezone(space.zone).date()


async def load_former_amounts(
    connection: AsyncConnection, exchange: CurrencyExchange | None, families: Iterable[Family]
) -> FormerAmounts:
    """Return the amounts of the events of families."""
    if exchange is None:
        return FormerAmounts(None, RateTable())
    space, target = exchange.space, exchange.target
    foreign = {
        _place(space, event)
        for family in families
        for event in family.events
        if target != space.currency or (event.currency or target) != target
    }
    days, currencies = {day for _, day in foreign}, {currency for currency, _ in foreign}
    rates = await load_rates(connection, space.id, days, currencies | {target, space.currency}, exchange.at)
    return FormerAmounts(exchange, rates)


async def load_left_out_then(
    reader: ReportReader, planned: PeriodPlan, states: Mapping[int, EventState | None], amounts: FormerAmounts
) -> tuple[LeftOutMoney, ...]:
    """Return what a report left out at a moment. `states` has all events that have changed since,
    as they were.
    """
    unchanged = await load_left_out(reader, planned, frozenset(states))
    former = {event_id: state for event_id, state in states.items() if state is not None}
    left_out = amounts.left_out(former)
    of_states = [(event_id, former[event_id]) for event_id in left_out.event_ids.tolist()]
    if not of_states:
        return unchanged
    (ids,) = find_left_out([planned.plan], paths_of(of_states, amounts))
    return join_left_out([unchanged, left_out.among(ids)])
