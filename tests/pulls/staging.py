"""A connection to a fake platform, pulled by the real engine over real HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from headwater.base.egress.access_tokens import AccessTokens
from headwater.base.egress.client import Egress
from headwater.database.jobs.due_tasks import AccountKey
from headwater.database.pool import Database
from headwater.spaces.encryption import derive_key
from headwater.spend.connections import connections
from headwater.spend.connections.connections import ConnectionRow
from headwater.spend.connections.inputs import read_new
from headwater.spend.connections.pull import PullServices
from headwater.spend.connections.puller import Puller
from headwater.spend.connections.session import Waits
from headwater.spend.platforms.registry import PLATFORMS
from tests.support.factories import Stage
from tests.support.waiting import PATIENCE_SECONDS

SECRET = "a secret of the tests, long enough"
KEY = derive_key(SECRET)
NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
TODAY = NOW.date()


@dataclass
class Pulls:
    """Connections of a Space, pulled at a time that the test chooses."""

    database_url: str
    stage: Stage
    urls: dict[str, str] = field(default_factory=dict[str, str])
    """Platform → the fake platform's origin."""
    time: datetime = NOW
    waits: list[float] = field(default_factory=list[float])
    """The engine's pauses. They take no time in tests."""

    def connect(self, platform: str, settings: dict[str, Any], secrets: dict[str, str]) -> int:
        """Create a connection and return its id."""
        new = read_new({"platform": platform, "settings": settings, "secrets": secrets})

        async def create(database: Database) -> int:
            async with database.transaction() as connection:
                row = await connections.create_connection(connection, self.stage.space_id, new, KEY)
            return row.id

        connection_id = self.run(create)
        self.pull_at(connection_id, self.time)
        return connection_id

    def pull_later(self, connection_id: int, **delay: float) -> None:
        """Advance the time and pull a connection again."""
        self.time += timedelta(**delay)
        self.pull_at(connection_id, self.time)
        self.pull()

    def pull_at(self, connection_id: int, moment: datetime) -> None:
        """Make a connection due at this time."""
        self.stage.connection.execute(
            "UPDATE spend_connections SET next_pull_at = %s, next_wide_pull_at = least(next_wide_pull_at, %s)"
            " WHERE space_id = %s AND id = %s",
            (moment, moment, self.stage.space_id, connection_id),
        )

    def pull(self) -> None:
        """Pull until nothing is due."""

        async def drain(database: Database) -> None:
            async with asyncio.timeout(PATIENCE_SECONDS), Egress(["127.0.0.1"], seconds=5) as egress:
                await self.puller(database, egress).drain()

        self.run(drain)

    def puller(self, database: Database, egress: Egress, stopping: asyncio.Event | None = None) -> Puller:
        services = PullServices(
            database=database,
            egress=egress,
            tokens=AccessTokens(egress),
            platforms=PLATFORMS,
            urls={**dict.fromkeys(PLATFORMS, "https://unset.example"), **self.urls},
            sealing_key=KEY,
            waits=Waits(self._wait, self.clock),
        )
        return Puller(services, stopping or asyncio.Event())

    def clock(self) -> float:
        return self.time.timestamp()

    def state(self, connection_id: int) -> ConnectionRow:
        async def fetch(database: Database) -> ConnectionRow:
            async with database.connection() as connection:
                return await connections.fetch_connection(connection, self.stage.space_id, connection_id)

        return self.run(fetch)

    def change(self, connection_id: int, **members: Any) -> ConnectionRow:
        async def change(database: Database) -> ConnectionRow:
            async with database.transaction() as connection:
                row = AccountKey(self.stage.space_id, connection_id)
                return await connections.change_connection(connection, row, members, KEY)

        return self.run(change)

    def ledger(self, level: str = "campaign") -> dict[tuple[date, str], Decimal]:
        """Return amounts by day and id of a level, without rows of 0."""
        condition = {"campaign": "adset_id = '' AND ad_id = ''", "ad": "ad_id <> ''"}[level]
        rows = self.stage.connection.execute(
            f"SELECT date, {level}_id, amount FROM spend WHERE space_id = %s AND {condition} AND amount <> 0",
            (self.stage.space_id,),
        )
        return {(day, level_id): amount for day, level_id, amount in rows}

    def total(self) -> Decimal:
        return sum(self.ledger().values(), Decimal(0))

    def rows(self) -> list[tuple[Any, ...]]:
        """Return every row of the ledger, with all values that a platform reports."""
        return self.stage.connection.execute(
            "SELECT date, platform, account_id, campaign_id, adset_id, ad_id, currency, amount, impressions,"
            " clicks, platform_conversions, platform_revenue, timezone FROM spend WHERE space_id = %s"
            " ORDER BY date, campaign_id, adset_id, ad_id",
            (self.stage.space_id,),
        ).fetchall()

    async def _wait(self, seconds: float) -> None:
        self.waits.append(seconds)

    def run(self, work: Callable[[Database], Awaitable[Any]]) -> Any:
        return asyncio.run(self._with_database(work))

    async def _with_database(self, work: Callable[[Database], Awaitable[Any]]) -> Any:
        async with Database(self.database_url) as database:
            return await work(database)
