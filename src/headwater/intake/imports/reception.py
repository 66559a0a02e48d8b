"""Receive an uploaded file and queue its import. A file that can't be imported leaves nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import structlog
from msgspec import Struct
from obstore.exceptions import BaseError
from psycopg import AsyncConnection

from headwater.base.files import NO_ROOM
from headwater.base.storage import Storage
from headwater.database.pool import Database
from headwater.http.errors import Conflict, Unavailable
from headwater.intake.imports.formats.choices import NO_CHOICES, FileChoices
from headwater.intake.imports.formats.dialects import Dialect, FileSurvey
from headwater.intake.imports.formats.files import RowSource
from headwater.intake.imports.job_models import Reading
from headwater.intake.imports.jobs import enqueue_job, note_upload, remove_job
from headwater.intake.imports.uploads import judge_file, store_pieces

FULL = "The storage has no room for the file. Ask the operator of this service."
NOT_STORED = "The file cannot be stored. Ask the operator of this service."
WITHDRAWN = "A person was erased from this Space during the upload, so the file was removed. Send it again."

ReadingChoice = Callable[[RowSource], Reading]
"""Runs in a thread. Raises Invalid or UnreadableError."""
Finish = Callable[[AsyncConnection], Awaitable[None]]
"""Runs in the transaction that queues the import."""

log = structlog.get_logger()


class Upload(Struct, frozen=True):
    """A file about to arrive; its job exists."""

    space_id: int
    job_id: int
    file: str
    """In the object store."""
    kind: str
    choices: FileChoices = NO_CHOICES


@dataclass(frozen=True)
class Received:
    dialect: Dialect
    reading: Reading | None


async def receive_file(
    database: Database,
    storage: Storage,
    upload: Upload,
    pieces: AsyncIterator[bytes],
    choose: ReadingChoice | None = None,
    finish: Finish | None = None,
) -> Received:
    """Store a file. With `choose`, queue its import. On errors, remove the file and job.

    Raises UnreadableError, Conflict if a person was erased meanwhile, Unavailable when storage fails, and the
    errors of `pieces`, `choose` and `finish`.
    """
    try:
        return await _receive(database, storage, upload, pieces, choose, finish)
    except BaseException as error:
        await asyncio.to_thread(storage.discard, [upload.file])
        async with database.connection() as connection:
            await remove_job(connection, upload.space_id, upload.job_id)
        if isinstance(error, OSError | BaseError):
            log.warning(
                "upload not stored", space_id=upload.space_id, import_id=upload.job_id, exc_info=error
            )
            is_full = isinstance(error, OSError) and error.errno in NO_ROOM
            raise Unavailable(FULL if is_full else NOT_STORED) from None
        if isinstance(error, Conflict):
            raise Conflict(WITHDRAWN) from None
        raise


async def _receive(
    database: Database,
    storage: Storage,
    upload: Upload,
    pieces: AsyncIterator[bytes],
    choose: ReadingChoice | None,
    finish: Finish | None,
) -> Received:
    survey = await store_pieces(storage, upload.file, pieces)
    dialect = await asyncio.to_thread(judge_file, upload.kind, survey, upload.choices)
    reading = None
    if choose is not None:
        reading = await asyncio.to_thread(_choose, storage, upload.file, survey, dialect, choose)
    async with database.transaction() as connection:
        await note_upload(connection, upload.space_id, upload.job_id, survey, dialect)
        if reading is not None:
            await enqueue_job(connection, upload.space_id, upload.job_id, reading)
        if finish is not None:
            await finish(connection)
    return Received(dialect, reading)


def _choose(
    storage: Storage, file: str, survey: FileSurvey, dialect: Dialect, choose: ReadingChoice
) -> Reading:
    with storage.open(file) as raw:
        return choose(RowSource(raw, "csv", survey.size, survey.digest, dialect))
