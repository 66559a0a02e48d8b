"""The amounts of events in their Space's currency, for pages, exports and single events: by the
rates and the rounding that reports have. An amount that is in that currency already stands for
itself, so only the others are looked up and exchanged before their rows are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple

from psycopg import AsyncConnection, Connection
from psycopg.sql import SQL, Composable, Identifier

from headwater.database.bulk_values import array
from headwater.database.queries import Queries, fetch_all
from headwater.identity.senders import Sender
from headwater.rates.exchange import MAX_COUNTED_OF_PAGES, RateTable
from headwater.rates.store import load_rates, load_rates_now

queries = Queries(__name__, "space_amounts.sql")

AMOUNT_COLUMNS = queries["amount"]
"""The columns of a ForeignAmount, of an event `e` and its Space `s`."""
_PARTS = {"amount": AMOUNT_COLUMNS, "is_foreign": queries["is_foreign"]}
_AMONG = queries["among"].format(**_PARTS)
MOST_AT_ONCE = 50_000
"""The events whose amounts an export holds exchanged at once, of some hundred bytes."""
_CERTAIN = MAX_COUNTED_OF_PAGES // 10_000
"""An amount in the Space's currency up to this stands for itself, whoever reported it."""


class ForeignAmount(NamedTuple):
    """An event's amount that is not in the Space's currency, or perhaps too large for sums."""

    event_id: int
    amount: int | None
    """In ten-thousandths."""
    currency: str
    space_currency: str
    day: date
    """On the Space's clock."""
    sender: str | None
    event_time: datetime

    def exchange(self, rates: RateTable) -> int | None:
        """Return the amount in the Space's currency; None where nothing stands for it."""
        if self.amount is None:
            return None
        currencies = self.currency, self.space_currency
        by_page = self.sender == Sender.BROWSER
        return rates.convert(self.amount, currencies, self.day, by_page=by_page)


async def exchange_amounts(
    connection: AsyncConnection, space_id: int, event_ids: Sequence[int]
) -> dict[str, Any]:
    """Return the values by which a statement shows the amounts of some events in the Space's
    currency.
    """
    values = {"space_id": space_id, "event_ids": array(event_ids), "certain": _CERTAIN}
    rows = await fetch_all(connection, _AMONG, values)
    amounts = list(map(ForeignAmount._make, rows))
    rates = await load_rates(connection, space_id, *_days_and_currencies(amounts))
    return _values(amounts, rates)


async def exchange_amount(
    connection: AsyncConnection, space_id: int, amount: ForeignAmount
) -> int | None:
    """Return the amount of one event in the Space's currency, in ten-thousandths."""
    return amount.exchange(await load_rates(connection, space_id, *_days_and_currencies([amount])))


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
        amounts = list(map(ForeignAmount._make, cursor.fetchall()))
        is_last_part = len(amounts) < MOST_AT_ONCE
        start = bound["start"] if is_last_part else amounts[-1].event_time
        rates = load_rates_now(connection, bound["space_id"], *_days_and_currencies(amounts))
        yield {"start": start, "end": end, **_values(amounts, rates)}
        end = start


def _days_and_currencies(amounts: Iterable[ForeignAmount]) -> tuple[set[date], set[str]]:
    foreign = [each for each in amounts if each.currency != each.space_currency]
    currencies = {code for each in foreign for code in (each.currency, each.space_currency)}
    return {each.day for each in foreign}, currencies


def _values(amounts: Sequence[ForeignAmount], rates: RateTable) -> dict[str, Any]:
    worths = (each.exchange(rates) for each in amounts)
    return {
        "exchanged_ids": array(each.event_id for each in amounts),
        "exchanged_amounts": array("NULL" if worth is None else worth for worth in worths),
    }


def exchanged(event: str, *, is_shown: bool) -> dict[str, Composable]:
    """Return the parts of a statement that give its events, under a name, their amount in the
    Space's currency; empty ones where it is not shown.
    """
    if not is_shown:
        return {"exchanged": SQL(""), "space_amount": SQL("")}
    return {
        name: queries[name].format(event=Identifier(event))
        for name in ("exchanged", "space_amount")
    }
