"""`python -m tests.crash.mutant FAULT …`: Headwater with a planted fault.

A crash test that has never failed proves nothing, so it must fail with these faults. They are defined here
because the product has no switch for them.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import msgspec
import psycopg
from psycopg import AsyncConnection, Connection

from headwater import cli, supervisor
from headwater.database.jobs import child_process
from headwater.database.jobs.child_process import ChildProcess
from headwater.intake.inbox import inbox
from headwater.intake.inbox.inbox import Request
from headwater.intake.pipeline import batch_loader, batch_runner, claim, duplicates
from headwater.intake.pipeline.batch import Batch
from headwater.operations.supervision import preparation
from headwater.privacy import erasure_job

EARLY_SECONDS = 0.1
KEPT_BYTES, MOST_KEPT = 200_000, 700
LATER_SECONDS = 0.0005


def acknowledge_early() -> None:
    """Answer first and commit a moment later."""
    insert = inbox._insert

    async def answer_first(connection: AsyncConnection, group: list[Request]) -> None:
        copies = [msgspec.structs.replace(request, receipts=[]) for request in group]
        for request in group:
            request.receipts = [0] * len(request.rows)

        async def store() -> None:
            await asyncio.sleep(EARLY_SECONDS)
            async with turn_lock:  # because the connection runs one statement at a time
                await insert(connection, copies)

        late_stores.add(asyncio.ensure_future(store()))

    late_stores: set[asyncio.Future[None]] = set()
    turn_lock = asyncio.Lock()
    inbox._insert = answer_first


def store_twice() -> None:
    """Neither check for repeated idempotency keys nor have a unique index on them."""

    def no_key(_: Any) -> None:
        return None

    def migrate(url: str) -> list[str]:
        migrations = migrate_fully(url)
        with psycopg.connect(url) as connection:
            connection.execute("DROP INDEX IF EXISTS events_idempotency")
        return migrations

    migrate_fully = preparation.migrate
    preparation.migrate = migrate
    batch_loader.idempotency_key = duplicates.idempotency_key = no_key


def forget_when_claiming() -> None:
    """Remove rows from the inbox permanently before their events are stored."""
    claim_rows = batch_runner.claim

    def claim_for_good(connection: Connection[Any], *arguments: Any) -> Batch | None:
        batch = claim_rows(connection, *arguments)
        if batch is not None and batch.arrivals:
            ids = [arrival.id for arrival in batch.arrivals]
            info = connection.info
            with psycopg.connect(info.dsn, password=info.password) as second_connection:
                second_connection.execute("DELETE FROM inbox WHERE id = ANY(%s)", [ids])
        return batch

    batch_runner.claim = claim_for_good


def erase_nothing() -> None:
    """Record erasures as completed without erasing anything."""

    def leave(*_: Any) -> None:
        pass

    erasure_job.scrub = leave


def forget_destinations() -> None:
    """Store events without their deliveries."""

    def find_none(_: Any) -> list[Any]:
        return []

    claim.read_targets = find_none


def leak() -> None:
    """Leak memory and a descriptor for every committed group, and take longer each time."""
    insert = inbox._insert

    async def keep(connection: AsyncConnection, group: list[Request]) -> None:
        if len(leaks) < MOST_KEPT:
            leaks.append((os.dup(sys.stderr.fileno()), bytearray(KEPT_BYTES)))
        await asyncio.sleep(LATER_SECONDS * len(leaks))
        await insert(connection, group)

    leaks: list[tuple[int, bytearray]] = []
    inbox._insert = keep


FAULTS = {
    fault.__name__: fault
    for fault in (
        acknowledge_early, store_twice, forget_when_claiming, erase_nothing, forget_destinations,
        leak,
    )
}  # fmt: skip


def main(name: str, *arguments: str) -> int:
    """Plant a fault, or several joined by `+`, in this process and its child processes, and run the
    command.
    """
    for fault in name.split("+"):
        FAULTS[fault]()

    class MutantProcess(ChildProcess):
        def __init__(self, *arguments: str, **options: Any) -> None:
            super().__init__(*arguments, **options)
            index = self._command.index("headwater")
            self._command[index : index + 1] = ["tests.crash.mutant", name]

    supervisor.ChildProcess = child_process.ChildProcess = MutantProcess
    return cli.main(arguments)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
