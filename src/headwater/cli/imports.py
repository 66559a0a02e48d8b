"""`headwater import …`: events, touchpoints, contacts and ad names from a file."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from psycopg import AsyncConnection
from tqdm import tqdm

from headwater.imports.columns import Columns, read_mapping
from headwater.imports.files import STANDARD_INPUT, RowSource, UnreadableError, open_source
from headwater.imports.importer import Import
from headwater.imports.kinds import KINDS
from headwater.imports.rejected_rows import LISTED, RejectedRowFile
from headwater.settings import Settings
from headwater.spaces.settings_input import zone_names
from headwater.spaces.spaces import fetch_space
from headwater.terminal.command import CommandGroup, Option
from headwater.terminal.connection import CONNECT_SECONDS, database_url, explain_failures
from headwater.terminal.failure import Failure
from headwater.terminal.options import FILE_FORMAT, JSON, SPACE
from headwater.terminal.output import print_note, print_output, print_text

OPTIONS = (
    SPACE,
    Option("file", metavar="FILE", help="NDJSON or CSV, or - for standard input"),
    FILE_FORMAT,
    Option("--map", action="append", default=[], metavar="COLUMN=FIELD", help="repeatable"),
    Option("--timezone", default="UTC", metavar="Z", help="of times without an offset (UTC)"),
    Option("--dry-run", action="store_true", help="check all and store nothing"),
    Option("--again", action="store_true", help="also if it was imported before"),
    JSON,
)


def import_file(kind: str, settings: Settings, arguments: Namespace) -> int:
    """Import a file. Returns 1 when some of its rows were refused."""
    url = database_url(settings)
    try:
        columns = Columns(KINDS[kind].fields, read_mapping(arguments.map))
        with (
            explain_failures(settings),
            open_source(arguments.file, arguments.format) as source,
        ):
            columns.check(source.columns())
            return asyncio.run(_import(kind, url, source, columns, arguments))
    except UnreadableError as error:
        raise Failure(str(error)) from None
    except OSError as error:
        raise Failure(f"{error.filename or arguments.file}: {error.strerror}") from None


group = CommandGroup()
group.add("events", "events", partial(import_file, "events"), *OPTIONS)
group.add(
    "touchpoints",
    "touchpoints that no event carries",
    partial(import_file, "touchpoints"),
    *OPTIONS,
)
group.add(
    "contacts",
    "contacts, or more about those there are",
    partial(import_file, "contacts"),
    *OPTIONS,
)
group.add("ads", "names for the ids of ad platforms", partial(import_file, "ads"), *OPTIONS)


async def _import(
    kind: str, url: str, source: RowSource, columns: Columns, arguments: Namespace
) -> int:
    refusals = RejectedRowFile(_rejected_file(arguments.file), dry=arguments.dry_run)
    async with await AsyncConnection.connect(
        url, autocommit=True, connect_timeout=CONNECT_SECONDS
    ) as connection:
        space = await fetch_space(connection, arguments.space)
        zone = _read_zone(arguments.timezone)
        job = Import(space, kind, source, columns, refusals, zone, arguments.dry_run)
        already = not await job.begin(connection, again=arguments.again)
        if not already:
            with tqdm(total=source.size, unit="B", unit_scale=True, disable=None) as bar:
                async for progress in job.chunks(connection):
                    bar.update(source.raw.tell() - bar.n)
                    bar.set_postfix_str(f"{progress.rows_done} rows, {progress.refused} refused")
    _report(job, already=already, as_json=arguments.json)
    return 1 if job.progress.refused else 0


def _read_zone(name: str) -> ZoneInfo:
    """The zone of a name. Raises Failure."""
    if name not in zone_names():
        raise Failure(f"--timezone {name}: must be an IANA time zone, such as Europe/Berlin")
    return ZoneInfo(name)


def _rejected_file(file: str) -> Path:
    name = "stdin" if file == STANDARD_INPUT else file
    return Path(f"{name}.refused.ndjson").absolute()


def _report(job: Import, *, already: bool, as_json: bool) -> None:
    progress = job.progress
    report: dict[str, Any] = {
        "rows": progress.rows_done,
        job.kind.taken: progress.taken,
        "refused": progress.refused,
        "rows_done_before": job.resumed,
        "dry_run": job.dry,
        "finished_before": progress.finished_at if already else None,
        "refused_file": str(job.refusals.target) if progress.refused else None,
    }
    if job.kind.time is not None:
        report |= {"times_without_offset": job.local_times, "timezone": job.zone.key}
    if not as_json:
        _list_refusals(job)
        if already:
            print_text("This file is imported already; --again imports it once more.")
        if job.local_times:
            print_text(_explain_local_times(job))
    print_output(report, as_json=as_json)


def _explain_local_times(job: Import) -> str:
    """The zone in which they were read, and the option that changes it."""
    zone, own = job.zone.key, job.space.timezone
    many = f"{job.local_times:,} time{'s' * (job.local_times != 1)} had no offset"
    hint = "" if zone == own else f" The Space's own zone is {own}: --timezone {own} reads them so."
    return f"{many} and {'was' if job.local_times == 1 else 'were'} read as {zone}.{hint}"


def _list_refusals(job: Import) -> None:
    for refusal in job.refusals.first:
        rules = " ".join(rule for rules in refusal.errors.values() for rule in rules)
        print_note(f"line {refusal.line}: {rules}")
    more = job.progress.refused - len(job.refusals.first)
    if more > 0 and len(job.refusals.first) == LISTED:
        print_note(f"and {more} more")
