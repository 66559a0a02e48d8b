"""`headwater export …`: the API's exports, written to a local file."""

from __future__ import annotations

import asyncio
import os
from argparse import Namespace
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from tqdm import tqdm

from headwater.base.failure import Failure
from headwater.base.settings import Settings
from headwater.base.storage import LocalFolder, Sink
from headwater.events.fields import ALWAYS, FIELDS
from headwater.exports.formats import FileForm, Format, part_names
from headwater.exports.jobs import queries
from headwater.exports.kinds import KINDS
from headwater.exports.models import ExportRequest
from headwater.exports.stream import FileSet, write_files
from headwater.http.inputs.timerange import parse_day, whole_days
from headwater.operations.terminal.command import CommandGroup, Option
from headwater.operations.terminal.connection import database_url, explain_failures, transaction
from headwater.operations.terminal.options import JSON, SPACE
from headwater.operations.terminal.output import print_output
from headwater.spaces.spaces import fetch_space

IMPLIED = (*ALWAYS, "touchpoint_id")

FILE = Option(
    "--output",
    required=True,
    metavar="FILE",
    help="the format follows the name: .ndjson, .csv or .parquet, with .gz for compression",
)
WHOLE_RANGE = Option(
    "--whole-range", action="store_true", default=None, help="export everything, without dates"
)
CREATED = (
    Option("--start-date", metavar="T", help="YYYY-MM-DD HH:MM:SS"),
    Option("--end-date", metavar="T", help="YYYY-MM-DD HH:MM:SS"),
    WHOLE_RANGE,
)
FILE_FORMAT = Option("--format", choices=tuple(Format), help="if FILE's name has no format")
ROWS_PER_FILE = Option("--rows-per-file", metavar="N", help="split into several files: FILE-0002 and so on")


def export(kind: str, settings: Settings, arguments: Namespace) -> int:
    request = asyncio.run(_read_request(kind, settings, arguments))
    url = database_url(settings)
    with explain_failures(settings), psycopg.connect(url, connect_timeout=5) as connection:
        try:
            target = _choose_target(Path(arguments.output))
            rows = _write(connection, arguments.space, request, target)
        except OSError as error:
            raise Failure(f"{arguments.output}: {error.strerror}") from None
    further = {"files": len(rows)} if request.rows_per_file else {}
    print_output({"file": str(target), "rows": sum(rows), **further}, as_json=arguments.json)
    return 0


group = CommandGroup()
group.add(
    "events",
    "the events of a day, or of some days",
    partial(export, "events"),
    Option("--date", metavar="D", help="a day: YYYY-MM-DD, by the Space's clock"),
    Option("--start-date", metavar="D", help="the first day of several"),
    Option("--end-date", metavar="D", help="the last one, included"),
    WHOLE_RANGE,
    Option("--query-mode", metavar="M", help="profile or company (profile)"),
    Option("--event-name", dest="event_names", action="append", metavar="N", help="repeatable"),
    Option("--source", dest="sources", action="append", metavar="N", help="repeatable"),
    Option("--field", dest="fields", action="append", metavar="N", help="repeatable"),
    Option("--attribution-model", metavar="M", help="required with --source"),
    Option("--attribution-window", metavar="DAYS", help="required with --source"),
    SPACE,
    FILE,
    FILE_FORMAT,
    ROWS_PER_FILE,
    JSON,
)
group.add(
    "contacts",
    "contacts by creation time",
    partial(export, "contacts"),
    *CREATED,
    Option("--include-trk-tokens", action="store_true", default=None, help="the last five of each"),
    SPACE,
    FILE,
    FILE_FORMAT,
    ROWS_PER_FILE,
    JSON,
)
group.add(
    "companies",
    "companies by creation time",
    partial(export, "companies"),
    *CREATED,
    SPACE,
    FILE,
    FILE_FORMAT,
    ROWS_PER_FILE,
    JSON,
)


async def _read_request(kind: str, settings: Settings, arguments: Namespace) -> ExportRequest:
    names = [parameter.name for parameter in KINDS[kind].parameters]
    form = _choose_format(arguments)
    values = {name: getattr(arguments, name, None) for name in names}
    values["format"] = form.format
    first, last = None, None
    if kind == "events":
        if not arguments.whole_range:
            first, last = _read_days(arguments)
            del values["start_date"], values["end_date"]
            values["date"] = first
        if values["fields"] is None and form.format is not Format.NDJSON:
            values["fields"] = _all_columns(with_sources=bool(values["sources"]))
    body = {name: value for name, value in values.items() if value is not None}
    async with transaction(settings) as connection:
        space = await fetch_space(connection, arguments.space)
        request = replace(KINDS[kind].read(kind, body, space), form=form)
        if first is None or last is None:
            return request
        days = whole_days(parse_day(first), _read_last_day(first, last), space.zone)
        return replace(request, time=days)


def _read_days(arguments: Namespace) -> tuple[str, str | None]:
    """Return the first and last day of an event export; no last one for a single day. Raise Failure."""
    first, last = arguments.start_date, arguments.end_date
    if bool(first) != bool(last) or bool(arguments.date) == bool(first):
        raise Failure("give either --date, or --start-date and --end-date, or --whole-range")
    return arguments.date or first, last


def _read_last_day(first: str, last: str) -> date:
    """Raise Failure for an invalid day, or one before the first."""
    try:
        day = parse_day(last)
    except ValueError as error:
        raise Failure(f"--end-date {error}") from None
    if day < parse_day(first):
        raise Failure("--end-date must not be before --start-date")
    return day


_ANSWERS = ("heard_about_us", "self_reported_source")


def _all_columns(*, with_sources: bool) -> list[str]:
    """Return every event column except the Space, which is the same in every row, and with sources except
    buyers' answers: a file can have 20 selected columns.
    """
    left_out = {*IMPLIED, "space_id", *(_ANSWERS if with_sources else ())}
    return [
        name
        for name, field in FIELDS.items()
        if name not in left_out and (with_sources or not field.needs_sources)
    ]


def _choose_format(arguments: Namespace) -> FileForm:
    """Choose by option, then file name, else JSON lines."""
    target = Path(arguments.output)
    is_gzip = target.suffix == ".gz"
    ending = target.with_suffix("").suffix if is_gzip else target.suffix
    is_format = ending.removeprefix(".") in frozenset(Format)
    format_ = Format(arguments.format or (ending.removeprefix(".") if is_format else Format.NDJSON))
    if format_ is Format.PARQUET and is_gzip:
        raise Failure("--output must not end in .gz: Parquet is compressed inside")
    return FileForm(format_, is_gzip)


def _choose_target(path: Path) -> Path:
    """Follow links. Raises Failure for a pipe or device, which the complete file would replace."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise Failure(f"{path} is not a file: name one with --output")
    return Path(os.path.realpath(path))


def _write(
    connection: psycopg.Connection[Any], space_id: int, request: ExportRequest, target: Path
) -> list[int]:
    folder = LocalFolder(target.parent)
    files_written: list[str] = []

    @contextmanager
    def open_file(number: int) -> Generator[Sink]:
        name = part_names(target.name, number)[-1]
        with folder.create(name, name) as sink:
            yield sink
        files_written.append(name)

    connection.execute(queries["snapshot"])
    lines = KINDS[request.kind].lines(connection, space_id, request)
    total = connection.execute(lines.count, lines.parameters).fetchone()
    # A credited export has a different number of rows than events.
    total_rows = total[0] if total and "sources" not in request.body else None
    files = FileSet(request.form, request.rows_per_file, open_file)
    with tqdm(total=total_rows, unit=" rows", unit_scale=True, disable=None) as bar:
        try:
            return write_files(connection, lines, files, lambda row_count: bar.update(row_count - bar.n))
        except BaseException:
            for name in files_written:
                folder.delete(name)
            raise
