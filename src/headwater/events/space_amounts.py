"""The amounts of events in their Space's currency, for pages, exports and single events: by the
rates and the rounding that reports have. An amount that is in that currency already stands for
itself, so only the others are looked up and exchanged before their rows are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from psycopg import AsyncConnection, Connection
from psycopg.sql import SQL, Composable, Composed, Identifier

from headwater.database.bulk_values import array
from headwater.database.queries import Queries, fetch_all
from headwater.spend.rates.counted_amounts import MAX_PAGE_AMOUNT, UNIT, AmountRule, LeftOutReason
from headwater.spend.rates.exchange import RateTable
from headwater.spend.rates.store import load_rates, load_rates_now

queries = Queries(__name__, "space_amounts.sql")

AMOUNT_COLUMNS = queries["amount"]
"""The columns of an EventAmount, of an event `e` and its Space `s`."""
_PARTS = {"amount": AMOUNT_COLUMNS, "is_foreign": queries["is_foreign"]}
_FOREIGN = queries["among"].format(**_PARTS)
_EVERY = queries["among"].format(amount=AMOUNT_COLUMNS, is_foreign=SQL("true"))
MOST_AT_ONCE = 50_000
"""The events whose amounts an export holds exchanged at once, of some hundred bytes."""
_CERTAIN = MAX_PAGE_AMOUNT // UNIT
"""An amount in the Space's currency up to this stands for itself, whoever reported it."""


class TwoCurrencies(NamedTuple):
    """The currency of an event's amount, and the amount in the Space's currency."""

    currency: str
    in_space_currency: Decimal | None

    def add_to(self, line: str) -> str:
        """Return a JSON object with these as its last members."""
        amount = self.in_space_currency
        text = "null" if amount is None else f"{amount:f}"
        members = f'"currency":"{self.currency}","amount_in_space_currency":{text}'
        return f"{line[:-1]},{members}}}"


class EventAmount(NamedTuple):
    """An event's amount, and what it is exchanged by."""

    event_id: int
    amount: int | None
    """In ten-thousandths."""
    currency: str
    space_currency: str
    day: date
    """On the Space's clock."""
    from_page: bool
    """True while only a page has reported it."""
    event_time: datetime

    def exchange(self, rates: RateTable) -> int | None:
        """Return the amount in the Space's currency; None where nothing stands for it."""
        if self.amount is None:
            return None
        own = self.space_currency
        rule = AmountRule.of(rates, self.day, self.currency, own, own)
        counted = rule.count(self.amount, from_page=self.from_page)
        return None if isinstance(counted, LeftOutReason) else counted

    def show(self, rates: RateTable) -> TwoCurrencies:
        """Return what is shown of it."""
        amount = self.exchange(rates)
        exact = None if amount is None else Decimal(amount) / UNIT
        return TwoCurrencies(self.currency, exact)


async def exchange_amounts(
    connection: AsyncConnection, space_id: int, event_ids: Sequence[int]
) -> dict[str, Any]:
    """Return the values by which a statement shows the amounts of some events in the Space's
    currency.
    """
    amounts = await _read(connection, space_id, event_ids, _FOREIGN)
    return _values(amounts, await _load_rates(connection, space_id, amounts))


async def show_amounts(
    connection: AsyncConnection, space_id: int, event_ids: Sequence[int]
) -> dict[int, TwoCurrencies]:
    """Return the currency of some events, and their amount in the Space's. A deleted event has
    none.
    """
    amounts = await _read(connection, space_id, event_ids, _EVERY)
    rates = await _load_rates(connection, space_id, amounts)
    return {each.event_id: each.show(rates) for each in amounts}


async def show_amount(connection: AsyncConnection, space_id: int, amount: EventAmount) -> TwoCurrencies:
    """Return the currency of one event, and its amount in the Space's."""
    return amount.show(await _load_rates(connection, space_id, [amount]))


async def _read(
    connection: AsyncConnection, space_id: int, event_ids: Sequence[int], statement: Composed
) -> list[EventAmount]:
    values = {"space_id": space_id, "event_ids": array(event_ids), "certain": _CERTAIN}
    return list(map(EventAmount._make, await fetch_all(connection, statement, values)))


async def _load_rates(
    connection: AsyncConnection, space_id: int, amounts: Iterable[EventAmount]
) -> RateTable:
    return await load_rates(connection, space_id, *_days_and_currencies(amounts))


def exchange_in_parts(
    connection: Connection[Any], only: Composable, bound: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the same for the events of a selection, newest first, a part of its time after another:
    each with the `start` and `end` of that part, so that memory holds a bounded number of amounts.
    """
    latest = queries["latest"].format(only=only, **_PARTS)
    end, is_last_part = bound["end"], False
    while not is_last_part:
        values = {**bound, "end": end, "certain": _CERTAIN, "limit": MOST_AT_ONCE}
        cursor = connection.execute(latest, values)
        amounts = list(map(EventAmount._make, cursor.fetchall()))
        is_last_part = len(amounts) < MOST_AT_ONCE
        start = bound["start"] if is_last_part else amounts[-1].event_time
        rates = load_rates_now(connection, bound["space_id"], *_days_and_currencies(amounts))
        yield {"start": start, "end": end, **_values(amounts, rates)}
        end = start


def _days_and_currencies(amounts: Iterable[EventAmount]) -> tuple[set[date], set[str]]:
    foreign = [each for each in amounts if each.currency != each.space_currency]
    currencies = {code for each in foreign for code in (each.currency, each.space_currency)}
    return {each.day for each in foreign}, currencies


def _values(amounts: Sequence[EventAmount], rates: RateTable) -> dict[str, Any]:
    worths = (each.exchange(rates) for each in amounts)
    return {
        "exchanged_ids": array(each.event_id for each in amounts),
        "exchanged_amounts": array("NULL" if worth is None else worth for worth in worths),
    }


def exchanged(event: str, *, with_amount: bool) -> dict[str, Composable]:
    """Return the parts of a statement that give its events, under a name, their amount in the
    Space's currency; empty ones where it is not shown.
    """
    if not with_amount:
        return {"exchanged": SQL(""), "space_amount": SQL("")}
    return {name: queries[name].format(event=Identifier(event)) for name in ("exchanged", "space_amount")}
