"""The amounts of former events in the currency of a report, by the rates of a moment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from psycopg import AsyncConnection

from headwater.attribution.history.transitions import EventState
from headwater.attribution.history.versions import EventVersion, Family
from headwater.reports.engine.conversion import CurrencyExchange, stored_amount
from headwater.reports.left_out_money import LeftOutAmounts
from headwater.spaces.models import Space
from headwater.spend.rates.counted_amounts import Counted, LeftOutReason
from headwater.spend.rates.exchange import RateTable
from headwater.spend.rates.store import load_rates

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class FormerAmounts:
    """The amounts of events in some state, as the column of amounts has them."""

    exchange: CurrencyExchange | None
    """None where amounts count for no more than their sign."""
    rates: RateTable

    def __call__(self, state: EventState) -> int | None:
        if self.exchange is None or not state.amount:
            return state.amount
        return stored_amount(state.amount, self._count(self.exchange, state))

    def left_out(self, states: Mapping[int, EventState]) -> LeftOutAmounts:
        """Return those of some events, by their ids, whose amounts are left out."""
        by_kind: dict[tuple[str, LeftOutReason], list[tuple[int, int, date]]] = {}
        for event_id, state in states.items():
            if self.exchange is not None and state.amount:
                currency, day = _place(self.exchange.space, state)
                counted = self._count(self.exchange, state)
                if isinstance(counted, LeftOutReason):
                    by_kind.setdefault((currency, counted), []).append((event_id, state.amount, day))
        return LeftOutAmounts.of(by_kind)

    def _count(self, exchange: CurrencyExchange, state: EventState) -> Counted:
        rule = exchange.rule(self.rates, *_place(exchange.space, state))
        return rule.count(state.amount or 0, from_page=state.from_page)


def _place(space: Space, state: EventState | EventVersion) -> tuple[str, date]:
    """Return the currency and the day, on the Space's clock, of an event."""
    moment = _EPOCH + timedelta(microseconds=state.at)
    return state.currency or space.currency, moment.astimezone(space.zone).date()


async def load_former_amounts(
    connection: AsyncConnection, exchange: CurrencyExchange | None, families: Iterable[Family]
) -> FormerAmounts:
    """Return the amounts of the events of families."""
    if exchange is None:
        return FormerAmounts(None, RateTable())
    space, target = exchange.space, exchange.target
    foreign = {
        _place(space, event)
        for family in families
        for event in family.events
        if target != space.currency or (event.currency or target) != target
    }
    days, currencies = {day for _, day in foreign}, {currency for currency, _ in foreign}
    rates = await load_rates(connection, space.id, days, currencies | {target, space.currency}, exchange.at)
    return FormerAmounts(exchange, rates)
