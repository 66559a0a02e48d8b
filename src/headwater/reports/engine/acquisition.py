"""Cohorts: customers by the month and touches that acquired them. Every event gets the path of its customer's
first order, so a touch has the same share of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

import numpy as np
from msgspec import Struct

from headwater.attribution.paths.cache import Key
from headwater.attribution.paths.lookup import NumberMap
from headwater.attribution.paths.path_data import (
    NO_AMOUNT,
    NO_NUMBERS,
    ON_PATHS,
    TOUCH_COLUMNS,
    Column,
    IntArray,
    PathData,
    join_numbers,
)
from headwater.attribution.paths.reader import MAX_LIVE_EVENTS
from headwater.http.inputs.timerange import months_after
from headwater.reports.engine.chosen_events import COUNTS, ChosenEvents
from headwater.reports.engine.dimensions import EVERY_NAME, Customers, Step
from headwater.reports.engine.group_loader import GroupLoader
from headwater.reports.engine.passes import PeriodPlan, PlanLoader
from headwater.reports.engine.plan import EventConditions, FirstOrders, KeyFilter, Plan
from headwater.reports.engine.report_reader import ReportReader, run_in_thread
from headwater.reports.query import DateTimeSpan, Filters, KeyCondition, Measure, ReportQuery


@dataclass(frozen=True)
class Acquisition:
    """Limits events to customers acquired in a month, by some touches."""

    month: date
    only: tuple[KeyCondition, ...] = ()
    """The touches credited with the first order; empty means any."""
    unattributed: bool = False
    """True if the first order has no credit."""


def last_second(day: date) -> datetime:
    last = months_after(day, 1) - date.resolution
    return datetime(last.year, last.month, last.day, 23, 59, 59)  # noqa: DTZ001 - as above


PAIRS = 1_000_000
_NOBODY = -1


class Observation(Struct, frozen=True):
    firsts: PathData
    """First orders with their windows."""
    events: IntArray
    """Rows of customer, second and amount."""


class Observer(Struct, frozen=True):
    conditions: EventConditions
    orders: FirstOrders
    acquired: range
    """In Unix seconds."""
    columns: tuple[Column, ...]
    window_days: int

    def observe(self, paths: PathData) -> Observation:
        chosen_paths = paths.select(self.conditions.matches(paths))
        seconds = chosen_paths[Column.SECONDS]
        is_in_time = (seconds >= self.acquired.start) & (seconds < self.acquired.stop)
        firsts = chosen_paths.select(is_in_time & self.orders.include(chosen_paths)).select_columns(
            self.columns
        )
        amounts = chosen_paths[Column.AMOUNTS]
        customers = self.orders.customers.keys(chosen_paths)
        has_amount = (amounts != 0) & (amounts != NO_AMOUNT)
        events = np.stack([customers, seconds, amounts])[:, has_amount]
        return Observation(firsts.cut_to_window(self.window_days), events.astype(np.int64, copy=False))


class FollowedCustomers(Struct, frozen=True):
    paths: PathData
    """Events with an amount, by customer and month."""
    acquired: IntArray
    """Month numbers from 1."""
    since: IntArray
    is_buying: IntArray
    """Indexes of each customer's first order in every month."""


# Anna's first order came through G and M. She bought again two months later and returned part of it:
#
#     events      acquired   since   amount    path
#     May 3          1         0      50.00    G M
#     July 9         1         2      30.00    G M      from the first order, not July's
#     July 20        1         2     -30.00    G M
#
# So each model shares out 50.00, 30.00 and -30.00 over G and M alike. She buys in months 0 and 2.


def follow(
    firsts: Sequence[PathData], events: Sequence[IntArray], customers: Customers, months: Step
) -> list[FollowedCustomers]:
    """Yield customers in parts small enough to process at once."""
    first_orders = PathData.join(firsts)
    numbers = customers.keys(first_orders)
    order = np.argsort(numbers, kind="stable")
    first_orders, numbers = first_orders.select(order).cut_to_window(0), numbers[order]
    acquired_months = months.keys(first_orders)
    columns: IntArray = np.concatenate(events, axis=1)
    customer_keys: IntArray = columns[0]
    seconds: IntArray = columns[1]
    amounts: IntArray = columns[2]
    places = NumberMap(numbers, np.arange(len(numbers)), _NOBODY).find(customer_keys)
    months_since = np.searchsorted(months.starts, seconds, "right").astype(np.int64) - acquired_months[places]
    selected_events = np.flatnonzero((places != _NOBODY) & (months_since >= 0))
    selected_events = selected_events[
        np.argsort(
            places[selected_events] * len(months.starts) + months_since[selected_events], kind="stable"
        )
    ]
    places, months_since, amounts = (
        places[selected_events],
        months_since[selected_events],
        amounts[selected_events],
    )
    parts: list[FollowedCustomers] = []
    for start, end in _split_runs(first_orders[Column.LENGTHS], places):
        part_events = slice(*np.searchsorted(places, [start, end]).tolist())
        orders = _slice_events(first_orders, start, end)
        parts.append(
            _follow_part(
                orders,
                acquired_months[start:end],
                places[part_events] - start,
                months_since[part_events],
                amounts[part_events],
            )
        )
    return parts


def _slice_events(paths: PathData, start: int, end: int) -> PathData:
    starts, lengths = paths[Column.STARTS][start:end], paths[Column.LENGTHS][start:end]
    first, touches = int(starts[0]), int(lengths.sum())
    columns = {
        column: values[first : first + touches] if column in TOUCH_COLUMNS else values[start:end]
        for column, values in paths.columns.items()
    }
    columns[Column.STARTS] = starts - first
    return PathData(columns, paths.event_names, end - start, touches)


def _split_runs(lengths: IntArray, places: IntArray) -> Iterator[tuple[int, int]]:
    events = np.bincount(places, minlength=len(lengths))
    pairs = np.cumsum(events * np.maximum(lengths, 1))
    start = 0
    while start < len(lengths):
        earlier_pairs = int(pairs[start - 1]) if start else 0
        end = max(start + 1, int(np.searchsorted(pairs, earlier_pairs + PAIRS, "right")))
        yield start, end
        start = end


def _follow_part(
    firsts: PathData, acquired: IntArray, places: IntArray, since: IntArray, amounts: IntArray
) -> FollowedCustomers:
    columns = {
        column: values if column in TOUCH_COLUMNS else values[places]
        for column, values in firsts.columns.items()
        if column in ON_PATHS
    }
    paths = PathData({**columns, Column.AMOUNTS: amounts}, firsts.event_names, len(places), firsts.touches)
    orders = np.flatnonzero(amounts > 0)
    order_keys = places[orders] * (int(since.max(initial=0)) + 1) + since[orders]
    first_in_month = orders[np.flatnonzero(np.diff(order_keys, prepend=-1))]
    return FollowedCustomers(paths, acquired[places], since, first_in_month)


class Observed(Struct, frozen=True):
    planned: PeriodPlan
    customers: Customers
    firsts: Sequence[PathData]
    events: Sequence[IntArray]
    """Rows of customer, second and amount."""


class ObservationPlan(Struct, frozen=True):
    query: ReportQuery
    planned: PeriodPlan
    observer: Observer

    @property
    def customers(self) -> Customers:
        return self.observer.orders.customers


async def plan_observation(
    reader: ReportReader, query: ReportQuery, acquired: DateTimeSpan
) -> ObservationPlan:
    (period_plan,) = await PlanLoader(reader, [query]).plans(query)
    # Only events that bring revenue are observed, and listed if their money is left out.
    conditions = period_plan.plan.scope.conditions.with_names(reader.conversion_names(query.filters))
    scope = replace(period_plan.plan.scope, kinds=EVERY_NAME, conditions=conditions)
    period_plan = replace(period_plan, plan=Plan(query, scope, period_plan.plan.dimensions))
    customers = Customers(query.by_company)
    orders = await GroupLoader(reader, query).first_orders(customers)
    columns = (Column.EVENT_IDS, *period_plan.plan.columns, *customers.columns)
    seconds = reader.bounds(acquired).seconds
    observer = Observer(conditions, orders, seconds, columns, query.window_days)
    return ObservationPlan(query, period_plan, observer)


async def make_key(reader: ReportReader, observation: ObservationPlan, subject: object) -> Key | None:
    paths = reader.path_reader((), by_company=observation.query.by_company)
    scan = await reader.plan_scan(paths, observation.planned.days)
    return await reader.make_key(scan, (observation.planned.plan, observation.observer, subject))


async def observe(reader: ReportReader, observation: ObservationPlan) -> Observed:
    """Raises ReportTooLarge."""
    observer, period_plan = observation.observer, observation.planned
    # Paths by company are slow to read, so only those before first orders are.
    paths = reader.path_reader(observer.columns)
    batches = [batch async for batch in reader.batches(paths, period_plan.days, observer.observe)]
    firsts = [batch.firsts for batch in batches if batch.firsts.events]
    if observation.query.by_company:
        firsts = await _add_company_paths(reader, observer, firsts)
    return Observed(period_plan, observation.customers, firsts, [batch.events for batch in batches])


async def _add_company_paths(
    reader: ReportReader, observer: Observer, firsts: Sequence[PathData]
) -> list[PathData]:
    """Use the company's paths for orders that have a company."""
    paths = reader.path_reader(observer.columns, by_company=True)
    personal_orders = [orders.select(orders[Column.COMPANIES] == 0) for orders in firsts]
    event_ids = [orders[Column.EVENT_IDS][orders[Column.COMPANIES] != 0] for orders in firsts]
    company_event_ids = join_numbers(event_ids)
    for index in range(0, len(company_event_ids), MAX_LIVE_EVENTS):
        await reader.bound_time()
        live_data = await paths.read_live(company_event_ids[index : index + MAX_LIVE_EVENTS])
        personal_orders.append(live_data.select_columns(observer.columns).cut_to_window(observer.window_days))
    return [orders for orders in personal_orders if orders.events]


async def load_acquired(reader: ReportReader, query: ReportQuery, acquisition: Acquisition) -> KeyFilter:
    """Return a filter of events by their customer's acquisition, by the report's model and window."""
    first = datetime(acquisition.month.year, acquisition.month.month, 1)  # noqa: DTZ001 - local
    span = DateTimeSpan(first, last_second(acquisition.month))
    observation = await plan_observation(
        reader,
        ReportQuery(
            span.start,
            span.end,
            (Measure.CREDITED_REVENUE,),
            models=query.models,
            window_days=query.window_days,
            by_company=query.by_company,
            filters=Filters(query.filters.event_names, only=acquisition.only),
            trained_model=query.trained_model,
        ),
        span,
    )
    observed = await observe(reader, observation)
    customers = await run_in_thread(_select_acquired, observed, acquisition)
    return KeyFilter(observed.customers, customers)


def _select_acquired(observed: Observed, acquisition: Acquisition) -> IntArray:
    if not observed.firsts:
        return NO_NUMBERS
    plan: Plan = observed.planned.plan
    firsts = PathData.join(observed.firsts)
    customers = observed.customers.keys(firsts)
    if acquisition.only or acquisition.unattributed:
        events = ChosenEvents(plan.scope, firsts)
        statuses = events.credit(plan.query.models[0]).statuses
        customers = customers[(statuses != COUNTS) == acquisition.unattributed]
    return np.sort(customers)
