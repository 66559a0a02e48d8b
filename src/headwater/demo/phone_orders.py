"""Orders by phone: a CSV file in German notation with some unreadable rows, imported like an upload in the
console.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta

from headwater.base.failure import Failure
from headwater.base.settings import Settings
from headwater.base.storage import open_storage
from headwater.demo.journeys import Payload
from headwater.intake.imports.formats.dialects import HEAD_BYTES
from headwater.intake.imports.job_models import ImportJob
from headwater.intake.imports.jobs import check_job, create_job, fetch_job, list_jobs, note_upload, start_job
from headwater.intake.imports.readings import guess_reading
from headwater.intake.imports.uploads import judge_file, sample_rows, store_pieces
from headwater.operations.terminal.connection import transaction
from headwater.spaces.models import Space

ORDERS = 18
_WAIT_SECONDS, _LOOK_SECONDS = 120.0, 0.05
_KIND, _NAME = "events", "Telefonbestellungen.csv"
_PRICES = ("39,90", "59,00", "89,50", "39,90", "189,95", "1.129,00", "59,00")
_UNREADABLE = (
    ("T-2091", "keine", "59,00", "{day}"),
    ("T-2092", "kunde@gmail.com", "auf Anfrage", "{day}"),
    ("T-2093", "kunde@gmail.com", "39,90", "31.02.2026 10:00"),
    ("T-2094", "frau.meyer(at)gmail.com", "89,50", "{day}"),
)


def write_file(events: Sequence[Payload], current_time: datetime) -> str:
    """Return the file: customers who signed up earlier order again by phone."""
    before = f"{current_time - timedelta(days=ORDERS):%Y-%m-%dT%H:%M:%SZ}"
    customers = [event["email"] for event in events if "email" in event and event["event_time"] < before]
    emails = list(dict.fromkeys(customers))[-ORDERS:]
    rows = [("Bestellnummer", "E-Mail", "Gesamtbetrag", "Bestelldatum")]
    for number, email in enumerate(emails):
        day = f"{current_time - timedelta(days=len(emails) - number, hours=1):%d.%m.%Y %H:%M}"
        rows.append((f"T-{2001 + number}", email, _PRICES[number % len(_PRICES)], day))
    yesterday = f"{current_time - timedelta(days=1):%d.%m.%Y %H:%M}"
    rows += [(*row[:3], row[3].format(day=yesterday)) for row in _UNREADABLE]
    return "".join(";".join(row) + "\r\n" for row in rows)


async def import_orders(settings: Settings, space: Space, user_id: int, text: str) -> None:
    """Import the file and wait for the end, unless there was an import before. Raises Failure."""
    async with transaction(settings) as connection:
        if await list_jobs(connection, space.id, 1):
            return
    job_id = await _upload(settings, space, user_id, text)
    job = await _wait_until(settings, space.id, job_id, "checked")
    async with transaction(settings) as connection:
        await start_job(connection, space.id, job, again=False)
    await _wait_until(settings, space.id, job_id, "finished")


async def _upload(settings: Settings, space: Space, user_id: int, text: str) -> int:
    async def pieces() -> AsyncIterator[bytes]:
        yield text.encode()

    async with transaction(settings) as connection:
        job_id, file = await create_job(connection, space.id, _KIND, _NAME, user_id)
    survey = await store_pieces(open_storage(settings), file, pieces())
    dialect = judge_file(_KIND, survey)
    columns, rows = sample_rows(survey.head, dialect, is_whole_file=survey.size <= HEAD_BYTES)
    async with transaction(settings) as connection:
        await note_upload(connection, space.id, job_id, survey, dialect)
        await check_job(connection, space.id, job_id, guess_reading(_KIND, columns, rows, space))
    return job_id


async def _wait_until(settings: Settings, space_id: int, job_id: int, status: str) -> ImportJob:
    end = time.monotonic() + _WAIT_SECONDS
    while time.monotonic() < end:
        async with transaction(settings) as connection:
            job = await fetch_job(connection, space_id, job_id)
        if job.status == status:
            return job
        if job.status == "failed":
            break
        await asyncio.sleep(_LOOK_SECONDS)
    raise Failure("the sample orders were not imported; see the log above")
