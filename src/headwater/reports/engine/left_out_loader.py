"""Finds the events of a report whose money is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from headwater.attribution.history.transitions import EventState
from headwater.attribution.paths.path_data import LEFT_OUT, Column, IntArray, PathData
from headwater.reports.engine.change_amounts import FormerAmounts
from headwater.reports.engine.change_paths import paths_of
from headwater.reports.engine.chosen_events import ChosenEvents
from headwater.reports.engine.plan_loader import PeriodPlan
from headwater.reports.engine.remembered_sums import Addition
from headwater.reports.engine.report_reader import ReportReader
from headwater.reports.left_out_money import LeftOutMoney, join_left_out
from headwater.reports.models import DateBasis
from headwater.reports.plan.order import distinct_values
from headwater.reports.plan.plan import Plan, ReportScope

_NONE = np.array([], dtype=np.int64)


class LeftOutLoader:
    """Loads what reports of one moment leave out, once for those that are about the same events."""

    def __init__(self, reader: ReportReader) -> None:
        self._reader = reader
        self._loaded: dict[ReportScope, tuple[LeftOutMoney, ...]] = {}

    async def load(self, planned: PeriodPlan) -> tuple[LeftOutMoney, ...]:
        """Return the money of a report's events that its sums leave out: of those that meet its
        conditions on events, and by the dates of touches, of those with a touch that counts.
        """
        scope = planned.plan.scope
        if scope not in self._loaded:
            self._loaded[scope] = await load_left_out(self._reader, planned)
        return self._loaded[scope]


async def load_left_out(
    reader: ReportReader, planned: PeriodPlan, without: frozenset[int] = frozenset()
) -> tuple[LeftOutMoney, ...]:
    """Return what a report leaves out, `without` that of some events. Comes after its sums."""
    if not reader.leaves_out_money:
        return ()
    plan = _plan_of(planned.plan)
    by_company = _is_of_touches(plan) and plan.query.by_company
    paths = reader.path_reader(_columns(plan), by_company=by_company)
    survey = await reader.survey(paths, planned.days)
    amounts = await reader.left_out_amounts(survey)
    pieces = [ids async for (ids,) in reader.sums(paths, survey, [plan], _OF_LEFT_OUT)]
    ids = np.concatenate([_NONE, *pieces])
    if without:
        ids = ids[~np.isin(ids, np.fromiter(without, dtype=np.int64))]
    return tuple(amounts.among(ids))


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


def find_left_out(plans: Sequence[Plan], paths: PathData) -> list[IntArray]:
    """Return the ids of a piece's events whose amounts are left out, for each plan."""
    some = _select_left_out(paths)
    return [_ids_of(plan, some) if some.events else _NONE for plan in plans]


def _select_left_out(paths: PathData) -> PathData:
    amounts = paths[Column.AMOUNTS]
    return paths.select((amounts == LEFT_OUT) | (amounts == -LEFT_OUT))


def _ids_of(plan: Plan, paths: PathData) -> IntArray:
    paths = _select_left_out(plan.scope.kinds.without_other_amounts(paths))
    events = ChosenEvents.of(plan.scope, paths)
    ids = events.paths[Column.EVENT_IDS]
    if not _is_of_touches(plan):
        return ids.astype(np.int64)
    return ids[distinct_values(events.touched.pairs.events)].astype(np.int64)


def _plan_of(plan: Plan) -> Plan:
    """Return a plan of the same events, whatever its groups and measures."""
    return Plan(replace(plan.query, measures=(), group_by=()), plan.scope, ())


def _is_of_touches(plan: Plan) -> bool:
    return plan.query.date_basis is DateBasis.TOUCH


def _columns(plan: Plan) -> tuple[Column, ...]:
    columns = plan.columns if _is_of_touches(plan) else plan.scope.conditions.columns
    return tuple(dict.fromkeys([Column.EVENT_IDS, Column.NAMES, *columns]))


_OF_LEFT_OUT = Addition[Plan, IntArray](
    find_left_out,
    lasting=lambda plan: ("left out", plan.lasting),
    section=lambda plan, block: plan.section(block),
    shifted=lambda ids, _: ids,
    nothing=_NONE,
)
