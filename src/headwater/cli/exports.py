"""`headwater export …`: the same exports as the API's, written to a file here; and the process
that works on those of the API.
"""

from __future__ import annotations

import signal
from argparse import Namespace
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import AsyncConnection
from tqdm import tqdm

from headwater import logs
from headwater.cli import leash
from headwater.cli.connect import database_url, in_transaction, told
from headwater.cli.failure import Failure
from headwater.cli.output import show
from headwater.exports.jobs import SQL
from headwater.exports.kinds import KINDS
from headwater.exports.models import ExportRequest
from headwater.exports.running import Stopped, work
from headwater.exports.storage import LocalFolder, Sink, open_storage
from headwater.exports.streaming import compressed, write_lines
from headwater.settings import Settings
from headwater.spaces.spaces import fetch_space


def export(settings: Settings, arguments: Namespace) -> int:
    """Write an export to a file: whole, or not at all."""
    request = _request(settings, arguments)
    url = database_url(settings)
    target = Path(arguments.output).absolute()
    with told(settings), psycopg.connect(url, connect_timeout=5) as connection:
        try:
            with _file(target) as sink:
                rows = _write(connection, arguments.space, request, sink)
        except OSError as error:
            raise Failure(f"{target}: {error.strerror}") from None
    show({"file": str(target), "rows": rows}, as_json=arguments.json)
    return 0


def exporter(settings: Settings, arguments: Namespace) -> int:
    """Work on the API's exports until none waits."""
    logs.configure(settings.log_level, settings.log_format)

    def end(_: int, __: Any) -> None:
        raise Stopped

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    leash.hold(arguments)
    url = database_url(settings)
    try:
        with psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
            work(connection, open_storage(settings), url)
    except (Stopped, psycopg.OperationalError):
        return 0  # the worker starts another when there is still something to do
    return 0


def _request(settings: Settings, arguments: Namespace) -> ExportRequest:
    kind = KINDS[arguments.kind]
    given = {one.name: getattr(arguments, one.name) for one in kind.parameters}
    body = {name: value for name, value in given.items() if value is not None}

    async def act(connection: AsyncConnection) -> ExportRequest:
        space = await fetch_space(connection, arguments.space)
        return kind.read(arguments.kind, body, space)

    return in_transaction(settings, act)


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
    connection.execute(SQL["snapshot"])
    lines = KINDS[request.kind].lines(connection, space_id, request)
    total = connection.execute(lines.count, lines.parameters).fetchone()
    # A credited export has another number of rows than the events it comes from.
    known = total[0] if total and "sources" not in request.body else None
    with tqdm(total=known, unit=" rows", unit_scale=True, disable=None) as bar:
        return write_lines(connection, lines, sink, lambda done: bar.update(done - bar.n))
