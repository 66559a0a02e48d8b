"""The difference between two readings, split by cause: what each change of an event has added to
the sums of a report, and taken away. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from headwater.attribution.history.revisions import ChangeCause
from headwater.attribution.history.states import EventState, Family, FamilyHistory, Transition
from headwater.attribution.paths.path_data import Column
from headwater.reports.changes.former_events import AmountOf, paths_of
from headwater.reports.engine.addition import PieceSums, add_up
from headwater.reports.engine.dimensions import Stored
from headwater.reports.engine.plan import Plan
from headwater.reports.engine.tally import Tally
from headwater.reports.query import Group, Measure, ReportQuery, ReportTooLarge

MOST_WORK = 30_000_000
"""The touches that are looked at, for all states of all events: some ten seconds."""
_MICROSECONDS = 1_000_000
_DAY = 86_400
_AT_ONCE = 20_000
"""States that are added up at once."""

WHOLE_MEASURES = (Measure.EVENTS, Measure.REVENUE)


@dataclass
class CauseSums:
    """The changes that one cause has made to the sums of a report."""

    pieces: list[PieceSums] = field(default_factory=list[PieceSums])
    by_group: list[Tally] = field(default_factory=list[Tally])
    """By the groups of the report, and the event."""
    by_event: list[Tally] = field(default_factory=list[Tally])
    """By the event alone: whole events, whatever their touchpoints."""


@dataclass
class ChangeSums:
    """The changes of the sums of a report."""

    causes: dict[ChangeCause, CauseSums]
    later: CauseSums
    """Since the later reading, whatever the cause."""
    events: dict[int, EventState]
    """The latest known state of each event that has changed."""
    gone: set[int]
    """Those that are not there any more."""
    first: dict[int, EventState | None]
    """Each as it was at the earlier reading; None is not to be there."""
    last: dict[int, EventState | None]
    """Likewise at the later one."""


def piece_sums(
    plans: Sequence[Plan], states: Sequence[tuple[int, EventState]], amount_of: AmountOf, *, taken_away: bool
) -> Iterator[list[PieceSums]]:
    """Yield what some states come to, plan by plan; or what takes it away."""
    for first in range(0, len(states), _AT_ONCE):
        added = add_up(plans, paths_of(states[first : first + _AT_ONCE], amount_of))
        pieces = [piece.negated() if taken_away else piece for piece in added if piece]
        if pieces:
            yield pieces


class ChangePlans:
    """The plan of a report, and those that tell which events a difference is made of."""

    def __init__(self, plan: Plan) -> None:
        by_id = Stored(Column.EVENT_IDS)
        whole = replace(plan.query, measures=WHOLE_MEASURES, group_by=())
        self.plans = (
            plan,
            Plan(plan.query, plan.scope, (*plan.dimensions, by_id)),
            Plan(whole, plan.scope, (by_id,)),
        )

    def add(
        self,
        sums: CauseSums,
        states: Sequence[tuple[int, EventState]],
        amount_of: AmountOf,
        *,
        taken_away: bool,
    ) -> None:
        """Add what some states come to, or take it away."""
        for pieces in piece_sums(self.plans, states, amount_of, taken_away=taken_away):
            of_report, by_group, by_event = pieces
            sums.pieces.append(of_report)
            sums.by_group.append(by_group.groups)
            sums.by_event.append(by_event.groups)


def split_up(plan: Plan, families: Iterable[Family], between: range, amount_of: AmountOf) -> ChangeSums:
    """Return what has changed after the moment at which `between` starts, by cause as far as it did
    until the one at which it stops. Raises ReportTooLarge.
    """
    result = ChangeSums({}, CauseSums(), {}, set(), {}, {})
    by_cause: dict[ChangeCause, list[Transition]] = {}
    later: list[Transition] = []
    for transition in _transitions(plan, families, between.start):
        in_time = transition.moment < between.stop
        (by_cause.setdefault(transition.cause, []) if in_time else later).append(transition)
        _follow(result, transition, in_time=in_time)
    plans = ChangePlans(plan)
    for cause, transitions in by_cause.items():
        result.causes[cause] = _added_up(plans, transitions, amount_of)
    result.later = _added_up(plans, later, amount_of)
    return result


def taken_back(plan: Plan, changes: ChangeSums, amount_of: AmountOf) -> list[PieceSums]:
    """Return what makes a plan's present sums those of the earlier reading."""
    before = [(event_id, state) for event_id, state in changes.first.items() if state is not None]
    now = [pair for pair in changes.events.items() if pair[0] not in changes.gone]
    pieces = [
        *piece_sums([plan], now, amount_of, taken_away=True),
        *piece_sums([plan], before, amount_of, taken_away=False),
    ]
    return [piece for (piece,) in pieces]


def needs_first_orders(query: ReportQuery) -> bool:
    """Return whether a report looks at the first order of every customer."""
    groups = {*query.group_by, *(condition.group for condition in query.filters.only)}
    return Measure.NEW_CUSTOMERS in query.measures or Group.CUSTOMER in groups


def _transitions(plan: Plan, families: Iterable[Family], since: int) -> Iterator[Transition]:
    needed, first = needs_first_orders(plan.query), plan.scope.period.start
    names = (plan.query.filters.event_names or plan.scope.kinds.names) if needed else None
    first = (first - first % _DAY) * _MICROSECONDS  # as amounts are read
    work = 0
    for family in families:
        history = FamilyHistory(family, since, names)
        for transition in history.transitions(first):
            yield transition
            if work + history.work > MOST_WORK:
                raise ReportTooLarge
        work += history.work


def _follow(result: ChangeSums, transition: Transition, *, in_time: bool) -> None:
    state = transition.after or transition.before
    assert state is not None
    result.first.setdefault(transition.event_id, transition.before)
    if in_time:
        result.last[transition.event_id] = transition.after
    else:
        result.last.setdefault(transition.event_id, transition.before)
    result.events[transition.event_id] = state
    if transition.after is None:
        result.gone.add(transition.event_id)


def _added_up(plans: ChangePlans, transitions: Sequence[Transition], amount_of: AmountOf) -> CauseSums:
    sums = CauseSums()
    before = [(each.event_id, each.before) for each in transitions if each.before is not None]
    after = [(each.event_id, each.after) for each in transitions if each.after is not None]
    plans.add(sums, before, amount_of, taken_away=True)
    plans.add(sums, after, amount_of, taken_away=False)
    return sums
