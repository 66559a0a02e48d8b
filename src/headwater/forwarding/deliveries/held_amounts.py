"""What a platform has of the orders it was sent, beside what they are worth now.

sent 100.00 - corrected 20.00 = at the platform 80.00
your orders     75.00
overcounted      5.00, of it 5.00 waiting for a correction
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from headwater.database.queries import Queries, fetch_all
from headwater.forwarding.deliveries.corrections import HELD_AMOUNT, ORDER_AMOUNT, list_accepted
from headwater.forwarding.deliveries.delivery_counts import MOST_DAYS, find_span
from headwater.http.answers import DataList
from headwater.http.inputs.timerange import TimeRange

queries = Queries(__name__, "held_amounts.sql")
_AMOUNTS = queries["amounts"].format(held=HELD_AMOUNT, worth=ORDER_AMOUNT)


class HeldAmount(Struct, frozen=True):
    """What a platform has of the orders in one currency."""

    currency: str
    conversions: Annotated[int, Meta(description="Conversions that the platform accepted.")]
    sent: Annotated[Decimal, Meta(description="Their amounts when they were sent.")]
    corrected: Annotated[
        Decimal, Meta(description="What accepted corrections took off; negative if they added.")
    ]
    ledger: Annotated[Decimal, Meta(description="Their amounts now, minus refunds. Deleted events are 0.")]
    overcounted: Annotated[Decimal, Meta(description="`sent` minus `corrected` minus `ledger`.")]
    waiting: Annotated[Decimal, Meta(description="The part of `overcounted` that can still be corrected.")]


class HeldAmountList(DataList[HeldAmount], frozen=True):
    """What a platform has of the orders that it was sent in the last 31 days."""


async def sum_held_amounts(
    connection: AsyncConnection, space_id: int, destination_id: int, platform: str
) -> list[HeldAmount]:
    """Return sums by currency over the deliveries of the last MOST_DAYS."""
    end = datetime.now(UTC) + timedelta(days=1)
    time = TimeRange(end - timedelta(days=MOST_DAYS), end)
    first_id, last_id = await find_span(connection, space_id, destination_id, time)
    values = {
        "space_id": space_id,
        "destination_id": destination_id,
        "platforms": list_accepted(platform),
        "start": time.start,
        "first_id": first_id,
        "last_id": last_id,
    }
    cursor = connection.cursor(row_factory=dict_row)
    return msgspec.convert(await fetch_all(cursor, _AMOUNTS, values), list[HeldAmount])
