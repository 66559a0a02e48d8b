"""The events of a piece that a list of credits has, beside the sums of the piece, and the credit of
single events. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from headwater.attribution.paths.lookup import place_among
from headwater.attribution.paths.path_data import BoolArray, Column, IntArray, PathData
from headwater.http.inputs.pagination import Position
from headwater.reports.credit_models import CreditFilter
from headwater.reports.engine.addition import PieceSums, add_up_events
from headwater.reports.engine.chosen_events import COUNTS, STATUSES, ChosenEvents, ModelCredit
from headwater.reports.models import NoCredit
from headwater.reports.plan.plan import Plan


@dataclass(frozen=True)
class ListedEvents:
    """Some events in the order of their seconds and ids."""

    seconds: IntArray
    event_ids: IntArray

    @classmethod
    def join(cls, several: Sequence[Self]) -> ListedEvents:
        nothing = np.array([], dtype=np.int64)
        return ListedEvents(
            np.concatenate([nothing, *(each.seconds for each in several)]),
            np.concatenate([nothing, *(each.event_ids for each in several)]),
        )

    def nearest(self, at: Position | None, most: int) -> ListedEvents:
        """Return those that come next, the newest first: from a position on, or, where that goes
        backward, up to it. At most so many.
        """
        seconds, event_ids = self.seconds, self.event_ids
        backward = at is not None and at.backward
        if at is not None:
            second, event_id = at.key
            same = seconds == second
            newer = (seconds > second) | (same & (event_ids > event_id))
            older = (seconds < second) | (same & (event_ids < event_id))
            beyond = np.flatnonzero(newer if backward else older)
            seconds, event_ids = seconds[beyond], event_ids[beyond]
        if len(seconds) > most:
            wanted = _most(seconds, most, largest=not backward)
            seconds, event_ids = seconds[wanted], event_ids[wanted]
        newest_first = np.lexsort((event_ids, seconds))[::-1]
        kept = newest_first[-most:] if backward else newest_first[:most]
        return ListedEvents(seconds[kept], event_ids[kept])


@dataclass(frozen=True)
class ListedPiece:
    """The sums of a piece, and the events of it that may be on the page."""

    sums: PieceSums
    events: ListedEvents


@dataclass(frozen=True)
class ListRequest:
    """The part of a list that is wanted."""

    credit: CreditFilter
    at: Position | None
    most: int
    """The most events."""


def list_piece(plan: Plan, request: ListRequest, paths: PathData) -> ListedPiece:
    """Add up a piece, and return the events that come next of those that are listed."""
    events = ChosenEvents.of(plan.scope, paths)
    chosen = np.flatnonzero(_are_listed(events, request.credit))
    seconds, event_ids = (
        events.paths[column][chosen].astype(np.int64) for column in (Column.SECONDS, Column.EVENT_IDS)
    )
    nearest = ListedEvents(seconds, event_ids).nearest(request.at, request.most)
    return ListedPiece(add_up_events(plan, events), nearest)


def _are_listed(events: ChosenEvents, credit: CreditFilter) -> BoolArray:
    if credit is CreditFilter.ALL:
        return np.ones(events.count, dtype=np.bool_)
    if credit is CreditFilter.TOUCHED:
        listed = np.zeros(events.count, dtype=np.bool_)
        listed[events.touched.pairs.events] = True
        return listed
    statuses = _only(events).statuses
    if credit is CreditFilter.CREDITED:
        return statuses == COUNTS
    return np.isin(statuses, [STATUSES.index(reason) for reason in credit.reasons])


@dataclass(frozen=True)
class TouchShares:
    """The touches of one event that are listed, in their order."""

    touches: IntArray
    """Their places among all."""
    of_event: IntArray
    """Their shares of the event, in units of which it is `unit`."""
    of_amount: IntArray
    """Their shares of its amount, in ten-thousandths."""


class SharedOut:
    """The shares of the touches of some events, event by event."""

    def __init__(self, plan: Plan, paths: PathData, credit: CreditFilter) -> None:
        """`paths` are those of the events alone."""
        self.paths = paths
        events = ChosenEvents(plan.scope, paths)
        credited = _only(events)
        self._statuses = credited.statuses
        self._pairs = events.touched.pairs if credit is CreditFilter.TOUCHED else credited.counted
        of_events, self.unit = credited.shares_of_events()
        self._of_events = self._placed(credited, of_events)
        self._of_amounts = self._placed(credited, credited.shares_of_amounts())
        self._starts = np.searchsorted(self._pairs.events, np.arange(paths.events + 1))

    def reason(self, event: int) -> NoCredit | None:
        """Return why no touch of the event at a place is credited."""
        status = STATUSES[int(self._statuses[event])]
        return status if isinstance(status, NoCredit) else None

    def of(self, event: int) -> TouchShares:
        """Return the listed touches of the event at a place."""
        some = slice(self._starts[event], self._starts[event + 1])
        return TouchShares(self._pairs.touches[some], self._of_events[some], self._of_amounts[some])

    def _placed(self, credited: ModelCredit, shares: IntArray) -> IntArray:
        """Return the share of each listed touch, of those of all that are credited; 0 without."""
        size = self.paths.touches
        of_pairs = credited.credited.events * size + credited.credited.touches
        listed = self._pairs.events * size + self._pairs.touches
        places, credited_too = place_among(of_pairs, listed)
        placed = np.zeros(len(listed), dtype=np.int64)
        placed[credited_too] = shares[places[credited_too]]
        return placed


def _only(events: ChosenEvents) -> ModelCredit:
    """Return the credit of the only model."""
    (model,) = events.scope.query.models
    return events.credit(model)


def _most(seconds: IntArray, most: int, *, largest: bool) -> IntArray:
    """Return the places of the so many largest or smallest, and of those that equal the last."""
    if largest:
        return np.flatnonzero(seconds >= np.partition(seconds, -most)[-most])
    return np.flatnonzero(seconds <= np.partition(seconds, most - 1)[most - 1])
