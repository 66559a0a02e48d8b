"""The amounts of former events in the currency of a report, by the rates of a moment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from psycopg import AsyncConnection

from headwater.history.transitions import EventState
from headwater.history.versions import Family
from headwater.rates.exchange import RateTable
from headwater.rates.store import load_rates
from headwater.reports.conversion import CurrencyExchange

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class FormerAmounts:
    """The amounts of events in some state; 0 where no rate is known."""

    exchange: CurrencyExchange | None
    """None where amounts count for no more than their sign."""
    rates: RateTable

    def __call__(self, state: EventState) -> int | None:
        return 0 if self.is_unknown(state) else self._converted(state)

    def is_unknown(self, state: EventState) -> bool:
        """Return whether an event has an amount of which no rate is known."""
        return state.amount is not None and self._converted(state) is None

    def _converted(self, state: EventState) -> int | None:
        exchange = self.exchange
        if exchange is None or not state.amount:
            return state.amount
        currency = state.currency or exchange.space.currency
        if currency == exchange.target:
            return state.amount
        return exchange.convert(self.rates, state.amount, currency, _day(exchange, state.at))


def _day(exchange: CurrencyExchange, at: int) -> date:
    return (_EPOCH + timedelta(microseconds=at)).astimezone(exchange.space.zone).date()


async def load_former_amounts(
    connection: AsyncConnection, exchange: CurrencyExchange | None, families: Iterable[Family]
) -> FormerAmounts:
    """Return the amounts of the events of families."""
    if exchange is None:
        return FormerAmounts(None, RateTable())
    own, target = exchange.space.currency, exchange.target
    foreign = {
        (each.currency or own, _day(exchange, each.at))
        for family in families
        for each in family.events
        if (each.currency or own) != target
    }
    days, currencies = {day for _, day in foreign}, {currency for currency, _ in foreign}
    rates = await load_rates(
        connection, exchange.space.id, days, currencies | {target}, exchange.at
    )
    return FormerAmounts(exchange, rates)
