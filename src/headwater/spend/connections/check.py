"""Check an ad account by the calls of a pull: the token, the account, and the spend of two days. Nothing is
stored in the ledger.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated

from msgspec import Meta, Struct
from psycopg import AsyncConnection

from headwater.base.egress.access_tokens import AccessTokens, HttpSender, TokenKeeper
from headwater.database.jobs.due_tasks import AccountKey
from headwater.spaces.currencies import format_money
from headwater.spend.connections import schedule
from headwater.spend.connections.connections import open_connection, replace_refresh_token
from headwater.spend.connections.remedies import find_remedy
from headwater.spend.connections.session import PlatformSession, Waits
from headwater.spend.models import SpendRow
from headwater.spend.platforms.platform import (
    Credentials,
    Days,
    Fault,
    FaultCause,
    ReportRequest,
    SpendAccount,
    SpendPlatform,
)

CHECK_SECONDS = 30.0
_ONE_TRY = Waits(asyncio.sleep, most_tries=1)
"""A person is waiting: a fault is shown, not retried."""

Begin = Callable[[], AbstractAsyncContextManager[AsyncConnection]]


class SpendConnectionCheck(Struct, frozen=True):
    """What a platform answers about an ad account."""

    ok: bool
    account: Annotated[SpendAccount | None, Meta(description="Null if it couldn't be read.")]
    spend: Annotated[
        Decimal | None,
        Meta(description="Spend yesterday and today in the account's currency; null if it couldn't be read."),
    ]
    campaigns: Annotated[int | None, Meta(description="Campaigns with spend on these days.")]
    message: str
    remedy: Annotated[str | None, Meta(description="What to do about a fault.")]


class SealedConnections(Struct, frozen=True):
    """How a check opens a stored connection."""

    begin: Begin
    """Starts a transaction; none is open during calls."""
    urls: Mapping[str, str]
    """The origin of each platform's API."""
    sealing_key: bytes


async def check_connection(
    connections: SealedConnections, egress: HttpSender, row: AccountKey
) -> SpendConnectionCheck:
    """Check a stored connection. Raises NotFound, or Invalid if its tokens or settings can't be used."""

    async def keep_token(_: Credentials, refresh_token: str) -> None:
        async with connections.begin() as connection:
            await replace_refresh_token(connection, row, refresh_token, connections.sealing_key)

    async with connections.begin() as connection:
        platform, credentials = await open_connection(
            connection, row, connections.urls, connections.sealing_key
        )
    return await check_credentials(platform, credentials, egress, keep_token)


async def check_credentials(
    platform: SpendPlatform,
    credentials: Credentials,
    egress: HttpSender,
    keep_token: TokenKeeper[Credentials],
) -> SpendConnectionCheck:
    """Check credentials, which need not be stored, for at most CHECK_SECONDS. `keep_token` gets a refresh
    token that replaces the given one, which then no longer works.
    """
    session = PlatformSession(platform, credentials, (egress, AccessTokens(egress)), _ONE_TRY, keep_token)
    account = None
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            account = await session.run(platform.read_account(credentials))
            rows = await session.run(platform.read_rows(credentials, _ask_for(platform, account)))
    except TimeoutError:
        words = f"{platform.title} did not answer within {CHECK_SECONDS:.0f} seconds."
        return _describe_fault(platform, account, Fault(FaultCause.TEMPORARY, words))
    except Fault as fault:
        return _describe_fault(platform, account, fault)
    return _describe_spend(account, rows)


def _ask_for(platform: SpendPlatform, account: SpendAccount) -> ReportRequest:
    today = schedule.today_of(account, datetime.now(UTC))
    days = Days(today - timedelta(days=1), today)
    return ReportRequest(account, platform.levels[-1], days, platform.limits.page_sizes[0])


def _describe_fault(
    platform: SpendPlatform, account: SpendAccount | None, fault: Fault
) -> SpendConnectionCheck:
    return SpendConnectionCheck(
        ok=False,
        account=account,
        spend=None,
        campaigns=None,
        message=str(fault),
        remedy=find_remedy(platform.name, fault.cause),
    )


def _describe_spend(account: SpendAccount, rows: list[SpendRow]) -> SpendConnectionCheck:
    spend = sum((row.amount for row in rows), Decimal(0))
    campaigns = len({row.campaign_id for row in rows if row.amount})
    if campaigns:
        noun = "campaign" if campaigns == 1 else "campaigns"
        spend_text = f"{campaigns} {noun} spent {format_money(spend, account.currency)} yesterday and today."
    else:
        spend_text = "No spend yesterday and today."
    return SpendConnectionCheck(
        ok=True,
        account=account,
        spend=spend,
        campaigns=campaigns,
        message=f"{account.name or account.id} can be read. {spend_text}",
        remedy=None,
    )
