"""`headwater contact …`: merges with reasons, undoing a merge, erasures, and all data of one."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace
from dataclasses import asdict
from typing import Any

from headwater.base.settings import Settings
from headwater.intake.merging import merge_log
from headwater.intake.merging.unmerge import unmerge as unmerge_contact
from headwater.operations.terminal.audited import change, note_change
from headwater.operations.terminal.command import CommandGroup, Option
from headwater.operations.terminal.connection import transaction
from headwater.operations.terminal.execution import prints
from headwater.operations.terminal.options import JSON, SPACE
from headwater.operations.terminal.output import Output, Row
from headwater.operations.terminal.values import row_count, row_id
from headwater.people.contacts.lookup import resolve
from headwater.spaces.audit.entries import AuditChange
from headwater.spaces.spaces import fetch_space

group = CommandGroup()


@group.command(
    "merges",
    "list merges, newest first",
    Option("contact_id", type=row_id, nargs="?", metavar="CONTACT_ID", help="only this contact's"),
    Option("--limit", type=row_count, default=100, metavar="N", help="how many at most (100)"),
    SPACE,
    JSON,
)
@prints
async def list_merges(settings: Settings, arguments: Namespace) -> Output:
    async with transaction(settings) as connection:
        await fetch_space(connection, arguments.space)
        merges = await merge_log.list_merges(
            connection, arguments.space, arguments.contact_id, arguments.limit
        )
    return [_describe(merge) for merge in merges]


@group.command(
    "unmerge",
    "undo the merge of a contact",
    Option("contact_id", type=row_id, metavar="CONTACT_ID", help="the merged contact"),
    SPACE,
    JSON,
)
@prints
async def unmerge(settings: Settings, arguments: Namespace) -> Row:
    async with change(settings, arguments) as connection:
        await fetch_space(connection, arguments.space)
        await note_change(connection, arguments, AuditChange("contact", arguments.contact_id))
        return asdict(await unmerge_contact(connection, arguments.space, arguments.contact_id))


@group.command("erasures", "list a Space's erasures", SPACE, JSON)
@prints
async def list_erasures(settings: Settings, arguments: Namespace) -> Output:
    # Imports the pipeline, which other commands of the group don't need.
    from headwater.privacy import erasures  # noqa: PLC0415

    async with transaction(settings) as connection:
        await fetch_space(connection, arguments.space)
        logged_erasures = await erasures.list_erasures(connection, arguments.space)
    return [asdict(erasure) for erasure in logged_erasures]


@group.command(
    "data",
    "write everything stored about a contact as JSON lines to standard output",
    Option("contact_id", type=row_id, metavar="CONTACT_ID", help="the contact"),
    SPACE,
)
def write_data(settings: Settings, arguments: Namespace) -> int:
    asyncio.run(_write_data(settings, arguments))
    return 0


async def _write_data(settings: Settings, arguments: Namespace) -> None:
    # Import the pipeline, which other commands of the group don't need.
    from headwater.people.contacts.queries import queries  # noqa: PLC0415
    from headwater.privacy.disclosure import disclose  # noqa: PLC0415

    async with transaction(settings) as connection:
        await connection.execute(queries["snapshot"])
        space = await fetch_space(connection, arguments.space)
        contact_id = await resolve(connection, space.id, arguments.contact_id)
        async for lines in disclose(connection, space, contact_id):
            sys.stdout.buffer.writelines(lines)
        sys.stdout.buffer.flush()


def _describe(merge: merge_log.LoggedMerge) -> dict[str, Any]:
    return {
        "merged_at": merge.merged_at,
        "contact_id": merge.merged_id,
        "merged_into": merge.survivor_id,
        "cause": merge.cause,
        "why": merge.explanation,
        "receipt_id": merge.receipt_id,
        "sender": merge.sender,
        "filled": merge.filled,
        "undone_at": merge.undone_at,
    }
