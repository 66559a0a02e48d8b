"""`headwater queue …`: wait for processing, and handle rejected items."""

from __future__ import annotations

import asyncio
import time
from argparse import Namespace
from dataclasses import asdict

from headwater.base.settings import Settings
from headwater.intake.inbox import rejected
from headwater.intake.inbox.queue import wait_until_processed
from headwater.operations.terminal.audited import note_change
from headwater.operations.terminal.command import CommandGroup, Option
from headwater.operations.terminal.connection import autocommit_connection, transaction
from headwater.operations.terminal.execution import prints
from headwater.operations.terminal.options import JSON
from headwater.operations.terminal.output import Output
from headwater.operations.terminal.values import seconds
from headwater.privacy.erasures import wait_until_erased
from headwater.spaces.audit.entries import AuditChange

group = CommandGroup()


@group.command(
    "wait",
    "wait until everything accepted is processed",
    Option("--timeout", type=seconds, default=60.0, metavar="S", help="seconds to wait (60)"),
)
def wait(settings: Settings, arguments: Namespace) -> int:
    """Return 0 when every event accepted and every erasure requested before the call is done, 1 after the
    timeout.
    """
    deadline = time.monotonic() + arguments.timeout
    with autocommit_connection(settings) as connection:
        if not wait_until_processed(connection, arguments.timeout):
            return 1
        return 0 if wait_until_erased(connection, deadline - time.monotonic()) else 1


@group.command("rejected", "list what could not be processed", JSON)
@prints
def list_rejected(settings: Settings, _: Namespace) -> Output:
    with autocommit_connection(settings) as connection:
        return [asdict(row) for row in rejected.list_rejected(connection)]


@group.command("replay", "process rejected rows again", JSON)
@prints
def replay(settings: Settings, arguments: Namespace) -> Output:
    with autocommit_connection(settings) as connection:
        replayed = rejected.replay_rejected(connection)
    if replayed:
        asyncio.run(_note_replay(settings, arguments, replayed))
    return {"replayed": replayed}


async def _note_replay(settings: Settings, arguments: Namespace, replayed: int) -> None:
    async with transaction(settings) as connection:
        await note_change(connection, arguments, AuditChange("rejected_events", after={"replayed": replayed}))
