"""The events on a page of the list of credits, the credit of their touches, and the totals of all pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any, Self

import numpy as np
from msgspec import Struct

from headwater.attribution.paths.lookup import find_positions
from headwater.attribution.paths.path_data import (
    LEFT_OUT,
    NO_AMOUNT,
    ROUNDED_AWAY,
    BoolArray,
    Column,
    IntArray,
    PathData,
    join_numbers,
)
from headwater.database.bulk_values import array
from headwater.database.queries import Queries, fetch_all
from headwater.http.inputs.pagination import Position
from headwater.reports.engine.addition import BatchSums, add_up_events
from headwater.reports.engine.chosen_events import COUNTS, STATUSES, ChosenEvents, ModelCredit, NoCredit
from headwater.reports.engine.measures import (
    TOUCHED_EVENTS,
    TOUCHED_REVENUE,
    WHOLE_EVENT,
    Sum,
    as_money,
    credit_sum,
)
from headwater.reports.engine.plan import Plan
from headwater.reports.engine.report_reader import ReportReader
from headwater.reports.engine.result import PeriodSums
from headwater.reports.query import Measure
from headwater.sources.catalogue import find_channel


class CreditFilter(StrEnum):
    ALL = "all"
    CREDITED = "credited"
    """A touch that counts has credit."""
    UNATTRIBUTED = "unattributed"
    """The model credits no touch."""
    NO_TOUCH = "no_touch"
    OUTSIDE_WINDOW = "outside_window"
    NOT_COUNTED = "not_counted"
    TOUCHED = "touched"
    """A touch in the window would count, credited or not."""

    @property
    def of_credit(self) -> bool:
        """Return whether the list shows credit beside its events."""
        return self in (CreditFilter.CREDITED, CreditFilter.TOUCHED)

    @property
    def reasons(self) -> tuple[NoCredit, ...]:
        """Empty for other lists."""
        if self is CreditFilter.UNATTRIBUTED:
            return tuple(NoCredit)
        return tuple(reason for reason in NoCredit if reason == self.value)


@dataclass(frozen=True)
class TouchTags:
    """A touch's ad, keyword and landing page. A missing name is taken from the ad catalogue."""

    campaign_id: str | None = None
    campaign_name: str | None = None
    adset_id: str | None = None
    adset_name: str | None = None
    ad_id: str | None = None
    ad_name: str | None = None
    keyword: str | None = None
    landing_page: str | None = None


class TouchCredit(Struct, frozen=True):
    occurred_at: datetime
    """In UTC, to the second."""
    source: str
    channel: str
    tags: TouchTags
    credited_events: Fraction
    credited_revenue: Decimal


class EventCredit(Struct, frozen=True):
    event_id: int
    event_name: str
    configured_name: str
    """The Space's label of the event name."""
    event_time: datetime
    """In UTC."""
    contact_id: int
    contact_name: str | None
    company_id: int | None
    company_name: str | None
    order_id: str | None
    order_name: str | None
    """The order number that people use, such as #1001."""
    is_upsell: bool
    amount: Decimal | None
    """In the list's currency."""
    original_amount: Decimal | None
    original_currency: str
    """As stated by the event."""
    credited_events: Fraction
    """Credited to touches that count."""
    credited_revenue: Decimal
    """The same share of its amount."""
    reason: NoCredit | None
    """None if a touch has credit or only some touches count."""
    touches: tuple[TouchCredit, ...]
    """Credited touches in order; in a list of touched events, all counted touches in the window. Long paths
    keep both ends.
    """
    left_out: int
    """Touches between the ends."""

    @property
    def no_amount(self) -> str:
        """Why reports count no amount, in words."""
        return "No amount" if self.original_amount is None else "No exchange rate, or too large"


class ListedEvents(Struct, frozen=True):
    """Ordered by second and id."""

    seconds: IntArray
    event_ids: IntArray

    @classmethod
    def join(cls, several: Sequence[Self]) -> ListedEvents:
        return ListedEvents(
            join_numbers(piece_events.seconds for piece_events in several),
            join_numbers(piece_events.event_ids for piece_events in several),
        )

    def nearest(self, position: Position | None, limit: int) -> ListedEvents:
        """Return at most `limit` events next to a position, newest first; those before it if it goes
        backward.
        """
        seconds, event_ids = self.seconds, self.event_ids
        is_backward = position is not None and position.backward
        if position is not None:
            second, event_id = position.key
            is_same_second = seconds == second
            is_newer = (seconds > second) | (is_same_second & (event_ids > event_id))
            is_older = (seconds < second) | (is_same_second & (event_ids < event_id))
            indexes = np.flatnonzero(is_newer if is_backward else is_older)
            seconds, event_ids = seconds[indexes], event_ids[indexes]
        if len(seconds) > limit:
            extreme = _select_extreme(seconds, limit, largest=not is_backward)
            seconds, event_ids = seconds[extreme], event_ids[extreme]
        newest_first = np.lexsort((event_ids, seconds))[::-1]
        page = newest_first[-limit:] if is_backward else newest_first[:limit]
        return ListedEvents(seconds[page], event_ids[page])


class ListedBatch(Struct, frozen=True):
    """A batch's sums and the events that may be on the page."""

    sums: BatchSums
    events: ListedEvents


class ListRequest(Struct, frozen=True):
    credit: CreditFilter
    at: Position | None
    limit: int


def list_batch(plan: Plan, request: ListRequest, paths: PathData) -> ListedBatch:
    """Sum a batch, and list its next events."""
    events = ChosenEvents.of(plan.scope, paths)
    chosen_indexes = np.flatnonzero(_are_listed(events, request.credit))
    seconds, event_ids = (
        events.paths[column][chosen_indexes].astype(np.int64) for column in (Column.SECONDS, Column.EVENT_IDS)
    )
    nearest = ListedEvents(seconds, event_ids).nearest(request.at, request.limit)
    return ListedBatch(add_up_events(plan, events), nearest)


def _are_listed(events: ChosenEvents, credit: CreditFilter) -> BoolArray:
    if credit is CreditFilter.ALL:
        return np.ones(events.count, dtype=np.bool_)
    if credit is CreditFilter.TOUCHED:
        is_listed = np.zeros(events.count, dtype=np.bool_)
        is_listed[events.touched.pairs.events] = True
        return is_listed
    statuses = _get_credit(events).statuses
    if credit is CreditFilter.CREDITED:
        return statuses == COUNTS
    return np.isin(statuses, [STATUSES.index(reason) for reason in credit.reasons])


class CreditTotals(Struct, frozen=True):
    events: int
    amount: Decimal
    credited_events: Fraction = Fraction(0)
    credited_revenue: Decimal = Decimal(0)


def compute_totals(sums: PeriodSums, model: str, credit: CreditFilter) -> CreditTotals:
    """Return the figures that equal the list's sums."""
    total = sums.total
    match credit:
        case CreditFilter.TOUCHED:
            events, amount = total[TOUCHED_EVENTS], total[TOUCHED_REVENUE]
        case CreditFilter.ALL:
            events, amount = sums.overall[Sum.EVENTS], sums.overall.revenue
        case CreditFilter.CREDITED:
            credited = sums.credited(model)
            events, amount = credited[Sum.EVENTS], credited.revenue
        case _:
            unattributed_sums = sums.unattributed(model, credit.reasons)
            return CreditTotals(unattributed_sums[Sum.EVENTS], as_money(unattributed_sums.revenue))
    return CreditTotals(
        events,
        as_money(amount),
        Fraction(total[credit_sum(Measure.CREDITED_EVENTS, model)], WHOLE_EVENT),
        as_money(total[credit_sum(Measure.CREDITED_REVENUE, model)]),
    )


class TouchShares(Struct, frozen=True):
    """An event's listed touches, in order."""

    touches: IntArray
    """Indexes among all touches."""
    of_event: IntArray
    """Shares of the event; a whole event is SharesByEvent.unit."""
    of_amount: IntArray
    """Shares of the amount in ten-thousandths."""


class SharesByEvent:
    """The shares of touches by event."""

    def __init__(self, plan: Plan, paths: PathData, credit: CreditFilter) -> None:
        """`paths` has only these events."""
        self.paths = paths
        events = ChosenEvents(plan.scope, paths)
        credited = _get_credit(events)
        self._statuses = credited.statuses
        self._pairs = events.touched.pairs if credit is CreditFilter.TOUCHED else credited.counted_pairs
        event_shares, self.unit = credited.event_shares()
        self._of_events = self._match_shares(credited, event_shares)
        self._of_amounts = self._match_shares(credited, credited.amount_shares())
        self._starts = np.searchsorted(self._pairs.events, np.arange(paths.events + 1))

    def reason(self, event: int) -> NoCredit | None:
        status = STATUSES[int(self._statuses[event])]
        return status if isinstance(status, NoCredit) else None

    def of(self, event: int) -> TouchShares:
        touch_slice = slice(self._starts[event], self._starts[event + 1])
        return TouchShares(
            self._pairs.touches[touch_slice], self._of_events[touch_slice], self._of_amounts[touch_slice]
        )

    def _match_shares(self, credited: ModelCredit, shares: IntArray) -> IntArray:
        """Return the share of each listed touch; 0 if it has no credit."""
        size = self.paths.touches
        pair_keys = credited.credited.events * size + credited.credited.touches
        listed_keys = self._pairs.events * size + self._pairs.touches
        places, credited_too = find_positions(pair_keys, listed_keys)
        matched_shares = np.zeros(len(listed_keys), dtype=np.int64)
        matched_shares[credited_too] = shares[places[credited_too]]
        return matched_shares


def _get_credit(events: ChosenEvents) -> ModelCredit:
    (model,) = events.scope.query.models
    return events.credit(model)


def _select_extreme(seconds: IntArray, limit: int, *, largest: bool) -> IntArray:
    """Return the indexes of the `limit` largest or smallest values, and of ties with the last."""
    if largest:
        return np.flatnonzero(seconds >= np.partition(seconds, -limit)[-limit])
    return np.flatnonzero(seconds <= np.partition(seconds, limit - 1)[limit - 1])


queries = Queries(__name__, "credits.sql")
MOST_PER_END = 25
"""Listed from each end of a path."""


class _Details(Struct, frozen=True):
    event_time: datetime
    order_id: str | None
    order_name: str | None
    configured_name: str
    contact_name: str | None
    company_name: str | None
    original_amount: Decimal | None
    original_currency: str
    is_upsell: bool


class CreditRowReader:
    def __init__(self, reader: ReportReader, shares: SharesByEvent) -> None:
        self._reader, self._shares, self._paths = reader, shares, shares.paths

    async def rows(self) -> dict[int, EventCredit]:
        shares = [self._shares.of(event) for event in range(self._paths.events)]
        listed_shares = [_trim_path(event_shares) for event_shares in shares]
        tags = await self._tags([event_shares.touches for event_shares in listed_shares])
        details = await self._details()
        return {
            event_id: self._row(event, details[event_id], shares[event], listed_shares[event], tags)
            for event, event_id in enumerate(self._paths[Column.EVENT_IDS].tolist())
        }

    def _row(
        self,
        event: int,
        details: _Details,
        shares: TouchShares,
        touch_shares: TouchShares,
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
            is_upsell=details.is_upsell,
            amount=_read_amount(int(paths[Column.AMOUNTS][event])),
            original_amount=details.original_amount,
            original_currency=details.original_currency,
            credited_events=Fraction(int(shares.of_event.sum()), self._shares.unit),
            credited_revenue=as_money(int(shares.of_amount.sum())),
            reason=self._shares.reason(event),
            touches=tuple(self._touches(touch_shares, tags)),
            left_out=len(shares.touches) - len(touch_shares.touches),
        )

    def _touches(self, shares: TouchShares, tags: Mapping[int, TouchTags]) -> Iterator[TouchCredit]:
        columns = (Column.TOUCH_SECONDS, Column.SOURCES, Column.TAG_SETS)
        values = [self._paths[column][shares.touches] for column in columns]
        for touch in zip(*values, shares.of_event, shares.of_amount, strict=True):
            second, source_id, tag_set, units, amount = map(int, touch)
            source = self._reader.space.sources.get_name(source_id)
            yield TouchCredit(
                datetime.fromtimestamp(second, UTC),
                source,
                find_channel(source),
                tags.get(tag_set, TouchTags()),
                Fraction(units, self._shares.unit),
                as_money(amount),
            )

    async def _details(self) -> dict[int, _Details]:
        rows = await self._fetch("events", self._paths[Column.EVENT_IDS])
        return {event_id: _Details(*values) for event_id, *values in rows}

    async def _tags(self, touches: Sequence[IntArray]) -> dict[int, TouchTags]:
        rows = await self._fetch("tag_sets", np.unique(self._paths[Column.TAG_SETS][join_numbers(touches)]))
        return {tag_set: TouchTags(*values) for tag_set, *values in rows}

    async def _fetch(self, name: str, ids: IntArray) -> list[tuple[Any, ...]]:
        values = {"space_id": self._reader.space.id, "ids": array(ids.tolist())}
        return await fetch_all(self._reader.connection, queries[name], values)


def _trim_path(shares: TouchShares) -> TouchShares:
    count = len(shares.touches)
    if count <= 2 * MOST_PER_END:
        return shares
    end_indexes = np.r_[0:MOST_PER_END, count - MOST_PER_END : count]
    return TouchShares(
        shares.touches[end_indexes], shares.of_event[end_indexes], shares.of_amount[end_indexes]
    )


def _read_amount(stored_amount: int) -> Decimal | None:
    if stored_amount == NO_AMOUNT or abs(stored_amount) == LEFT_OUT:
        return None
    return as_money(0 if abs(stored_amount) == ROUNDED_AWAY else stored_amount)
