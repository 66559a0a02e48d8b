"""Compare another tool's list of orders with ours, order by order, so that every difference has a reason.

Amounts are in the Space's currency. The steps lead from the list's totals to those of `GET /reports`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from functools import reduce
from typing import NamedTuple

from msgspec import Struct
from psycopg import AsyncConnection

from headwater.database.queries import Queries, fetch_all
from headwater.events.space_amounts import show_amounts
from headwater.http.errors import Invalid
from headwater.http.inputs.timerange import whole_days
from headwater.reports.questions.platform_comparison import Count
from headwater.spaces.models import Space

queries = Queries(__name__, "order_comparison.sql")

MOST_ORDERS = 100_000
"""Rows of a list, and sales of its period."""
TOO_MANY = f"has more than {MOST_ORDERS:,} orders: choose a shorter period."


class OrderStep(StrEnum):
    """The reason for a difference between two totals, in order."""

    REPEATED = "repeated"
    """The list has the order twice."""
    NOT_HERE = "not_here"
    """Only the list has the order."""
    OTHER_DAYS = "other_days"
    """Here the order has a day outside the period."""
    AMOUNTS = "amounts"
    """Both have the order, with different amounts."""
    NOT_LISTED = "not_listed"
    """Only we have the order."""
    WITHOUT_ID = "without_id"
    """Our orders without an id, which cannot be looked for."""
    UPSELLS = "upsells"
    REFUNDS = "refunds"


class ListedOrder(NamedTuple):
    """An order of the other tool."""

    order_id: str
    amount: Decimal
    """0 if the list leaves it out."""


class Sale(NamedTuple):
    """An event of ours: an order, unless it is a refund or an upsell."""

    order_id: str | None
    order_name: str | None
    is_refund: bool
    is_upsell: bool
    amount: Decimal
    """0 where reports count none."""


class OrderDifference(Struct, frozen=True):
    """An order that is not the same in both."""

    order_id: str
    step: OrderStep
    listed: Decimal | None
    """None if the list lacks it."""
    ours: Decimal | None
    """None if we lack it in the period."""


class OrderComparison(Struct, frozen=True):
    start: date
    end: date
    """The last day."""
    currency: str
    listed: Count
    steps: tuple[tuple[OrderStep, Count], ...]
    """They add up from `listed` to `ours`."""
    ours: Count
    same: int
    """Orders with the same amount in both."""
    differences: tuple[OrderDifference, ...]


@dataclass
class _Ledger:
    """Adds up the steps."""

    changes: dict[OrderStep, Count]
    differences: list[OrderDifference]

    def add(self, step: OrderStep, orders: int, revenue: Decimal) -> None:
        self.changes[step] = self.changes[step].plus(Count(Decimal(orders), revenue))

    def note(self, difference: OrderDifference, orders: int) -> None:
        revenue = (difference.ours or Decimal(0)) - (difference.listed or Decimal(0))
        self.add(difference.step, orders, revenue)
        self.differences.append(difference)


#     list                   our period                step
#     1001   50.00           1001 (#A1)   50.00        the same
#     1001   50.00                                     repeated      -1   -50.00
#     1002   80.00           1002         72.00        amounts        0    -8.00
#     1003   20.00           (on another day)          other_days    -1   -20.00
#     1004   10.00                                     not_here      -1   -10.00
#                            1005         30.00        not_listed    +1   +30.00
#                            refund of 1001  -50.00    refunds        0   -50.00
def compare_lists(
    listed_orders: Sequence[ListedOrder], sales: Sequence[Sale], other_days: Iterable[str]
) -> tuple[tuple[tuple[OrderStep, Count], ...], int, tuple[OrderDifference, ...]]:
    """Return the steps, the number of orders that are the same, and the others, by step. An order is found
    by its id or by its name, `#1001` also as `1001`. Pure.
    """
    ledger = _Ledger({step: Count() for step in OrderStep}, [])
    orders = [sale for sale in sales if not sale.is_refund and not sale.is_upsell]
    matched_positions = _compare_listed(ledger, listed_orders, orders, set(map(normalize_order, other_days)))
    same_count = len(matched_positions) - sum(
        difference.step is OrderStep.AMOUNTS for difference in ledger.differences
    )
    for position, order in enumerate(orders):
        name = order.order_id or order.order_name
        if name is None:
            ledger.add(OrderStep.WITHOUT_ID, 1, order.amount)
        elif position not in matched_positions:
            ledger.note(OrderDifference(name, OrderStep.NOT_LISTED, None, order.amount), 1)
    for sale in sales:
        if sale.is_refund:
            ledger.add(OrderStep.REFUNDS, 0, sale.amount)
        elif sale.is_upsell:
            ledger.add(OrderStep.UPSELLS, 0, sale.amount)
    ranks = {step: rank for rank, step in enumerate(OrderStep)}
    differences = sorted(ledger.differences, key=lambda difference: ranks[difference.step])
    return tuple(ledger.changes.items()), same_count, tuple(differences)


def _compare_listed(
    ledger: _Ledger, listed_orders: Sequence[ListedOrder], orders: Sequence[Sale], elsewhere: set[str]
) -> set[int]:
    """Return the places of our orders that the list has."""
    position_by_key = _index_orders(orders)
    matched_positions: set[int] = set()
    keys: set[str] = set()
    for order_id, amount in listed_orders:
        key = normalize_order(order_id)
        position = position_by_key.get(key)
        if key in keys or position in matched_positions:
            ledger.note(OrderDifference(order_id, OrderStep.REPEATED, amount, None), -1)
        elif position is None:
            step = OrderStep.OTHER_DAYS if key in elsewhere else OrderStep.NOT_HERE
            ledger.note(OrderDifference(order_id, step, amount, None), -1)
        else:
            matched_positions.add(position)
            own_amount = orders[position].amount
            if own_amount != amount:
                ledger.note(OrderDifference(order_id, OrderStep.AMOUNTS, amount, own_amount), 0)
        keys.add(key)
    return matched_positions


def normalize_order(text: str) -> str:
    """Return an order's id or name as both sides write it."""
    return text.strip().removeprefix("#").casefold()


def _index_orders(orders: Sequence[Sale]) -> dict[str, int]:
    """Return the place of each id and name. An id has priority over another order's name."""
    position_by_key: dict[str, int] = {}
    for texts in ([order.order_id for order in orders], [order.order_name for order in orders]):
        for position, text in enumerate(texts):
            if text:
                position_by_key.setdefault(normalize_order(text), position)
    return position_by_key


async def compare_orders(
    connection: AsyncConnection, space: Space, listed_orders: Sequence[ListedOrder], days: tuple[date, date]
) -> OrderComparison:
    """Compare a list with the orders from the first to the last of `days`, in a transaction that has not
    begun to read. Raises Invalid naming `period`.
    """
    await connection.execute(queries["snapshot"])
    sales = await _load_sales(connection, space, days)
    own_keys = {normalize_order(text) for sale in sales for text in (sale.order_id, sale.order_name) if text}
    missing_ids = {
        entry.order_id for entry in listed_orders if normalize_order(entry.order_id) not in own_keys
    }
    other_days = await _find_other_days(connection, space.id, missing_ids)
    steps, same_count, differences = compare_lists(listed_orders, sales, other_days)
    total = Count(Decimal(len(listed_orders)), sum((entry.amount for entry in listed_orders), Decimal(0)))
    own_count = reduce(Count.plus, (change for _, change in steps), total)
    return OrderComparison(*days, space.currency, total, steps, own_count, same_count, differences)


async def _load_sales(connection: AsyncConnection, space: Space, days: tuple[date, date]) -> list[Sale]:
    period = whole_days(*days, space.zone)
    values = {"space_id": space.id, "start": period.start, "end": period.end, "limit": MOST_ORDERS + 1}
    rows = await fetch_all(connection, queries["sales_of_period"], values)
    if len(rows) > MOST_ORDERS:
        raise Invalid({"period": [f"The period {TOO_MANY}"]})
    amounts = await show_amounts(connection, space.id, [row[0] for row in rows])
    return [
        Sale(order_id, name, bool(is_refund), is_upsell, amounts[event_id].in_space_currency or Decimal(0))
        for event_id, order_id, name, is_refund, is_upsell in rows
    ]


async def _find_other_days(connection: AsyncConnection, space_id: int, missing_ids: set[str]) -> list[str]:
    if not missing_ids:
        return []
    values = {"space_id": space_id, "keys": sorted(_spellings(missing_ids))}
    rows = await fetch_all(connection, queries["orders_of_other_days"], values)
    return [text for row in rows for text in row if text]


def _spellings(texts: Iterable[str]) -> Iterator[str]:
    """Yield each id as it may be stored: shops name an order `#1001`, other tools 1001."""
    for text in texts:
        number = text.strip().removeprefix("#")
        yield from (number, f"#{number}")
