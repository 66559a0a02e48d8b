"""Sums over former states of events: at an earlier snapshot, and by cause of change. Pure, except for loading
exchange rates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from psycopg import AsyncConnection

from headwater.attribution.history.revisions import ChangeCause
from headwater.attribution.history.states import EventState, EventVersion, Family, FamilyHistory, Transition
from headwater.attribution.paths.path_data import (
    NO_AMOUNT,
    OLDER_COLUMNS,
    Column,
    EventKind,
    IntArray,
    PathData,
    join_numbers,
)
from headwater.events.accepted import UPSELL_NAME
from headwater.reports.changes.change import MAX_EVENT_GROUPS, MAX_LARGEST, Figures
from headwater.reports.engine.addition import MOST_TOUCHES, BatchSums, add_up
from headwater.reports.engine.conversion import CurrencyExchange, LeftOutAmounts, stored_amount
from headwater.reports.engine.dimensions import Stored
from headwater.reports.engine.group_sums import GroupSums
from headwater.reports.engine.measures import Sums, compute_figures, rough_figures, sums_at
from headwater.reports.engine.plan import Plan
from headwater.reports.engine.result import Keys
from headwater.reports.query import Group, Measure, ReportQuery, ReportTooLarge
from headwater.spaces.models import Space
from headwater.spend.rates.counted_amounts import Counted, LeftOutReason
from headwater.spend.rates.exchange import RateTable
from headwater.spend.rates.store import load_rates

MAX_WORK = 30_000_000
"""Touches read for all states: about ten seconds."""
_CHUNK = 20_000
_MICROSECONDS = 1_000_000
_DAY = 86_400 * _MICROSECONDS
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

States = Sequence[tuple[int, EventState]]
AmountOf = Callable[[EventState], int | None]
"""In the report's currency, in ten-thousandths."""
GroupOrder = Callable[[Keys, Figures], tuple[Fraction, list[str]]]


class FormerAmounts(Struct, frozen=True):
    """Amounts in the report's currency, at one snapshot's rates."""

    exchange: CurrencyExchange | None
    """None if only the sign of amounts matters."""
    rates: RateTable

    def __call__(self, state: EventState) -> int | None:
        if self.exchange is None or not state.amount:
            return state.amount
        return stored_amount(state.amount, self._count(self.exchange, state))

    def left_out(self, states: Mapping[int, EventState]) -> LeftOutAmounts:
        by_kind: dict[tuple[str, LeftOutReason], list[tuple[int, int, date]]] = {}
        for event_id, state in states.items():
            if self.exchange is not None and state.amount:
                currency, day = _currency_day(self.exchange.space, state)
                counted_amount = self._count(self.exchange, state)
                if isinstance(counted_amount, LeftOutReason):
                    by_kind.setdefault((currency, counted_amount), []).append((event_id, state.amount, day))
        return LeftOutAmounts.of(by_kind)

    def _count(self, exchange: CurrencyExchange, state: EventState) -> Counted:
        rule = exchange.rule(self.rates, *_currency_day(exchange.space, state))
        return rule.count(state.amount or 0, from_page=state.from_page)


async def load_former_amounts(
    connection: AsyncConnection, exchange: CurrencyExchange | None, families: Iterable[Family]
) -> FormerAmounts:
    if exchange is None:
        return FormerAmounts(None, RateTable())
    space, target = exchange.space, exchange.target
    foreign_days = {
        _currency_day(space, event)
        for family in families
        for event in family.events
        if target != space.currency or (event.currency or target) != target
    }
    days, currencies = {day for _, day in foreign_days}, {currency for currency, _ in foreign_days}
    rates = await load_rates(connection, space.id, days, currencies | {target, space.currency}, exchange.at)
    return FormerAmounts(exchange, rates)


def _currency_day(space: Space, event: EventState | EventVersion) -> tuple[str, date]:
    moment = _EPOCH + timedelta(microseconds=event.at)
    return event.currency or space.currency, moment.astimezone(space.zone).date()


def add_up_states(
    plans: Sequence[Plan], states: States, amount_of: AmountOf, *, negated: bool = False
) -> list[list[BatchSums]]:
    """Return the sums of former states for each plan of the same events, negated to subtract them."""
    batches: list[list[BatchSums]] = [[] for _ in plans]
    for chunk in _list_chunks(states):
        sums = add_up(plans, build_paths(chunk, amount_of))
        for plan_pieces, batch in zip(batches, sums, strict=True):
            if batch is not None:
                plan_pieces.append(batch.negated() if negated else batch)
    return batches


def _list_chunks(states: States) -> Iterator[States]:
    """Yield runs of states of limited memory."""
    first = touches = 0
    for index, (_, state) in enumerate(states):
        if index > first and (index - first == _CHUNK or touches + len(state.path) > MOST_TOUCHES):
            yield states[first:index]
            first, touches = index, 0
        touches += len(state.path)
    if states:
        yield states[first:]


def build_paths(states: States, amount_of: AmountOf) -> PathData:
    names = tuple(dict.fromkeys(state.name for _, state in states))
    numbers = {name: number for number, name in enumerate(names)}
    touches = [touch for _, state in states for touch in state.path]
    lengths = _array(len(state.path) for _, state in states)
    times, touch_times = _array(state.at for _, state in states), _array(touch.at for touch in touches)
    amounts = [amount_of(state) for _, state in states]
    columns = {
        Column.EVENT_IDS: _array(event_id for event_id, _ in states),
        Column.CONTACTS: _array(state.contact_id for _, state in states),
        Column.COMPANIES: np.zeros(len(states), dtype=np.int64),
        Column.NAMES: _array(numbers[state.name] for _, state in states),
        Column.SECONDS: times // _MICROSECONDS,
        Column.AMOUNTS: _array(NO_AMOUNT if amount is None else amount for amount in amounts),
        Column.STARTS: np.cumsum(lengths) - lengths,
        Column.LENGTHS: lengths,
        Column.TOUCH_SECONDS: touch_times // _MICROSECONDS,
        Column.SOURCES: _array(touch.source_id for touch in touches),
        Column.TAG_SETS: _array(touch.tag_set_id for touch in touches),
        Column.KINDS: _array(_find_kind(state) for _, state in states),
    }
    events = np.repeat(np.arange(len(states)), lengths)
    for days, column in OLDER_COLUMNS.items():
        older_events = events[touch_times < times[events] - days * _DAY]
        columns[column] = np.bincount(older_events, minlength=len(states)).astype(np.int64)
    is_first = np.array([state.is_first for _, state in states], dtype=np.bool_)
    orders_until = _array(state.orders_until for _, state in states)
    return PathData(columns, names, len(states), len(touches), is_first, orders_until)


def _find_kind(state: EventState) -> EventKind:
    if state.amount is not None and state.amount < 0:
        return EventKind.REFUND
    is_upsell = state.is_upsell or state.name == UPSELL_NAME
    return EventKind.UPSELL if is_upsell else EventKind.PLAIN


def _array(values: Iterable[int]) -> IntArray:
    return np.array(list(values), dtype=np.int64)


@dataclass
class EventStates:
    """None is a missing event."""

    start: EventState | None
    end: EventState | None
    current: EventState | None
    latest: EventState
    """The current state, or the last one before deletion."""


class CauseSums(Struct, frozen=True):
    pieces: list[BatchSums]
    by_group: GroupSums
    """By group and event."""
    by_event: GroupSums
    """By event, whether or not it has touches."""


class ChangedEvents(Struct, frozen=True):
    states: Mapping[int, EventStates]
    causes: Mapping[ChangeCause, Sequence[CauseSums]]


def split_up(
    plans: Sequence[Plan],
    families: Iterable[Family],
    moments: range,
    amount_of: AmountOf,
    require_time: Callable[[], object],
) -> ChangedEvents:
    """Explain reports about the same events. Raises ReportTooLarge, as `require_time` does. It is called for
    every transition, because one of a long path takes a millisecond.
    """
    states: dict[int, EventStates] = {}
    by_cause: dict[ChangeCause, list[Transition]] = {}
    for transition in _transitions(plans, families, moments.start):
        require_time()
        latest = transition.after or transition.before
        assert latest is not None, "a transition has a state"
        event = states.setdefault(
            transition.event_id, EventStates(transition.before, transition.before, None, latest)
        )
        event.current, event.latest = transition.after, latest
        if transition.moment < moments.stop:
            event.end = transition.after
            by_cause.setdefault(transition.cause, []).append(transition)
    causes: dict[ChangeCause, list[CauseSums]] = {}
    for cause, transitions in by_cause.items():
        require_time()
        causes[cause] = [_sum_cause(plan, transitions, amount_of) for plan in plans]
    return ChangedEvents(states, causes)


def needs_first_orders(query: ReportQuery) -> bool:
    groups = {*query.group_by, *(condition.group for condition in query.filters.only)}
    return Measure.NEW_CUSTOMERS in query.measures or Group.CUSTOMER in groups


def _transitions(plans: Sequence[Plan], families: Iterable[Family], since: int) -> Iterator[Transition]:
    scope, filters = plans[0].scope, plans[0].query.filters
    needs_orders = any(needs_first_orders(plan.query) for plan in plans)
    names = (filters.event_names or scope.kinds.names) if needs_orders else None
    window_days = [plan.query.window_days for plan in plans]
    window = max(window_days) * _DAY if all(window_days) else None
    first = scope.period.start * _MICROSECONDS
    first -= first % _DAY  # events are read by the day
    work = 0
    for family in families:
        history = FamilyHistory(family, since, names, window)
        for transition in history.transitions(first):
            yield transition
            if work + history.work > MAX_WORK:
                raise ReportTooLarge
        work += history.work


def _sum_cause(plan: Plan, transitions: Sequence[Transition], amount_of: AmountOf) -> CauseSums:
    """Sum the states after the transitions, less those before."""
    by_id = Stored(Column.EVENT_IDS)
    total_query = replace(plan.query, measures=(Measure.EVENTS, Measure.REVENUE), group_by=())
    plans = (
        plan,
        Plan(plan.query, plan.scope, (*plan.dimensions, by_id)),
        Plan(total_query, plan.scope, (by_id,)),
    )
    before = [
        (transition.event_id, transition.before)
        for transition in transitions
        if transition.before is not None
    ]
    after = [
        (transition.event_id, transition.after) for transition in transitions if transition.after is not None
    ]
    removed_batches = add_up_states(plans, before, amount_of, negated=True)
    added_sums = add_up_states(plans, after, amount_of)
    batches, by_group, by_event = (
        [*removed_sums, *new_sums] for removed_sums, new_sums in zip(removed_batches, added_sums, strict=True)
    )
    return CauseSums(
        batches,
        GroupSums.join([batch.groups for batch in by_group]),
        GroupSums.join([batch.groups for batch in by_event]),
    )


class EventPart(NamedTuple):
    event_id: int
    total: Sums
    rows: list[tuple[Keys, Figures]]
    """Largest first."""


def find_largest(query: ReportQuery, order: GroupOrder, sums: CauseSums) -> tuple[int, list[EventPart]]:
    """Count a cause's changed events, and return the largest by amount, then by the first measure."""
    all_sums = [group_sums for group_sums in (sums.by_group, sums.by_event) if group_sums.groups]
    ids = np.unique(join_numbers(group_sums.keys[-1] for group_sums in all_sums))

    def moved(group_sums: GroupSums, measure: Measure) -> NDArray[np.float64]:
        if not group_sums.groups:
            return np.zeros(len(ids))
        figures = np.abs(rough_figures(query, measure, group_sums))
        return np.bincount(np.searchsorted(ids, group_sums.keys[-1]), figures, len(ids)).astype(np.float64)

    revenue, count = moved(sums.by_event, Measure.REVENUE), moved(sums.by_event, Measure.EVENTS)
    ranking = np.lexsort((ids, -count, -moved(sums.by_group, query.measures[0]), -revenue))
    largest: list[int] = ids[ranking[:MAX_LARGEST]].tolist()
    return len(ids), [_find_part(query, order, sums, event_id) for event_id in largest]


def _find_part(query: ReportQuery, order: GroupOrder, sums: CauseSums, event_id: int) -> EventPart:
    total_sums = next(
        (sums_at(sums.by_event, index, 0) for index in _indexes(sums.by_event, event_id)), Sums({})
    )
    rows: list[tuple[Keys, Figures]] = []
    for index in _indexes(sums.by_group, event_id) if query.group_by else ():
        group_sums = sums_at(sums.by_group, index, 0)
        figures = name_figures(query, group_sums)
        if any(figures.values()):
            rows.append((tuple(int(keys[index]) for keys in sums.by_group.keys[:-1]), figures))
    return EventPart(event_id, total_sums, sorted(rows, key=lambda row: order(*row))[:MAX_EVENT_GROUPS])


def name_figures(query: ReportQuery, sums: Sums) -> Figures:
    return {str(column): figure for column, figure in compute_figures(query, sums, sums).items()}


def _indexes(group_sums: GroupSums, event_id: int) -> list[int]:
    return np.flatnonzero(group_sums.keys[-1] == event_id).tolist() if group_sums.groups else []
