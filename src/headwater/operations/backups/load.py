"""Load a dump into an empty database, in a transaction that commits only after its checksum is verified."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from typing import IO, Any

import psycopg
from psycopg import Connection

from headwater.database.installation import restore_description
from headwater.database.programs import program_path
from headwater.operations.backups.archive import Archive
from headwater.operations.backups.errors import BackupError
from headwater.operations.backups.programs import connected
from headwater.operations.backups.records import queries
from headwater.operations.backups.snapshot import CONNECT_SECONDS, count_rows

BEGIN, COMMIT = b"BEGIN;\n", b";\nCOMMIT;\n"


def find_anything(url: str) -> str | None:
    """Return the name of a table, if the database has any."""
    with psycopg.connect(url, connect_timeout=CONNECT_SECONDS) as connection:
        row = connection.execute(queries["anything"]).fetchone()
    return row[0] if row is not None else None


def load(url: str, archive: Archive, progress: Callable[[int], object]) -> None:
    """Load a backup's rows. Raises BackupError, which leaves the database empty."""
    arguments, environment = connected(program_path("psql"), url)
    command = [*arguments, "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--file=-"]
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors
        )
        assert process.stdin is not None
        try:
            _feed(process.stdin, archive, progress)
        except BrokenPipeError:
            pass  # psql has ended, and reports why
        except BaseException:
            process.kill()
            process.wait()
            raise
        if process.wait():
            raise BackupError(f"the backup cannot be loaded: {_first_error(errors)}")


def _feed(stream: IO[bytes], archive: Archive, progress: Callable[[int], object]) -> None:
    with stream:
        stream.write(BEGIN)
        for data in archive.chunks(progress):
            stream.write(data)
        stream.write(queries["adopt_schema"].as_bytes() + COMMIT)


def _first_error(file: IO[bytes]) -> str:
    file.seek(0)
    lines = file.read(64 * 1024).decode(errors="replace").splitlines()
    first = next((line for line in lines if "ERROR" in line or "error" in line), "")
    return first.partition("ERROR:")[2].strip() or first or "psql has ended"


def settle(connection: Connection[Any], archive: Archive, secret_key: str | None) -> None:
    """Restore the installation's row, and compare the row counts of all tables with the manifest. Raises
    BackupError.
    """
    manifest = archive.manifest
    restore_description(connection, manifest.installation, secret_key)
    row_counts = count_rows(connection)
    for table in sorted(manifest.tables.keys() | row_counts.keys()):
        if manifest.tables.get(table) != row_counts.get(table):
            raise BackupError(
                f"{archive.path} was not restored completely: {table} has"
                f" {row_counts.get(table, 'no')} rows instead of {manifest.tables.get(table, 'no')}"
            )
