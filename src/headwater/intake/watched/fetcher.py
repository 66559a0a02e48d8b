"""Fetch every watched file that is due, and import it if it changed.

The import is queued in the transaction that ends the fetch. So a fetch that is killed anywhere is repeated,
and content is imported once.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial

import structlog
from msgspec import Struct
from psycopg import AsyncConnection

from headwater.base.failpoints import failpoint
from headwater.base.storage import Storage
from headwater.database.jobs.due_tasks import (
    LINGER_SECONDS,
    AccountKey,
    AccountLease,
    DueTasks,
    renewed_lease,
)
from headwater.database.jobs.lease import LeaseLostError
from headwater.database.pool import Database
from headwater.http.errors import Invalid, Problem, join_rules, make_sentence
from headwater.intake.imports import jobs
from headwater.intake.imports.detection import detect_reading
from headwater.intake.imports.formats.dialects import UnreadableError
from headwater.intake.imports.kinds import KINDS
from headwater.intake.imports.reception import Upload, receive_file
from headwater.intake.watched import leases
from headwater.intake.watched.addresses import read_address
from headwater.intake.watched.content import ContentSource, FileAccess, fetch_content
from headwater.intake.watched.faults import FetchError, WatchFault
from headwater.intake.watched.inputs import WatchedFileSettings, read_file_settings
from headwater.intake.watched.leases import LeasedFile
from headwater.intake.watched.watched_files import open_secrets
from headwater.spaces.encryption import Unsealable
from headwater.spaces.models import Space
from headwater.spaces.spaces import fetch_space

CHUNK_BYTES = 1024 * 1024
REPEATABLE = frozenset(name for name, kind in KINDS.items() if kind.taken == "stored")
"""Kinds whose rows replace each other, so that content that returns can be stored again."""

log = structlog.get_logger()


class FetchServices(Struct, frozen=True):
    """What fetches share."""

    database: Database
    storage: Storage
    source: ContentSource
    sealing_key: bytes
    clock: Callable[[], float] = time.time
    """In Unix seconds."""


class FileFetcher(DueTasks):
    name = "file fetcher"
    most_tasks = 4
    """Each holds a file in memory."""

    def __init__(
        self, services: FetchServices, stopping: asyncio.Event, linger: float = LINGER_SECONDS
    ) -> None:
        super().__init__(services.database, stopping, linger)
        self._services = services

    async def find_due(self, connection: AsyncConnection) -> list[AccountKey]:
        return await leases.find_due(connection, self._services.clock())

    async def attend(self, key: AccountKey) -> None:
        async with self._services.database.connection() as connection:
            leased_file = await leases.take_lease(connection, key, self._services.clock())
        if leased_file is not None:
            await FileFetch(self._services, *leased_file).run()


class FileFetch:
    """One fetch of a leased file."""

    def __init__(self, services: FetchServices, lease: AccountLease, leased: LeasedFile) -> None:
        self._services, self._lease, self._leased = services, lease, leased
        self._database = services.database

    async def run(self) -> None:
        """Queue the import of changed content, or store the fault, and release the lease."""
        async with renewed_lease(self._database, leases.queries["renew"], self._lease.values()):
            with suppress(LeaseLostError):
                try:
                    await self._fetch()
                except FetchError as error:
                    await self._note_fault(error)
            async with self._database.connection() as connection:
                await leases.release_lease(connection, self._lease)

    async def _fetch(self) -> None:
        async with self._database.connection() as connection:
            space = await fetch_space(connection, self._lease.key.space_id)
        access, settings = self._open(space)
        moment = datetime.fromtimestamp(self._services.clock(), UTC)
        content = await fetch_content(self._services.source, access, moment)
        digest = await asyncio.to_thread(_digest, content)
        async with self._database.transaction() as connection:
            if await leases.has_import(connection, self._lease, digest):
                await leases.note_fetch(connection, self._lease, self._services.clock())
                return
        failpoint("watched_file_fetched")
        await self._import(space, settings, content)
        failpoint("watched_file_queued")

    def _open(self, space: Space) -> tuple[FileAccess, WatchedFileSettings]:
        """Raise FetchError if the stored address, settings or secrets can't be used."""
        key, leased_file = self._lease.key, self._leased
        try:
            secrets = open_secrets(self._services.sealing_key, key, leased_file.secrets)
            settings = read_file_settings(leased_file.kind, leased_file.settings)
            address = read_address(leased_file.address)
        except Unsealable:
            text = "The secrets must be entered again because HEADWATER_SECRET_KEY has changed."
            raise FetchError(WatchFault.CREDENTIALS, text) from None
        except Invalid as invalid:
            raise FetchError(WatchFault.SETTINGS, join_rules(invalid.errors)) from None
        except ValueError:
            raise FetchError(WatchFault.ADDRESS, "The address is no longer valid.") from None
        today = datetime.fromtimestamp(self._services.clock(), space.zone).date()
        address = address.at_day(today - timedelta(days=1))
        return FileAccess(key.space_id, address, settings.region, secrets), settings

    async def _import(self, space: Space, settings: WatchedFileSettings, content: bytes) -> None:
        """Store the content and queue its import, like an upload. Raises FetchError."""
        kind, choices = self._leased.kind, settings.request.choices
        async with self._database.transaction() as connection:
            job_id, file = await jobs.create_job(
                connection, space.id, kind, self._leased.name, None, self._lease.key.id
            )
        choose = partial(
            detect_reading, kind, space=space, choices=choices, constants=settings.request.constants
        )
        upload = Upload(space.id, job_id, file, kind, choices)
        finish = partial(self._finish, job_id)
        try:
            await receive_file(
                self._database, self._services.storage, upload, _split(content), choose, finish
            )
        except UnreadableError as error:
            raise FetchError(WatchFault.CONTENT, make_sentence(str(error))) from None
        except Invalid as invalid:
            raise FetchError(WatchFault.SETTINGS, join_rules(invalid.errors)) from None
        except Problem as problem:
            raise FetchError(WatchFault.UNREACHABLE, problem.message) from None

    async def _finish(self, job_id: int, connection: AsyncConnection) -> None:
        """End the fetch, in the transaction that queues the import. Raises LeaseLostError."""
        await leases.note_fetch(connection, self._lease, self._services.clock())
        if self._leased.kind in REPEATABLE:
            space_id = self._lease.key.space_id
            job = await jobs.fetch_job(connection, space_id, job_id)
            await jobs.forget_former(connection, space_id, job)
        failpoint("watched_file_before_commit")

    async def _note_fault(self, error: FetchError) -> None:
        log.warning("watched file not fetched", **self._lease.key._asdict(), fault=error.fault)
        async with self._database.connection() as connection:
            await leases.note_fault(
                connection, self._lease, error, self._leased.failures, self._services.clock()
            )


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


async def _split(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), CHUNK_BYTES):
        yield content[start : start + CHUNK_BYTES]
