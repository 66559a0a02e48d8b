"""Pull the spend of one connection: the days that may still change, then older days of a new connection.

Each report is stored with its progress in one transaction. So a pull that is killed anywhere is repeated from
there, and a repeated report changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

import msgspec
import structlog
from msgspec import Struct, field
from psycopg import AsyncConnection

from headwater.base.egress.access_tokens import AccessTokens, HttpSender
from headwater.base.failpoints import failpoint
from headwater.database.jobs.due_tasks import AccountKey, AccountLease, next_turn, renewed_lease
from headwater.database.jobs.lease import LeaseLostError
from headwater.database.pool import Database
from headwater.database.queries import Queries, fetch_all
from headwater.spaces.encryption import Unsealable
from headwater.spend.connections import leases, schedule
from headwater.spend.connections.comparison import StoredRow, choose_rows
from headwater.spend.connections.counters import COMPLETE, LOST, count_pull, count_rows
from headwater.spend.connections.leases import LeasedConnection
from headwater.spend.connections.session import PlatformSession, Waits
from headwater.spend.ledger import IS_COMPLETE, put_pulled, put_row_names
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

queries = Queries(__name__, "pulls.sql")
_STORED_ROWS = queries["stored_rows"].format(complete=IS_COMPLETE)

MOST_ROWS_STORED = 5_000
"""Per statement."""
STORE_SECONDS = 60.0
"""For the transaction that stores a report."""

log = structlog.get_logger()


class PullServices(Struct, frozen=True):
    """What pulls share."""

    database: Database
    egress: HttpSender
    tokens: AccessTokens
    platforms: dict[str, SpendPlatform]
    urls: dict[str, str]
    """The origin of each platform's API."""
    sealing_key: bytes
    waits: Waits
    storing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One report is stored at a time, because transactions of the same Space would wait for each other."""


class Pull:
    """One pull of a leased connection."""

    def __init__(self, services: PullServices, lease: AccountLease, leased: LeasedConnection) -> None:
        self._services, self._lease, self._leased = services, lease, leased
        self._waits = services.waits

    async def run(self) -> None:
        """Store what the platform reports, or the fault, and release the lease."""
        renew = leases.queries["renew"]
        async with renewed_lease(self._services.database, renew, self._lease.values()):
            try:
                await self._pull_or_note_fault()
            except LeaseLostError:
                count_pull(self._leased.platform, LOST)
            async with self._services.database.connection() as connection:
                await leases.release_lease(connection, self._lease)

    async def _pull_or_note_fault(self) -> None:
        try:
            await self._pull()
            count_pull(self._leased.platform, COMPLETE)
        except Fault as fault:
            await self._note_fault(fault)
            count_pull(self._leased.platform, fault.cause)

    async def _pull(self) -> None:
        platform, credentials = self._open()
        session = PlatformSession(
            platform,
            credentials,
            (self._services.egress, self._services.tokens),
            self._waits,
            self._keep_token,
        )
        started_at = self._read_clock()
        account = await session.run(platform.read_account(credentials))
        reports = _Reports(platform, credentials, session, account)
        is_wide = self._leased.next_wide_pull_at <= started_at
        pulled_at = self._leased.pulled_at
        last_pull = None if pulled_at is None else schedule.today_of(account, pulled_at)
        today = schedule.today_of(account, started_at)
        window = schedule.window_of(platform.limits, today, last_pull, is_wide=is_wide)
        history = schedule.history_of(platform.limits, window)
        async with self._services.database.transaction() as connection:
            await leases.lock_leased(connection, self._lease)
            oldest, until = await leases.put_account(connection, self._lease, account, history)
        await self._pull_window(reports, window, is_wide=is_wide)
        if oldest is not None and until is not None and oldest < until:
            history_start = oldest if platform.limits.keeps_older else max(oldest, history[0])
            await self._pull_history(reports, oldest, Days(history_start, until - timedelta(days=1)))
        async with self._services.database.connection() as connection:
            next_pull_at = next_turn(self._lease.key, self._waits.clock())
            await leases.schedule_pull(connection, self._lease, next_pull_at)

    async def _pull_window(self, reports: _Reports, window: Days, *, is_wide: bool) -> None:
        """Store the days that may still change."""
        for days in schedule.split_days(window, reports.platform.limits.days):
            await self._store(reports, days)
        async with self._services.database.transaction() as connection:
            await leases.lock_leased(connection, self._lease)
            await leases.note_pull(connection, self._lease, self._waits.clock(), is_wide=is_wide)

    async def _pull_history(self, reports: _Reports, oldest: date, kept_days: Days) -> None:
        """Store older days, the latest first. The platform no longer has those from `oldest` until the first
        of `kept_days`.
        """
        for days in schedule.split_days(kept_days, reports.platform.limits.days):
            await self._store(reports, days, is_history=True)
        if kept_days.first > oldest:
            async with self._services.database.transaction() as connection:
                await leases.lock_leased(connection, self._lease)
                await leases.note_history(connection, self._lease, oldest)

    def _open(self) -> tuple[SpendPlatform, Credentials]:
        """Raise Fault if the stored settings or secrets can't be used."""
        platform = self._services.platforms.get(self._leased.platform)
        if platform is None:
            raise Fault(FaultCause.VERSION, "This version of Headwater does not know the platform.")
        key = self._lease.key
        try:
            secrets = leases.open_secrets(self._services.sealing_key, key, self._leased.secrets)
            settings = msgspec.convert(self._leased.settings, platform.settings)
        except Unsealable:
            words = "The tokens must be entered again because HEADWATER_SECRET_KEY has changed."
            raise Fault(FaultCause.TOKEN, words) from None
        except msgspec.ValidationError:
            raise Fault(FaultCause.ACCOUNT, "The settings are no longer valid.") from None
        url = self._services.urls[platform.name]
        return platform, Credentials(
            space_id=key.space_id, id=key.id, url=url, settings=settings, secrets=secrets
        )

    async def _store(self, reports: _Reports, days: Days, *, is_history: bool = False) -> None:
        as_of = self._read_clock()
        rows = await reports.fetch(days)
        failpoint("spend_pulled")
        async with self._services.storing, self._services.database.transaction(STORE_SECONDS) as connection:
            await leases.lock_leased(connection, self._lease)
            source = reports.platform.name, reports.account.id
            number = await store_rows(connection, self._lease.key, source, (days, rows, as_of))
            if is_history:
                await leases.note_history(connection, self._lease, days.first)
        count_rows(reports.platform.name, number)
        failpoint("spend_stored")

    async def _keep_token(self, _: Credentials, refresh_token: str) -> None:
        async with self._services.database.transaction() as connection:
            key = self._services.sealing_key
            await leases.replace_refresh_token(connection, self._lease, refresh_token, key)

    async def _note_fault(self, fault: Fault) -> None:
        log.warning("pull failed", **self._lease.key._asdict(), fault=fault.cause)
        current_time = self._waits.clock()
        next_pull_at = schedule.retry_pull(fault, self._leased.failures, current_time)
        async with self._services.database.transaction() as connection:
            await leases.lock_leased(connection, self._lease)
            await leases.note_fault(connection, self._lease, fault, (current_time, next_pull_at))

    def _read_clock(self) -> datetime:
        return datetime.fromtimestamp(self._waits.clock(), UTC)


class _Reports:
    """Fetches an account's reports of every level, in smaller parts where the platform wants that."""

    def __init__(
        self,
        platform: SpendPlatform,
        credentials: Credentials,
        session: PlatformSession,
        account: SpendAccount,
    ) -> None:
        self.platform, self.account = platform, account
        self._credentials, self._session = credentials, session

    async def fetch(self, days: Days) -> list[SpendRow]:
        page_size = self.platform.limits.page_sizes[0]
        rows: list[SpendRow] = []
        for level in self.platform.levels:
            rows += await self._read(ReportRequest(self.account, level, days, page_size))
        return [row for row in rows if days.first <= row.date <= days.last]

    async def _read(self, report: ReportRequest) -> list[SpendRow]:
        try:
            return await self._session.run(self.platform.read_rows(self._credentials, report))
        except Fault as fault:
            parts = schedule.make_smaller(report, self.platform.limits)
            if fault.cause is not FaultCause.TOO_LARGE or not parts:
                raise
        rows: list[SpendRow] = []
        for part in parts:
            rows += await self._read(part)
        return rows


async def store_rows(
    connection: AsyncConnection,
    key: AccountKey,
    source: tuple[str, str],
    pulled: tuple[Days, Sequence[SpendRow], datetime],
) -> int:
    """Bring the ledger to what a platform reported of an account (`source`) for some days. Return the number
    of stored rows.
    """
    days, rows, as_of = pulled
    bound: dict[str, int | str | date] = {
        "space_id": key.space_id,
        "first_day": days.first,
        "last_day": days.last,
        "platform": source[0],
        "account_id": source[1],
    }
    ledger_rows = await fetch_all(connection, _STORED_ROWS, bound)
    stored_rows = [StoredRow(SpendRow(*columns), is_complete) for *columns, is_complete in ledger_rows]
    chosen_rows = choose_rows(stored_rows, rows)
    for start in range(0, len(chosen_rows), MOST_ROWS_STORED):
        await put_pulled(connection, key.space_id, chosen_rows[start : start + MOST_ROWS_STORED], as_of)
    await put_row_names(connection, key.space_id, rows)  # a renamed campaign may have the same figures
    return len(chosen_rows)
