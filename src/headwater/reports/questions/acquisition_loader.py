"""Loads who was acquired when: the first orders of customers, with the paths to them, and what the
customers brought.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from headwater.attribution.paths.path_data import Column, IntArray, PathData
from headwater.attribution.paths.reader import MOST_LIVE_EVENTS
from headwater.reports.cohort_models import Acquisition, last_second
from headwater.reports.engine.chosen_events import COUNTS, ChosenEvents
from headwater.reports.engine.group_loader import GroupLoader, Subject
from headwater.reports.engine.plan_loader import PeriodPlan, PlanLoader
from headwater.reports.engine.report_reader import MadeOf, ReportReader, in_thread
from headwater.reports.models import DateTimeSpan, Filters, Measure, ReportQuery
from headwater.reports.plan.customers import Customers
from headwater.reports.plan.followed_customers import Observer
from headwater.reports.plan.kinds import EVERY_NAME
from headwater.reports.plan.plan import Plan
from headwater.reports.plan.selection import KeyFilter


@dataclass(frozen=True)
class Observed:
    """The customers that were acquired in some months, and what all customers brought."""

    planned: PeriodPlan
    customers: Customers
    firsts: Sequence[PathData]
    """Their first orders, with the touches in the window before them."""
    events: Sequence[IntArray]
    """Of every event with an amount: customer, second and amount."""


@dataclass(frozen=True)
class ObservationPlan:
    """The observation of customers, made ready."""

    query: ReportQuery
    planned: PeriodPlan
    observer: Observer

    @property
    def customers(self) -> Customers:
        return self.observer.orders.customers


async def plan_observation(
    reader: ReportReader, query: ReportQuery, acquired: DateTimeSpan
) -> ObservationPlan:
    """Return how those who were acquired in some months are observed, over the query's range."""
    (planned,) = await PlanLoader(reader, [query]).plans(query)
    # Only events that bring revenue are observed, and nothing is known of what they are called.
    scope = replace(planned.plan.scope, kinds=EVERY_NAME)
    planned = replace(planned, plan=Plan(query, scope, planned.plan.dimensions))
    customers = Customers(query.by_company)
    subject = Subject(planned.period.span, query.filters, query.window_days)
    orders = await GroupLoader(reader, subject).first_orders(customers)
    columns = (Column.EVENT_IDS, *planned.plan.columns, *customers.columns)
    seconds = reader.bounds(acquired).seconds
    conditions = planned.plan.scope.conditions.named(reader.conversion_names(query.filters))
    observer = Observer(conditions, orders, seconds, columns, query.window_days)
    return ObservationPlan(query, planned, observer)


async def identify(reader: ReportReader, observation: ObservationPlan, subject: object) -> MadeOf:
    """Return what something is known by that is made of a subject and of what is observed."""
    paths = reader.path_reader((), by_company=observation.query.by_company)
    survey = await reader.survey(paths, observation.planned.days)
    return await reader.identify(survey, (observation.planned.plan, observation.observer, subject))


async def observe(reader: ReportReader, observation: ObservationPlan) -> Observed:
    """Return what is observed. Raises ReportTooLarge."""
    observer, planned = observation.observer, observation.planned
    # Not by company, whose paths are read from the tables: only those to first orders are needed.
    paths = reader.path_reader(observer.columns)
    pieces = [piece async for piece in reader.pieces(paths, planned.days, observer.observe)]
    firsts = [piece.firsts for piece in pieces if piece.firsts.events]
    if observation.query.by_company:
        firsts = await _with_paths_of_companies(reader, observer, firsts)
    return Observed(planned, observation.customers, firsts, [piece.events for piece in pieces])


async def _with_paths_of_companies(
    reader: ReportReader, observer: Observer, firsts: Sequence[PathData]
) -> list[PathData]:
    """Return first orders with what is in the window of the paths of their companies, where they
    have one.
    """
    paths = reader.path_reader(observer.columns, by_company=True)
    own = [each.select(each[Column.COMPANIES] == 0) for each in firsts]
    event_ids = [each[Column.EVENT_IDS][each[Column.COMPANIES] != 0] for each in firsts]
    of_companies = np.concatenate([np.array([], dtype=np.int64), *event_ids])
    for place in range(0, len(of_companies), MOST_LIVE_EVENTS):
        await reader.bound_time()
        live = await paths.read_live(of_companies[place : place + MOST_LIVE_EVENTS])
        own.append(live.only(observer.columns).cut_to_window(observer.window_days))
    return [each for each in own if each.events]


async def load_acquired(reader: ReportReader, query: ReportQuery, acquisition: Acquisition) -> KeyFilter:
    """Return the condition that events are of customers who were acquired so, by the model and
    window of a report of them.
    """
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
            fit=query.fit,
        ),
        span,
    )
    observed = await observe(reader, observation)
    customers = await in_thread(_chosen, observed, acquisition)
    return KeyFilter(observed.customers, customers)


def _chosen(observed: Observed, acquisition: Acquisition) -> IntArray:
    """Return the customers, ascending."""
    if not observed.firsts:
        return np.array([], dtype=np.int64)
    plan: Plan = observed.planned.plan
    firsts = PathData.join(observed.firsts)
    customers = observed.customers.keys(firsts)
    if acquisition.only or acquisition.unattributed:
        events = ChosenEvents(plan.scope, firsts)
        statuses = events.credit(plan.query.models[0]).statuses
        customers = customers[(statuses != COUNTS) == acquisition.unattributed]
    return np.sort(customers)
