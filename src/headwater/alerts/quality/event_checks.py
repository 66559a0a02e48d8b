"""Findings about events: orders without a visit, repeats, currencies, times."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from msgspec import Struct
from psycopg import AsyncConnection
from psycopg.rows import namedtuple_row

from headwater.alerts.quality.models import (
    Finding,
    FindingExample,
    FindingKind,
    FindingPart,
    OrderShares,
    Sample,
)
from headwater.database.queries import Queries, fetch_all, fetch_one
from headwater.events.accepted import SALES_EVENTS
from headwater.http.inputs.timerange import TimeRange, bind_zone
from headwater.spaces.currencies import format_money
from headwater.spaces.models import Space
from headwater.spend.rates.counted_amounts import AmountRule, LeftOutReason
from headwater.spend.rates.store import load_rates

queries = Queries(__name__, "events.sql")

MOST_EVENTS = 10_000
MOST_ORDERS = 5_000
MOST_EXAMPLES = 5
LATE = timedelta(days=7)
AHEAD = timedelta(minutes=5)
WAITED = timedelta(days=30)
"""A refund may wait this long for its order."""
APART = timedelta(minutes=10)
"""Equal amounts of a contact within this time are probably one order."""


class EventFindings(Struct, frozen=True):
    sample: Sample
    orders: OrderShares
    findings: tuple[Finding, ...]


class EventChecks:
    def __init__(self, connection: AsyncConnection, space: Space, period: TimeRange) -> None:
        self._connection, self._space, self._period = connection, space, period
        self._values: dict[str, Any] = {
            "space_id": space.id,
            "start": period.start,
            "end": period.end,
            "most": MOST_EVENTS,
            "examples": MOST_EXAMPLES,
            "sales": list(SALES_EVENTS),
            "currency": space.currency,
            "late": LATE,
            "ahead": AHEAD,
            "apart": APART,
        }

    async def run(self) -> EventFindings:
        sample, orders = await read_orders(self._connection, self._space, self._period)
        missing_counts = orders.orders - orders.with_visit, orders.orders - orders.with_email
        return EventFindings(
            sample,
            orders,
            (
                Finding(FindingKind.ORDERS_WITHOUT_VISIT, missing_counts[0], examples=orders.without_visit),
                Finding(FindingKind.ORDERS_WITHOUT_EMAIL, missing_counts[1], examples=orders.without_email),
                await self._left_out_money(),
                await self._make_finding(FindingKind.DUPLICATE_ORDERS, "repeats"),
                await self._refunds(),
                await self._make_finding(FindingKind.LATE_EVENTS, "late"),
                await self._make_finding(FindingKind.FUTURE_EVENTS, "future"),
            ),
        )

    async def _make_finding(self, kind: FindingKind, statement: str) -> Finding:
        count, ids = await fetch_one(self._connection, queries[statement], self._values)
        is_bounded = kind is FindingKind.FUTURE_EVENTS and count >= MOST_EVENTS
        return Finding(kind, count, is_bounded, await self._examples(kind, ids or []))

    async def _left_out_money(self) -> Finding:
        space_currency, kind = self._space.currency, FindingKind.LEFT_OUT_MONEY
        values = self._values | bind_zone(self._space.zone)
        rows = await fetch_all(self._connection, queries["uncertain_amounts"], values)
        days, currencies = {row[1] for row in rows}, {row[0] for row in rows} | {space_currency}
        rates = await load_rates(self._connection, self._space.id, days, currencies)
        left_out: dict[tuple[str, LeftOutReason], list[int]] = {}
        for currency, day, from_page, ids, amounts in rows:
            rule = AmountRule.for_day(rates, day, currency, space_currency, space_currency)
            for event_id, counted_amount in zip(
                ids, rule.count_all(amounts, from_page=from_page), strict=True
            ):
                if isinstance(counted_amount, LeftOutReason):
                    left_out.setdefault((currency, counted_amount), []).append(event_id)
        parts = [
            FindingPart(
                f"{currency}: {reason.words}",
                len(ids),
                await self._examples(kind, sorted(ids, reverse=True)[:MOST_EXAMPLES]),
            )
            for (currency, reason), ids in sorted(left_out.items(), key=lambda item: -len(item[1]))
        ]
        return Finding(kind, sum(row.count for row in parts), parts=tuple(parts))

    async def _refunds(self) -> Finding:
        """Find refunds that have waited too long, in any period."""
        values = {"space_id": self._space.id, "waited": WAITED, "most": MOST_EVENTS}
        rows = await fetch_all(self._connection, queries["refunds"], values)
        examples = tuple(
            FindingExample(f"order {order_id}, {_money_back(amounts, self._space.currency)}", waiting_since)
            for order_id, waiting_since, amounts in rows[:MOST_EXAMPLES]
        )
        kind = FindingKind.REFUNDS_WITHOUT_ORDER
        return Finding(kind, len(rows), len(rows) >= MOST_EVENTS, examples)

    async def _examples(self, kind: FindingKind, ids: Iterable[int]) -> tuple[FindingExample, ...]:
        event_ids = list(ids)
        if not event_ids:
            return ()
        cursor = self._connection.cursor(row_factory=namedtuple_row)
        values = {"space_id": self._space.id, "ids": event_ids}
        rows: list[Any] = await fetch_all(cursor, queries["examples"], values)
        by_id = {row.id: row for row in rows}
        return tuple(
            FindingExample(
                _text(kind, by_id[event_id], self._space.currency),
                by_id[event_id].event_time,
                event_id,
                by_id[event_id].contact_id,
            )
            for event_id in event_ids
            if event_id in by_id
        )


async def read_orders(
    connection: AsyncConnection, space: Space, period: TimeRange
) -> tuple[Sample, OrderShares]:
    """Return the checked events, and the latest orders' shares with a visit and with an e-mail address."""
    values = {
        "space_id": space.id,
        "start": period.start,
        "end": period.end,
        "most": MOST_EVENTS,
        "most_orders": MOST_ORDERS,
        "examples": MOST_EXAMPLES,
    }
    row = await fetch_one(connection, queries["orders"], values)
    events, since, orders, with_visit, with_email, without_visit, without_email = row
    shares = OrderShares(
        orders,
        with_visit,
        with_email,
        orders < MOST_ORDERS,
        _orders(without_visit, space.currency),
        _orders(without_email, space.currency),
    )
    return Sample(events, since, events < MOST_EVENTS), shares


async def read_reasons(connection: AsyncConnection, space_id: int) -> tuple[FindingPart, ...]:
    """Return the most frequent reasons first."""
    values = {"space_id": space_id, "most": MOST_EVENTS, "examples": MOST_EXAMPLES}
    rows = await fetch_all(connection, queries["rejected"], values)
    return tuple(
        FindingPart(f"{reason.replace('_', ' ')}: {detail}", count) for reason, detail, count in rows
    )


def _orders(rows: list[dict[str, Any]] | None, currency: str) -> tuple[FindingExample, ...]:
    return tuple(
        FindingExample(
            _money(row["amount"], row["currency"] or currency),
            datetime.fromisoformat(row["event_time"]),
            row["id"],
            row["contact_id"],
        )
        for row in rows or []
    )


def _money(amount: Decimal | float | None, currency: str) -> str:
    return "no amount" if amount is None else format_money(amount, currency)


def _money_back(amounts: list[tuple[str, str | None]], currency: str) -> str:
    return " and ".join(
        format_money(Decimal(amount), own_currency or currency) for amount, own_currency in amounts
    )


def _text(kind: FindingKind, row: Any, currency: str) -> str:
    amount = None if row.amount is None else format_money(row.amount, row.currency or currency)
    order = None if row.order_id is None else f"order {row.order_id}"
    delay_text = None
    if kind is FindingKind.LATE_EVENTS:
        delay_text = f"{(row.received_at - row.event_time).days} days late"
    return ", ".join(filter(None, (row.event_name, order, amount, delay_text)))
