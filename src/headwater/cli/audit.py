"""`headwater audit …`: the audit log of a Space, or of the installation."""

from __future__ import annotations

import asyncio
import sys
from argparse import ArgumentTypeError, Namespace
from datetime import UTC, datetime

from psycopg import AsyncConnection

from headwater.base.settings import Settings
from headwater.database.jobs.duties import INSTALLATION
from headwater.http.inputs.instants import parse_iso
from headwater.operations.terminal.command import CommandGroup, Option
from headwater.operations.terminal.connection import transaction
from headwater.operations.terminal.execution import prints
from headwater.operations.terminal.options import JSON
from headwater.operations.terminal.output import Output
from headwater.operations.terminal.values import row_count, row_id
from headwater.spaces.audit.entries import (
    AuditEntry,
    AuditSearch,
    Way,
    encode_entry,
    list_entries,
    walk_entries,
)
from headwater.spaces.audit.kinds import KINDS
from headwater.spaces.spaces import fetch_space


def _moment(text: str) -> datetime:
    try:
        return datetime.fromtimestamp(parse_iso(text), UTC)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


_FILTERS = (
    Option("--space", type=row_id, metavar="ID", help="the Space's id (the installation)"),
    Option("--since", type=_moment, metavar="T", help="from this time on, in UTC"),
    Option("--until", type=_moment, metavar="T", help="before this time"),
    Option("--way", choices=tuple(Way), help="only changes that came this way"),
    Option("--user", type=row_id, metavar="ID", help="only changes by this user"),
    Option("--kind", choices=KINDS, metavar="K", help="only changes of this kind of thing, such as api_key"),
    Option("--id", dest="subject", metavar="ID", help="only changes of the thing with this id"),
    Option("--action", metavar="A", help="only this action"),
)

group = CommandGroup()


@group.command(
    "list",
    "list who changed what, newest first",
    *_FILTERS,
    Option("--limit", type=row_count, default=50, metavar="N", help="at most (50)"),
    JSON,
)
@prints
async def list_log(settings: Settings, arguments: Namespace) -> Output:
    async with transaction(settings) as connection:
        space_id = await _find_space(connection, arguments)
        entries = await list_entries(connection, space_id, _read_search(arguments), arguments.limit)
    return [_describe(entry) for entry in entries]


@group.command("export", "write entries as JSON lines to standard output, newest first", *_FILTERS)
def export_log(settings: Settings, arguments: Namespace) -> int:
    asyncio.run(_export(settings, arguments))
    return 0


async def _export(settings: Settings, arguments: Namespace) -> None:
    async with transaction(settings) as connection:
        space_id = await _find_space(connection, arguments)
        async for entry in walk_entries(connection, space_id, _read_search(arguments)):
            sys.stdout.buffer.write(encode_entry(entry) + b"\n")
        sys.stdout.buffer.flush()


async def _find_space(connection: AsyncConnection, arguments: Namespace) -> int:
    """Raise NotFound for an unknown Space."""
    if arguments.space is None:
        return INSTALLATION
    return (await fetch_space(connection, arguments.space)).id


def _read_search(arguments: Namespace) -> AuditSearch:
    return AuditSearch(
        since=arguments.since,
        until=arguments.until,
        way=arguments.way,
        user_id=arguments.user,
        kind=arguments.kind,
        subject_id=arguments.subject,
        action=arguments.action,
    )


def _describe(entry: AuditEntry) -> dict[str, object]:
    actor = entry.user or entry.operator or (entry.key and f"key {entry.key}") or entry.user_id
    return {
        "id": entry.id,
        "occurred_at": entry.occurred_at,
        "who": actor,
        "way": entry.way,
        "address": entry.address,
        "action": entry.action,
        "changes": entry.changes,
    }
