"""The former states of one customer's events: the work grows with the events, not with their square."""

from __future__ import annotations

import pytest

from headwater.attribution.history.revisions import ChangeCause
from headwater.attribution.history.states import (
    NEVER,
    EventVersion,
    Family,
    FamilyHistory,
    Rank,
    TouchVersion,
    Transition,
    make_moment,
)

DAY = 86_400_000_000
WINDOW = 30 * DAY


def make_family(days: int) -> Family:
    """A customer with a touch and an order each day; every day is a change of its own."""
    family = Family()
    for day in range(days):
        at, revision = day * DAY, day + 1
        family.touches.append(
            TouchVersion(
                day, 1, at, 7, day, make_moment(revision, Rank.TOUCHES_NEW), NEVER,
                ChangeCause.LATE_TOUCHES, ChangeCause.WITHDRAWN_TOUCHES,
            )
        )  # fmt: skip
        family.events.append(
            EventVersion(
                day, 1, "purchase", at + 1, 100_000, None, False,
                make_moment(revision, Rank.EVENTS_NEW), NEVER, ChangeCause.NEW_EVENTS, ChangeCause.EDITS,
            )
        )  # fmt: skip
    return family


def list_transitions(history: FamilyHistory) -> list[Transition]:
    return list(history.transitions())


def test_it_works() -> None:
    history = FamilyHistory(make_family(40), 0, (), WINDOW)
    transitions = list_transitions(history)
    assert [(t.event_id, t.cause, t.before) for t in transitions] == [
        (day, ChangeCause.NEW_EVENTS, None) for day in range(40)
    ]
    states = [t.after for t in transitions if t.after is not None]
    assert [len(state.path) for state in states] == [*range(1, 31), *[30] * 10]
    assert [touch.tag_set_id for touch in states[-1].path] == [*range(10, 40)]
    assert [(state.is_first, state.orders_until) for state in states] == [(True, 1), *[(False, 2)] * 39]


@pytest.mark.parametrize("order_names", [None, ()])
def test_work_grows_with_events(order_names: tuple[str, ...] | None) -> None:
    def measure(days: int) -> tuple[int, int]:
        history = FamilyHistory(make_family(days), 0, order_names, WINDOW)
        transitions = list_transitions(history)
        touches = {id(touch) for t in transitions if t.after is not None for touch in t.after.path}
        return history.work, len(touches)

    (work, touches), (double_work, double_touches) = measure(500), measure(1_000)
    assert double_work < 2.1 * work
    assert (touches, double_touches) == (500, 1_000)


def test_a_path_without_a_window_has_all_touches() -> None:
    last = list_transitions(FamilyHistory(make_family(100), 0))[-1].after
    assert last is not None
    assert len(last.path) == 100


def test_a_late_touch_changes_only_later_events() -> None:
    """It is before the last event alone, and not in a narrower window."""
    family = make_family(3)
    late = family.touches[0]._replace(id=99, at=2 * DAY - 1, start=make_moment(9, Rank.TOUCHES_NEW))
    family.touches.append(late)
    since = make_moment(5, Rank.EVENTS_CHANGED)
    changed = [t.event_id for t in list_transitions(FamilyHistory(family, since, None, WINDOW))]
    assert changed == [2]
    assert list_transitions(FamilyHistory(family, since, None, 1)) == []
