"""Watched files of a Space, fetched by the real engine: over real HTTP on loopback, from a real folder."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg

from headwater.base.egress.client import Egress
from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.base.storage import LocalFolder
from headwater.database.jobs.due_tasks import AccountKey
from headwater.database.pool import Database
from headwater.intake.imports import job_worker
from headwater.intake.imports.job_models import ImportJob
from headwater.intake.imports.jobs import list_watched_jobs
from headwater.intake.watched import watched_files
from headwater.intake.watched.content import ContentSource
from headwater.intake.watched.fetcher import FetchServices, FileFetcher
from headwater.intake.watched.inputs import read_new
from headwater.intake.watched.watched_files import WatchedFileRow
from headwater.spaces.encryption import derive_key
from tests.support.factories import Stage

KEY = derive_key("a secret of the tests")
NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
CSV = "date,platform,campaign_id,currency,amount\n2026-11-24,meta,1,EUR,{}\n"


@dataclass(frozen=True)
class Detour:
    """Send requests for some hosts to servers on loopback, and all others to their real address."""

    egress: Egress
    origins: Mapping[str, str]
    """Host → origin."""

    async def send(
        self, call: EgressRequest, seconds: float | None = None, *, most_bytes: int | None = None
    ) -> EgressResponse:
        parts = urlsplit(call.url)
        origin = self.origins.get(parts.netloc)
        if origin is None:
            return await self.egress.send(call, seconds, most_bytes=most_bytes)
        target = call.url.removeprefix(f"https://{parts.netloc}")
        redirected_call = EgressRequest(
            url=origin + target, method=call.method, body=call.body, headers=call.headers,
            content_type=call.content_type,
        )  # fmt: skip
        return await self.egress.send(redirected_call, seconds, most_bytes=most_bytes)


@dataclass(frozen=True)
class Engine:
    """An event loop with an open database, for all calls of a test. Opening it for each call takes longer
    than the calls.
    """

    runner: asyncio.Runner
    database: Database

    def run(self, work: Callable[[Database], Awaitable[Any]]) -> Any:
        async def call() -> Any:
            return await work(self.database)

        return self.runner.run(call())


@contextmanager
def open_engine(database_url: str) -> Iterator[Engine]:
    with asyncio.Runner() as runner:
        database = Database(database_url)
        runner.run(database.__aenter__())
        try:
            yield Engine(runner, database)
        finally:
            runner.run(database.__aexit__())


@dataclass
class WatchedFiles:
    database_url: str
    stage: Stage
    files: Path
    """A folder with the object store and a folder for each Space."""
    engine: Engine
    origins: dict[str, str] = field(default_factory=dict[str, str])
    time: datetime = NOW

    def watch_other_space(self, stage: Stage) -> WatchedFiles:
        """Return the watched files of another Space."""
        return replace(self, stage=stage)

    @property
    def folder(self) -> Path:
        """Return the Space's folder."""
        folder = self.files / "watched" / str(self.stage.space_id)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def watch(self, address: str, **members: Any) -> int:
        new = read_new({"address": address, **members}, allows_files=True)

        async def create(database: Database) -> int:
            async with database.transaction() as connection:
                space_id = self.stage.space_id
                return (await watched_files.create_watched_file(connection, space_id, new, KEY)).id

        watched_file_id = self.engine.run(create)
        self.make_due(watched_file_id)
        return watched_file_id

    def change(self, watched_file_id: int, **members: Any) -> WatchedFileRow:
        async def change(database: Database) -> WatchedFileRow:
            async with database.transaction() as connection:
                row = AccountKey(self.stage.space_id, watched_file_id)
                return await watched_files.change_watched_file(
                    connection, row, members, KEY, allows_files=True
                )

        return self.engine.run(change)

    def act(
        self, watched_file_id: int, verb: Callable[[Any, int, int], Awaitable[WatchedFileRow]]
    ) -> WatchedFileRow:
        async def act(database: Database) -> WatchedFileRow:
            async with database.transaction() as connection:
                return await verb(connection, self.stage.space_id, watched_file_id)

        return self.engine.run(act)

    def state(self, watched_file_id: int) -> WatchedFileRow:
        return self.act(watched_file_id, watched_files.fetch_watched_file)

    def make_due(self, watched_file_id: int) -> None:
        self.stage.connection.execute(
            "UPDATE watched_files SET next_fetch_at = %s, settings_at = least(settings_at, %s),"
            " leased_until = NULL WHERE space_id = %s AND id = %s",
            (self.time, self.time, self.stage.space_id, watched_file_id),
        )

    def fetch(self, sender: Any = None) -> None:
        """Fetch what is due, and run the queued imports."""

        async def drain(database: Database) -> None:
            async with Egress(["127.0.0.1"], seconds=5) as egress:
                source = ContentSource(sender or Detour(egress, self.origins), self.files / "watched")
                services = FetchServices(
                    database, LocalFolder(self.files / "store"), source, KEY, self.time.timestamp
                )
                await FileFetcher(services, asyncio.Event()).drain()

        self.engine.run(drain)
        self.work()

    def work(self) -> None:
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            job_worker.work(connection, LocalFolder(self.files / "store"), self.database_url)

    def fetch_later(self, watched_file_id: int, **delay: float) -> WatchedFileRow:
        self.time += timedelta(**delay)
        self.make_due(watched_file_id)
        self.fetch()
        return self.state(watched_file_id)

    def imports(self, watched_file_id: int) -> list[ImportJob]:
        async def read(database: Database) -> list[ImportJob]:
            async with database.connection() as connection:
                return await list_watched_jobs(connection, self.stage.space_id, watched_file_id, 20)

        return self.engine.run(read)

    def amounts(self) -> list[Decimal]:
        rows = self.stage.connection.execute(
            "SELECT amount FROM spend WHERE space_id = %s ORDER BY date, campaign_id", (self.stage.space_id,)
        )
        return [amount for (amount,) in rows]
