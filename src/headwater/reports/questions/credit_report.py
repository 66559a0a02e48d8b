"""The events behind a figure of a report, with the credit of their touches. The report's own
addition says what all of them come to, and which are on the page; only these are read singly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from psycopg import AsyncConnection

from headwater.attribution.paths.path_data import LEFT_OUT, NO_AMOUNT, ROUNDED_AWAY, Column, IntArray
from headwater.database.bulk_values import array
from headwater.database.queries import Queries, fetch_all
from headwater.http.inputs.pagination import Page, page_of
from headwater.reports.credit_models import (
    CreditFilter,
    CreditsPage,
    CreditsQuery,
    CreditTotals,
    EventCredit,
    TouchCredit,
    TouchTags,
)
from headwater.reports.engine.chosen_events import WHOLE_EVENT
from headwater.reports.engine.left_out_loader import load_left_out
from headwater.reports.engine.measures import plain
from headwater.reports.engine.path_pass import path_reader
from headwater.reports.engine.plan_loader import PlanLoader
from headwater.reports.engine.report_reader import ReportReader, in_thread, open_reader
from headwater.reports.engine.result import PeriodSums
from headwater.reports.models import DateTimeSpan, Measure
from headwater.reports.plan.forms import TOUCHED_EVENTS, TOUCHED_REVENUE, Sum, credit_sum
from headwater.reports.questions.acquisition_loader import load_acquired
from headwater.reports.questions.credit_list import (
    ListedEvents,
    ListRequest,
    SharedOut,
    TouchShares,
    list_piece,
)
from headwater.reports.validation import check_credits
from headwater.sources.catalogue import channel_of

queries = Queries(__name__, "credits.sql")

MOST_PER_END = 25
"""Touches that are listed of each end of an event's."""


async def query_credits(connection: AsyncConnection, space_id: int, query: CreditsQuery) -> CreditsPage:
    """Return one page of the events behind a figure. Needs a transaction in which nothing has been
    read yet, on a connection that it may have for CONNECTION_SECONDS.

    Raises Invalid when the query breaks a rule, NotFound without such a Space, and ReportTooLarge
    when it takes longer than SECONDS.
    """
    check_credits(query)
    span = DateTimeSpan(query.start, query.end)
    async with open_reader(connection, space_id) as reader:
        acquired = [await load_acquired(reader, query.report, query.acquired)] if query.acquired else ()
        (planned,) = await PlanLoader(reader, [query.report], acquired).plans(query.report)
        request = ListRequest(query.listed, query.at, query.per_page + 1)
        work = partial(list_piece, planned.plan, request)
        read = path_reader(reader, [planned.plan])
        pieces = [piece async for piece in reader.pieces(read, planned.days, work)]
        sums = await in_thread(
            PeriodSums.join, query.report, planned.period, [piece.sums for piece in pieces]
        )
        events = ListedEvents.join([piece.events for piece in pieces])
        page = _page(query, events.nearest(request.at, request.most))
        event_ids = np.array([int(line) for line in page.lines], dtype=np.int64)
        await reader.bound_time()
        paths = await reader.in_one_currency(await read.read_live(event_ids))
        paths = planned.plan.scope.kinds.without_other_amounts(paths)
        shares = await in_thread(SharedOut, planned.plan, paths, query.listed)
        rows = await _RowReader(reader, shares).rows()
        return CreditsPage(
            rows=tuple(rows[event_id] for event_id in event_ids.tolist()),
            totals=totals_of(sums, query.model, query.listed),
            credit=query.listed,
            next=page.next,
            previous=page.previous,
            span=span,
            timezone=reader.space.timezone,
            currency=reader.currency,
            fit=planned.plan.scope.fit,
            left_out_money=await load_left_out(reader, planned),
        )


def _page(query: CreditsQuery, events: ListedEvents) -> Page:
    """Return the ids of the events on the page, and the positions of its neighbours."""
    ids: list[int] = events.event_ids.tolist()
    rows = [
        (str(event_id), second, event_id)
        for second, event_id in zip(events.seconds.tolist(), ids, strict=True)
    ]
    return page_of(rows, query.per_page, query.at, tuple)


def totals_of(sums: PeriodSums, model: str, credit: CreditFilter) -> CreditTotals:
    """Return the figures of the report that are those of the whole list."""
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
            nobodys = sums.unattributed(model, credit.reasons)
            return CreditTotals(nobodys[Sum.EVENTS], _money(nobodys.revenue))
    return CreditTotals(
        events,
        _money(amount),
        Fraction(total[credit_sum(Measure.CREDITED_EVENTS, model)], WHOLE_EVENT),
        _money(total[credit_sum(Measure.CREDITED_REVENUE, model)]),
    )


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


class _RowReader:
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
            credited_revenue=_money(int(shares.of_amount.sum())),
            reason=self._shares.reason(event),
            touches=tuple(self._touches(listed, tags)),
            left_out=len(shares.touches) - len(listed.touches),
        )

    def _touches(self, shares: TouchShares, tags: Mapping[int, TouchTags]) -> Iterator[TouchCredit]:
        columns = (Column.TOUCH_SECONDS, Column.SOURCES, Column.TAG_SETS)
        values = [self._paths[column][shares.touches] for column in columns]
        for touch in zip(*values, shares.of_event, shares.of_amount, strict=True):
            second, source_id, tag_set, part, amount = map(int, touch)
            source = self._reader.space.sources.name_of(source_id)
            yield TouchCredit(
                datetime.fromtimestamp(second, UTC),
                source,
                channel_of(source),
                tags.get(tag_set, TouchTags()),
                Fraction(part, self._shares.unit),
                _money(amount),
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
    return _money(0 if abs(stored) == ROUNDED_AWAY else stored)


def _money(amount: int) -> Decimal:
    """Return an amount of ten-thousandths."""
    return plain(Decimal(amount).scaleb(-4))
