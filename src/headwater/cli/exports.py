"""`headwater export …`: the same exports as the API's, written to a file here; and the process
that works on those of the API.
"""

from __future__ import annotations

import signal
from argparse import Namespace
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import psycopg
from psycopg import AsyncConnection
from tqdm import tqdm

from headwater import logs
from headwater.cli.connect import database_url, in_transaction, told
from headwater.cli.failure import Failure
from headwater.cli.output import show
from headwater.events.fields import ALWAYS, FIELDS
from headwater.exports.jobs import queries
from headwater.exports.kinds import KINDS
from headwater.exports.models import ExportRequest
from headwater.exports.stream import compressed, write_lines
from headwater.exports.tables import CsvSink
from headwater.exports.worker import StopRequested, work
from headwater.files import keep_private
from headwater.http.timerange import parse_day, whole_days
from headwater.jobs import leash
from headwater.settings import Settings
from headwater.spaces.spaces import fetch_space
from headwater.storage import LocalFolder, Sink, open_storage

IMPLIED = (*ALWAYS, "touchpoint_id")
"""Fields that every row has, whether they are chosen or not."""


def export(settings: Settings, arguments: Namespace) -> int:
    """Write an export to a file: whole, or not at all."""
    request = _request(settings, arguments)
    url = database_url(settings)
    target = Path(arguments.output).absolute()
    with told(settings), psycopg.connect(url, connect_timeout=5) as connection:
        try:
            with _file(target) as file:
                sink = CsvSink(file) if _form(target, arguments.format) == "csv" else file
                rows = _write(connection, arguments.space, request, sink)
        except OSError as error:
            raise Failure(f"{target}: {error.strerror}") from None
    show({"file": str(target), "rows": rows}, as_json=arguments.json)
    return 0


def exporter(settings: Settings, arguments: Namespace) -> int:
    """Work on the API's exports until none waits."""
    keep_private()
    logs.configure(settings.log_level, settings.log_format)

    def end(_: int, __: Any) -> None:
        raise StopRequested

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    leash.hold(arguments)
    url = database_url(settings)
    try:
        with psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
            work(connection, open_storage(settings), url)
    except (StopRequested, psycopg.OperationalError):
        return 0  # the worker starts another when there is still something to do
    return 0


def _request(settings: Settings, arguments: Namespace) -> ExportRequest:
    kind = KINDS[arguments.kind]
    values = {one.name: getattr(arguments, one.name) for one in kind.parameters}
    first, last = _days(arguments)
    if arguments.kind == "events":
        values["date"] = first
        if values["fields"] is None and _form(Path(arguments.output), arguments.format) == "csv":
            values["fields"] = _columns(with_sources=bool(values["sources"]))
    body = {name: value for name, value in values.items() if value is not None}

    async def act(connection: AsyncConnection) -> ExportRequest:
        space = await fetch_space(connection, arguments.space)
        request = kind.read(arguments.kind, body, space)
        if last is None or first is None:
            return request
        return replace(
            request, time=whole_days(parse_day(first), _last_day(first, last), space.zone)
        )

    return in_transaction(settings, act)


def _days(arguments: Namespace) -> tuple[str | None, str | None]:
    """The first and the last day of an export of events. Raises Failure."""
    if arguments.kind != "events":
        return None, None
    first, last = arguments.start_date, arguments.end_date
    if bool(first) != bool(last) or bool(arguments.date) == bool(first):
        raise Failure("give either --date, or --start-date and --end-date")
    return arguments.date or first, last


def _last_day(first: str, last: str) -> date:
    """Raises Failure for what is no day, or one before the first."""
    try:
        day = parse_day(last)
    except ValueError as error:
        raise Failure(f"--end-date {error}") from None
    if day < parse_day(first):
        raise Failure("--end-date must not be before --start-date")
    return day


def _columns(*, with_sources: bool) -> list[str]:
    """Every column of events that there is: somebody who opens a table wants to see."""
    return [
        name for name, field in FIELDS.items()
        if name not in IMPLIED and (with_sources or not field.of_touch)
    ]  # fmt: skip


def _form(target: Path, given: str | None) -> str:
    """The form of a file: as told, or as its name says, or lines of JSON."""
    if given is not None:
        return given
    return "csv" if ".csv" in target.suffixes[-2:] else "ndjson"


@contextmanager
def _file(target: Path) -> Generator[Sink]:
    """The file, compressed when its name says so."""
    with LocalFolder(target.parent).create(target.name, target.name) as sink:
        if target.suffix != ".gz":
            yield sink
            return
        with compressed(sink) as stream:
            yield stream


def _write(
    connection: psycopg.Connection[Any], space_id: int, request: ExportRequest, sink: Sink
) -> int:
    connection.execute(queries["snapshot"])
    lines = KINDS[request.kind].lines(connection, space_id, request)
    total = connection.execute(lines.count, lines.parameters).fetchone()
    # A credited export has another number of rows than the events it comes from.
    known = total[0] if total and "sources" not in request.body else None
    with tqdm(total=known, unit=" rows", unit_scale=True, disable=None) as bar:
        return write_lines(connection, lines, sink, lambda done: bar.update(done - bar.n))
