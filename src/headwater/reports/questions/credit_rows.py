"""The rows of the list of credits: which events are on the page, and the credit of their touches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any, Self

import numpy as np

from headwater.attribution.paths.lookup import place_among
from headwater.attribution.paths.path_data import (
    LEFT_OUT,
    NO_AMOUNT,
    ROUNDED_AWAY,
    BoolArray,
    Column,
    IntArray,
    PathData,
)
from headwater.database.bulk_values import array
from headwater.database.queries import Queries, fetch_all
from headwater.http.inputs.pagination import Position
from headwater.reports.engine.addition import PieceSums, add_up_events
from headwater.reports.engine.chosen_events import COUNTS, STATUSES, ChosenEvents, ModelCredit, NoCredit
from headwater.reports.engine.measures import as_money
from headwater.reports.engine.plan import Plan
from headwater.reports.engine.report_reader import ReportReader
from headwater.sources.catalogue import find_channel


class CreditFilter(StrEnum):
    """The events that are listed, by what became of their credit."""

    ALL = "all"
    CREDITED = "credited"
    """Of which a touch whose credit counts is credited."""
    UNATTRIBUTED = "unattributed"
    """Of which the model credits no touch."""
    NO_TOUCH = "no_touch"
    OUTSIDE_WINDOW = "outside_window"
    NOT_COUNTED = "not_counted"
    TOUCHED = "touched"
    """With a touch in the window whose credit would count, whatever the model credits."""

    @property
    def reasons(self) -> tuple[NoCredit, ...]:
        """The reasons for which the events have no credit; empty for a list of others."""
        if self is CreditFilter.UNATTRIBUTED:
            return tuple(NoCredit)
        return tuple(reason for reason in NoCredit if reason == self.value)


@dataclass(frozen=True)
class TouchTags:
    """The ad, keyword and landing page of a touch; None where it says nothing. Names are the
    catalogue's where the touch has none.
    """

    campaign_id: str | None = None
    campaign_name: str | None = None
    adset_id: str | None = None
    adset_name: str | None = None
    ad_id: str | None = None
    ad_name: str | None = None
    keyword: str | None = None
    landing_page: str | None = None


@dataclass(frozen=True)
class TouchCredit:
    """A touch on the path to an event, and its credit."""

    occurred_at: datetime
    """In UTC, to the second."""
    source: str
    channel: str
    tags: TouchTags
    credited_events: Fraction
    credited_revenue: Decimal


@dataclass(frozen=True)
class EventCredit:
    """An event, and the credit of its touches that counts."""

    event_id: int
    event_name: str
    configured_name: str
    """The Space's name for such events."""
    event_time: datetime
    """In UTC."""
    contact_id: int
    contact_name: str | None
    company_id: int | None
    company_name: str | None
    order_id: str | None
    order_name: str | None
    """What people call the order, such as #1001."""
    amount: Decimal | None
    """In the currency of the list."""
    original_amount: Decimal | None
    original_currency: str
    """What the event itself says."""
    credited_events: Fraction
    """The part of the event that is credited to touches that count."""
    credited_revenue: Decimal
    """The same part of its amount."""
    reason: NoCredit | None
    """Why no touch is credited; None when one is, or when only some touches count."""
    touches: tuple[TouchCredit, ...]
    """The credited touches that count, in their order; in a list of touched events, all touches of
    the window that count. Of very many both ends.
    """
    left_out: int
    """Touches between these ends."""


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


queries = Queries(__name__, "credits.sql")
MOST_PER_END = 25
"""Touches that are listed of each end of an event's."""


@dataclass(frozen=True)
class _Details:
    """The part of an event that only the tables have."""

    event_time: datetime
    order_id: str | None
    order_name: str | None
    configured_name: str
    contact_name: str | None
    company_name: str | None
    original_amount: Decimal | None
    original_currency: str


class CreditRowReader:
    """Makes rows of some events."""

    def __init__(self, reader: ReportReader, shares: SharedOut) -> None:
        self._reader, self._shares, self._paths = reader, shares, shares.paths

    async def rows(self) -> dict[int, EventCredit]:
        """Return the rows by the ids of their events."""
        shares = [self._shares.of(event) for event in range(self._paths.events)]
        listed = [_both_ends(each) for each in shares]
        tags = await self._tags([each.touches for each in listed])
        details = await self._details()
        return {
            event_id: self._row(event, details[event_id], shares[event], listed[event], tags)
            for event, event_id in enumerate(self._paths[Column.EVENT_IDS].tolist())
        }

    def _row(
        self,
        event: int,
        details: _Details,
        shares: TouchShares,
        listed: TouchShares,
        tags: Mapping[int, TouchTags],
    ) -> EventCredit:
        paths = self._paths
        company_id = int(paths[Column.COMPANIES][event])
        return EventCredit(
            event_id=int(paths[Column.EVENT_IDS][event]),
            event_name=paths.event_names[int(paths[Column.NAMES][event])],
            configured_name=details.configured_name,
            event_time=details.event_time.astimezone(UTC),
            contact_id=int(paths[Column.CONTACTS][event]),
            contact_name=details.contact_name,
            company_id=company_id or None,
            company_name=details.company_name,
            order_id=details.order_id,
            order_name=details.order_name,
            amount=_amount(int(paths[Column.AMOUNTS][event])),
            original_amount=details.original_amount,
            original_currency=details.original_currency,
            credited_events=Fraction(int(shares.of_event.sum()), self._shares.unit),
            credited_revenue=as_money(int(shares.of_amount.sum())),
            reason=self._shares.reason(event),
            touches=tuple(self._touches(listed, tags)),
            left_out=len(shares.touches) - len(listed.touches),
        )

    def _touches(self, shares: TouchShares, tags: Mapping[int, TouchTags]) -> Iterator[TouchCredit]:
        columns = (Column.TOUCH_SECONDS, Column.SOURCES, Column.TAG_SETS)
        values = [self._paths[column][shares.touches] for column in columns]
        for touch in zip(*values, shares.of_event, shares.of_amount, strict=True):
            second, source_id, tag_set, part, amount = map(int, touch)
            source = self._reader.space.sources.get_name(source_id)
            yield TouchCredit(
                datetime.fromtimestamp(second, UTC),
                source,
                find_channel(source),
                tags.get(tag_set, TouchTags()),
                Fraction(part, self._shares.unit),
                as_money(amount),
            )

    async def _details(self) -> dict[int, _Details]:
        rows = await self._fetch("events", self._paths[Column.EVENT_IDS])
        return {event_id: _Details(*values) for event_id, *values in rows}

    async def _tags(self, touches: Sequence[IntArray]) -> dict[int, TouchTags]:
        places = np.concatenate([np.array([], dtype=np.int64), *touches])
        rows = await self._fetch("tag_sets", np.unique(self._paths[Column.TAG_SETS][places]))
        return {tag_set: TouchTags(*values) for tag_set, *values in rows}

    async def _fetch(self, name: str, ids: IntArray) -> list[tuple[Any, ...]]:
        values = {"space_id": self._reader.space.id, "ids": array(ids.tolist())}
        return await fetch_all(self._reader.connection, queries[name], values)


def _both_ends(shares: TouchShares) -> TouchShares:
    """Return the first and the last touches, where there are very many."""
    count = len(shares.touches)
    if count <= 2 * MOST_PER_END:
        return shares
    kept = np.r_[0:MOST_PER_END, count - MOST_PER_END : count]
    return TouchShares(shares.touches[kept], shares.of_event[kept], shares.of_amount[kept])


def _amount(stored: int) -> Decimal | None:
    """Return an amount in the report's currency; None where there is none that counts."""
    if stored == NO_AMOUNT or abs(stored) == LEFT_OUT:
        return None
    return as_money(0 if abs(stored) == ROUNDED_AWAY else stored)
