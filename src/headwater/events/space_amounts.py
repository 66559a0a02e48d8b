"""Convert event amounts to the Space's currency, with the rates and rounding of reports. Only amounts in
other currencies are looked up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from psycopg import AsyncConnection, Connection
from psycopg.sql import SQL, Composable, Composed, Identifier

from headwater.database.bulk_values import array
from headwater.database.queries import Queries, fetch_all
from headwater.spend.rates.counted_amounts import MAX_PAGE_AMOUNT, UNIT, AmountRule, LeftOutReason
from headwater.spend.rates.exchange import RateTable
from headwater.spend.rates.store import load_rates, load_rates_now

queries = Queries(__name__, "space_amounts.sql")

AMOUNT_COLUMNS = queries["amount"]
_PARTS = {"amount": AMOUNT_COLUMNS, "is_foreign": queries["is_foreign"]}
_FOREIGN = queries["among"].format(**_PARTS)
_ALL_AMOUNTS = queries["among"].format(amount=AMOUNT_COLUMNS, is_foreign=SQL("true"))
_MAX_CERTAIN = MAX_PAGE_AMOUNT // UNIT
"""Up to this, an amount in the Space's currency is exact, even if only a page reported it."""


class TwoCurrencies(NamedTuple):
    currency: str
    in_space_currency: Decimal | None

    def add_to(self, line: str) -> str:
        amount = self.in_space_currency
        text = "null" if amount is None else f"{amount:f}"
        members = f'"currency":"{self.currency}","amount_in_space_currency":{text}'
        return f"{line[:-1]},{members}}}"


class EventAmount(NamedTuple):
    event_id: int
    amount: int | None
    currency: str
    space_currency: str
    event_time: datetime
    timezone: str
    """The Space's."""
    from_page: bool
    """True while only a page has reported it."""

    @property
    def day(self) -> date:
        """Return the day in the Space's time zone."""
        return self.event_time.astimezone(ZoneInfo(self.timezone)).date()

    def exchange(self, rates: RateTable) -> int | None:
        """Return ten-thousandths; None if the amount can't be counted."""
        if self.amount is None:
            return None
        rule = AmountRule.for_day(rates, self.day, self.currency, self.space_currency, self.space_currency)
        counted_amount = rule.count(self.amount, from_page=self.from_page)
        return None if isinstance(counted_amount, LeftOutReason) else counted_amount

    def show(self, rates: RateTable) -> TwoCurrencies:
        amount = self.exchange(rates)
        exact_amount = None if amount is None else Decimal(amount) / UNIT
        return TwoCurrencies(self.currency, exact_amount)


async def exchange_amounts(
    connection: AsyncConnection, space_id: int, event_ids: Sequence[int]
) -> dict[str, Any]:
    amounts = await _read(connection, space_id, event_ids, _FOREIGN)
    return _values(amounts, await _load_rates(connection, space_id, amounts))


async def show_amounts(
    connection: AsyncConnection, space_id: int, event_ids: Sequence[int]
) -> dict[int, TwoCurrencies]:
    """Return currencies and converted amounts; deleted events are missing."""
    amounts = await _read(connection, space_id, event_ids, _ALL_AMOUNTS)
    rates = await _load_rates(connection, space_id, amounts)
    return {amount.event_id: amount.show(rates) for amount in amounts}


async def show_amount(connection: AsyncConnection, space_id: int, amount: EventAmount) -> TwoCurrencies:
    return amount.show(await _load_rates(connection, space_id, [amount]))


async def _read(
    connection: AsyncConnection, space_id: int, event_ids: Sequence[int], statement: Composed
) -> list[EventAmount]:
    values = {"space_id": space_id, "event_ids": array(event_ids), "certain": _MAX_CERTAIN}
    return list(map(EventAmount._make, await fetch_all(connection, statement, values)))


async def _load_rates(
    connection: AsyncConnection, space_id: int, amounts: Iterable[EventAmount]
) -> RateTable:
    return await load_rates(connection, space_id, *_days_and_currencies(amounts))


def exchange_in_slices(
    connection: Connection[Any],
    slices: Iterable[Mapping[str, Any]],
    condition: Composable,
    bound: dict[str, Any],
) -> Iterator[dict[str, Any]]:
    """Add the converted amounts to the bound values of each time slice of a selection."""
    statement = queries["of_selection"].format(condition=condition, **_PARTS)
    for time_slice in slices:
        values = {**bound, **time_slice, "certain": _MAX_CERTAIN}
        amounts = list(map(EventAmount._make, connection.execute(statement, values).fetchall()))
        rates = load_rates_now(connection, bound["space_id"], *_days_and_currencies(amounts))
        yield {**time_slice, **_values(amounts, rates)}


def _days_and_currencies(amounts: Iterable[EventAmount]) -> tuple[set[date], set[str]]:
    foreign_amounts = [amount for amount in amounts if amount.currency != amount.space_currency]
    currencies = {code for amount in foreign_amounts for code in (amount.currency, amount.space_currency)}
    return {amount.day for amount in foreign_amounts}, currencies


def _values(amounts: Sequence[EventAmount], rates: RateTable) -> dict[str, Any]:
    exchanged_amounts = (amount.exchange(rates) for amount in amounts)
    return {
        "exchanged_ids": array(amount.event_id for amount in amounts),
        "exchanged_amounts": array("NULL" if amount is None else amount for amount in exchanged_amounts),
    }


def compose_exchange(event: str, *, with_amount: bool) -> dict[str, Composable]:
    """Return SQL parts that add the converted amount; empty if not shown."""
    if not with_amount:
        return {"exchanged": SQL(""), "space_amount": SQL("")}
    return {name: queries[name].format(event=Identifier(event)) for name in ("exchanged", "space_amount")}
