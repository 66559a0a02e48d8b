"""`headwater watch …`: files at addresses, imported when they change."""

from __future__ import annotations

from argparse import Namespace
from functools import partial
from typing import Any

import msgspec

from headwater.base.settings import Settings
from headwater.cli.destinations import read_secrets
from headwater.database.jobs.due_tasks import AccountKey
from headwater.intake.imports.jobs import list_watched_jobs
from headwater.intake.imports.kinds import KINDS
from headwater.intake.watched import watched_files
from headwater.intake.watched.answers import MOST_IMPORTS, describe_watched_file
from headwater.intake.watched.inputs import DEFAULT_KIND, read_new
from headwater.intake.watched.watched_files import WatchedFileRow
from headwater.operations.terminal.audited import change
from headwater.operations.terminal.command import CommandGroup, Option
from headwater.operations.terminal.connection import transaction
from headwater.operations.terminal.encryption_key import load_encryption_key
from headwater.operations.terminal.execution import acts_on_row, prints
from headwater.operations.terminal.options import JSON, SPACE
from headwater.operations.terminal.output import Output, Row
from headwater.operations.terminal.values import read_pairs, row_id
from headwater.spaces.spaces import fetch_space

_COLUMNS = ("id", "kind", "name", "status", "fetched_at", "message")

WATCHED_FILE = Option("--file", type=row_id, required=True, metavar="ID")
VALUES = (
    Option("--name", metavar="N"),
    Option(
        "--set",
        dest="changes",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="how the file is read, such as currency=EUR; repeatable",
    ),
    Option(
        "--column",
        dest="columns",
        action="append",
        default=[],
        metavar="COLUMN:FIELD",
        help="the field of a column; repeatable",
    ),
    Option(
        "--secret",
        action="append",
        default=[],
        metavar="KEY=@FILE",
        help="a secret, from a file or KEY=@-; repeatable",
    ),
)
EXISTING = (WATCHED_FILE, SPACE, JSON)

group = CommandGroup()


@group.command(
    "create",
    "watch an address",
    Option("--address", required=True, metavar="A", help="https://…, s3://…, gs://…, az://… or file://…"),
    Option("--kind", choices=tuple(KINDS), default=DEFAULT_KIND, help="what the file has (spend)"),
    *VALUES,
    SPACE,
    JSON,
)
@prints
async def create_watched_file(settings: Settings, arguments: Namespace) -> Output:
    body: dict[str, Any] = {"kind": arguments.kind, **_read_values(arguments)}
    new = read_new(body, allows_files=settings.watched_dir is not None)
    key = load_encryption_key(settings)
    async with change(settings, arguments, "watched_file") as connection:
        row = await watched_files.create_watched_file(connection, arguments.space, new, key)
    return _describe(row, arguments)


@group.command("set", "change a watched file", Option("--address", metavar="A"), *VALUES, *EXISTING)
@prints
async def change_watched_file(settings: Settings, arguments: Namespace) -> Output:
    """Change the given options; other settings stay."""
    body = _read_values(arguments)
    key = load_encryption_key(settings)
    row_key = AccountKey(arguments.space, arguments.file)
    async with change(settings, arguments, "watched_file") as connection:
        if "settings" in body:
            current = await watched_files.fetch_watched_file(connection, *row_key)
            body["settings"] = {**current.settings, **body["settings"]}
        row = await watched_files.change_watched_file(
            connection, row_key, body, key, allows_files=settings.watched_dir is not None
        )
    return _describe(row, arguments)


@group.command("list", "list a Space's watched files", SPACE, JSON)
@prints
async def list_watched_files(settings: Settings, arguments: Namespace) -> Output:
    async with transaction(settings) as connection:
        await fetch_space(connection, arguments.space)
        found_rows = await watched_files.list_watched_files(connection, arguments.space)
    rows = [_describe(row, arguments) for row in found_rows]
    return rows if arguments.json else [{name: row[name] for name in _COLUMNS} for row in rows]


@group.command("show", "show a watched file and its imports", *EXISTING)
@prints
async def show_watched_file(settings: Settings, arguments: Namespace) -> Output:
    async with transaction(settings) as connection:
        row = await watched_files.fetch_watched_file(connection, arguments.space, arguments.file)
        jobs = await list_watched_jobs(connection, arguments.space, row.id, MOST_IMPORTS)
    return msgspec.to_builtins(describe_watched_file(row, jobs))


def _describe(row: WatchedFileRow, _: Namespace) -> Row:
    return msgspec.to_builtins(describe_watched_file(row))


_act_on = partial(acts_on_row, "watched_file", "file", _describe)
group.add("pause", "stop fetching", _act_on(watched_files.pause_watched_file), *EXISTING)
group.add("resume", "fetch again", _act_on(watched_files.resume_watched_file), *EXISTING)
group.add("fetch", "fetch now", _act_on(watched_files.fetch_file_now), *EXISTING)


@group.command("remove", "stop watching an address", *EXISTING)
@prints
async def remove_watched_file(settings: Settings, arguments: Namespace) -> Row:
    async with change(settings, arguments, "watched_file") as connection:
        await watched_files.delete_watched_file(connection, arguments.space, arguments.file)
    return {"id": arguments.file, "status": "removed"}


def _read_values(arguments: Namespace) -> dict[str, Any]:
    """Return the given values. Raises Failure."""
    settings: dict[str, Any] = read_pairs(arguments.changes)
    if arguments.columns:
        settings["columns"] = arguments.columns
    values = {
        "name": arguments.name,
        "address": arguments.address,
        "settings": settings or None,
        "secrets": read_secrets(arguments.secret) or None,
    }
    return {name: value for name, value in values.items() if value is not None}
