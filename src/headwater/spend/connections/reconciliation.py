"""What keeps pulled spend from being compared with results: campaigns without visits, and uploaded spend that
may be the same money.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from msgspec import Struct
from psycopg import AsyncConnection

from headwater.database.queries import Queries, fetch_all, fetch_one, make_cursor

queries = Queries(__name__, "reconciliation.sql")

MOST_GAPS = 50


class CampaignGap(Struct, frozen=True):
    """A campaign with spend, of which no visit carries the id or the name."""

    campaign_id: str
    name: str | None
    amount: Decimal
    currency: str


class UnassignedSpend(Struct, frozen=True):
    """Rows of the platform without an account, which may repeat an account's spend."""

    rows: int
    first_day: date
    last_day: date


async def read_campaign_gaps(
    connection: AsyncConnection, space_id: int, source: tuple[str, str], days: tuple[date, date]
) -> list[CampaignGap]:
    """Return the campaigns of an account (`source`: the platform and the account) without visits, the
    costliest first.
    """
    bound = {
        "space_id": space_id,
        "platform": source[0],
        "account_id": source[1],
        "first_day": days[0],
        "last_day": days[1],
        "most": MOST_GAPS,
    }
    return await fetch_all(make_cursor(connection, CampaignGap), queries["campaign_gaps"], bound)


async def read_unassigned_spend(
    connection: AsyncConnection, space_id: int, source: tuple[str, str]
) -> UnassignedSpend | None:
    """Return None if every row of the platform names its account, or the account has no spend."""
    bound = {"space_id": space_id, "platform": source[0], "account_id": source[1]}
    rows, first_day, last_day = await fetch_one(connection, queries["unassigned_spend"], bound)
    return UnassignedSpend(rows, first_day, last_day) if rows else None
