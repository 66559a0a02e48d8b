"""Typical faults in explaining a report's changes, to be planted in the product."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from headwater.attribution.history import states
from headwater.attribution.history.revisions import ChangeCause as Cause
from headwater.attribution.history.states import ALWAYS, NEVER, Family, FamilyHistory
from headwater.reports.changes import event_sums

Plant = Callable[[pytest.MonkeyPatch], None]


def _family(change: Callable[[Family], Family]) -> Plant:
    """Return a fault in a family's data."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        right = FamilyHistory.__init__

        def init(self: FamilyHistory, family: Family, *arguments: Any) -> None:
            right(self, change(family), *arguments)

        patch.setattr(FamilyHistory, "__init__", init)

    return plant


def _make_rows_permanent(name: str, **times: int) -> Plant:
    """Return a fault that makes some rows of a family valid from the beginning, or for ever."""
    return _family(
        lambda family: replace(family, **{name: [row._replace(**times) for row in getattr(family, name)]})
    )


def _former_touches(patch: pytest.MonkeyPatch) -> None:
    """Only the current state of touchpoints counts."""
    _family(lambda family: replace(family, touches=[t for t in family.touches if t.end == NEVER]))(patch)


def _cause(cause: Cause, other_cause: Cause) -> Plant:
    def plant(patch: pytest.MonkeyPatch) -> None:
        right = FamilyHistory.transitions

        def change_rows(self: FamilyHistory, *arguments: Any) -> Any:
            for change in right(self, *arguments):
                yield change._replace(cause=other_cause) if change.cause is cause else change

        patch.setattr(FamilyHistory, "transitions", change_rows)

    return plant


def _first_and_last(patch: pytest.MonkeyPatch) -> None:
    """Of several changes of an event only the last counts."""
    right = FamilyHistory.transitions

    def change_rows(self: FamilyHistory, *arguments: Any) -> Any:
        last: dict[int, Any] = {}
        for change in right(self, *arguments):
            before = last[change.event_id].before if change.event_id in last else change.before
            last[change.event_id] = change._replace(before=before)
        yield from last.values()

    patch.setattr(FamilyHistory, "transitions", change_rows)


def _count_later_changes(patch: pytest.MonkeyPatch) -> None:
    """Changes after the later snapshot count, too."""
    right = event_sums.split_up

    def split_up(plans: Any, families: Any, moments: range, *arguments: Any) -> Any:
        return right(plans, families, range(moments.start, NEVER), *arguments)

    patch.setattr("headwater.reports.changes.credit.split_up", split_up)


def _exclude_touch_at_event(patch: pytest.MonkeyPatch) -> None:
    right = FamilyHistory._find_touches
    patch.setattr(FamilyHistory, "_find_touches", lambda self, at: right(self, at - 1))


def _windows(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(event_sums, "_DAY", 86_401_000_000)


def _keep_earlier_state(patch: pytest.MonkeyPatch) -> None:
    """An event's earlier state is not subtracted."""
    right = event_sums._sum_cause

    def sum_cause(plan: Any, changes: Any, read_amount: Any) -> Any:
        return right(plan, [change._replace(before=None) for change in changes], read_amount)

    patch.setattr(event_sums, "_sum_cause", sum_cause)


def _owners(patch: pytest.MonkeyPatch) -> None:
    """An event's contact before a merge is forgotten."""
    patch.setattr(states, "find_survivor", lambda contact_id, _: contact_id)


def _ignore_earlier_events(patch: pytest.MonkeyPatch) -> None:
    """Events before a customer's first order never change which order is the first."""
    patch.setattr(FamilyHistory, "_order_steps", lambda _: ())


def _latest_amounts(family: Family) -> Family:
    latest = {event.id: event.amount for event in sorted(family.events, key=lambda row: row.start)}
    return replace(family, events=[e._replace(amount=latest[e.id]) for e in family.events])


FAULTS: dict[str, Plant] = {
    "touches have always been there": _make_rows_permanent("touches", start=ALWAYS),
    "withdrawn touches stay": _make_rows_permanent("touches", end=NEVER),
    "events have always been there": _make_rows_permanent("events", start=ALWAYS),
    "events stay for ever": _make_rows_permanent("events", end=NEVER),
    "merges have always held": _make_rows_permanent("merges", start=ALWAYS),
    "merges are never undone": _make_rows_permanent("merges", end=NEVER),
    "former sources are forgotten": _former_touches,
    "unmerges are taken for merges": _cause(Cause.UNMERGES, Cause.MERGES),
    "names are taken for late touches": _cause(Cause.CLASSIFICATION, Cause.LATE_TOUCHES),
    "late events are taken for new ones": _cause(Cause.LATE_EVENTS, Cause.NEW_EVENTS),
    "replacements are taken for deletions": _cause(Cause.REPLACEMENTS, Cause.DELETIONS),
    "only the last change of an event counts": _first_and_last,
    "changes after the later snapshot count": _count_later_changes,
    "a touch at the event's moment does not count": _exclude_touch_at_event,
    "a day of the window is a second too long": _windows,
    "what was there before is not taken away": _keep_earlier_state,
    "contacts are never merged": _owners,
    "an earlier order takes nothing from the first": _ignore_earlier_events,
    "amounts are those of the latest state": _family(_latest_amounts),
}
