"""Restore a backup: its rows, this version's schema, and the erasures requested since.

Nothing starts on a database before that. An embedded one is built inside the new data directory and moved
into place at the end; an external one is marked until then.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from msgspec import Struct
from psycopg import Connection

from headwater.attribution.history.revisions import begin_era
from headwater.base.failure import Failure
from headwater.base.files import sync_directory, write_private
from headwater.database import sockets
from headwater.database.data_directory import LOCK, DirectoryInUseError, lock_directory, restoration_directory
from headwater.database.embedded import Embedded
from headwater.database.installation import finish_restore
from headwater.database.jobs.connection import connect
from headwater.database.migrator import TAKE_ALONG, migrate, migrations, schema_checksum
from headwater.database.queries import fetch_row
from headwater.operations.backups.archive import Archive
from headwater.operations.backups.errors import BackupError
from headwater.operations.backups.load import find_anything, load, settle
from headwater.operations.backups.records import queries
from headwater.privacy.erasure_job import erase_again, erase_all
from headwater.privacy.erasures import PastErasure
from headwater.spaces.secret_key import key_file

SERVER = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "autovacuum": "off",
    "maintenance_work_mem": "256MB",
}
"""Settings of an embedded server during a restore: it is synced at the end, or discarded."""
IDS_A_SECOND = 10_000
"""Above any rate of new contacts or events, to estimate the ids used since."""
LEAST_GAP = 1_000_000
"""The least number of skipped ids, in case clocks are wrong."""
MOVED = ("postgresql.password", "secret.key", "postgresql")
"""The results of a restore in a data directory; moving the last one completes it."""

FAILURES = (Failure, psycopg.Error, OSError, subprocess.CalledProcessError)

Progress = Callable[[int], object]
"""Receives the bytes of the dump read so far."""


class Sealed(Struct, frozen=True):
    destinations: int
    webhooks: int
    sites: int


class Restored(Struct, frozen=True):
    migrated: list[str]
    erased: int
    """Erasures requested since the backup, and carried out again."""
    waiting: int
    """Failed erasures, which the worker retries."""
    sealed: Sealed


def refuse_other_schema(archive: Archive) -> None:
    """Raise BackupError if this version does not know the backup's schema."""
    if archive.manifest.schema != schema_checksum():
        raise BackupError(
            f"{archive.path} was made by a version of Headwater from before the first release, with"
            f" another schema: {TAKE_ALONG}"
        )
    own_names = {migration.name for migration in migrations()}
    newer_migrations = sorted(set(archive.manifest.migrations) - own_names)
    if newer_migrations:
        raise BackupError(
            f"{archive.path} was made by Headwater {archive.manifest.headwater} and has the"
            f" migration {newer_migrations[0]}, which this version lacks: restore it with that version or a"
            " newer one"
        )


def restore_embedded(
    data_dir: Path, archive: Archive, erasures: Sequence[PastErasure], progress: Progress
) -> Restored:
    """Restore into a new data directory. Raises BackupError, which leaves it without a database."""
    refuse_other_schema(archive)
    final = Embedded(data_dir)
    with _alone(final):
        _refuse_used(final)
        building = restoration_directory(final.root)
        try:
            shutil.rmtree(building, ignore_errors=True)
            with scratch_server(building) as url:
                load(url, archive, progress)
                # The key is in a file here, so a copy of the database decrypts nothing.
                restored_data = bring_up(url, archive, erasures, None)
            if archive.secret_key is not None:
                write_private(key_file(building), f"{archive.secret_key}\n")
            Embedded(building).sync()
            _move(building, final.root)
        except BaseException as error:
            if not final.cluster.exists():
                _remove(building, final.root)
            if isinstance(error, FAILURES):
                raise BackupError(
                    f"{_reason(error)}. Nothing was restored; {final.root} can be used again"
                ) from None
            raise
        shutil.rmtree(building, ignore_errors=True)
        sync_directory(final.root)
    return restored_data


def restore_external(
    url: str, archive: Archive, erasures: Sequence[PastErasure], progress: Progress
) -> Restored:
    """Restore into an empty database. Raises BackupError: nothing starts on the partial result."""
    refuse_other_schema(archive)
    table = find_anything(url)
    if table is not None:
        raise BackupError(
            f"the database is not empty: it has {table}. Create an empty one and set"
            " HEADWATER_DATABASE_URL to it. If this one is from an earlier restore, drop it first"
        )
    load(url, archive, progress)
    try:
        return bring_up(url, archive, erasures, archive.secret_key)
    except FAILURES as error:
        raise BackupError(
            f"{_reason(error)}. The restore is unfinished, and nothing starts on this database:"
            " drop it, create an empty one, and run the restore again"
        ) from None


def bring_up(url: str, archive: Archive, erasures: Sequence[PastErasure], secret_key: str | None) -> Restored:
    """Turn the rows of a backup into an installation of this version. Raises BackupError, Failure."""
    with psycopg.connect(url, autocommit=True) as connection:
        settle(connection, archive, secret_key)
    return catch_up(url, archive.manifest.made_at, erasures)


def catch_up(url: str, moment: datetime, erasures: Sequence[PastErasure]) -> Restored:
    """Turn a database from an earlier moment into an installation of this version, no longer marked. Raises
    Failure, psycopg.Error.
    """
    migrated = migrate(url)
    with psycopg.connect(url, autocommit=True) as connection:
        _skip_ids(connection, moment)
        connection.execute(queries["analyze"])
    with connect(url) as connection:
        requested_count = erase_again(connection, erasures)
        waiting_count = erase_all(connection)
        sealed = _count_sealed(connection)
        begin_era(connection)
        finish_restore(connection)
    return Restored(migrated, requested_count, waiting_count, sealed)


@contextmanager
def scratch_server(directory: Path) -> Generator[str]:
    """Run a new embedded PostgreSQL without syncing to disk, and yield its URL."""
    server = Embedded(directory)
    try:
        yield server.start(SERVER, tied=True)
    except OSError as error:
        raise BackupError(f"cannot write {directory}: {error.strerror or error}") from None
    finally:
        server.stop()
        if server.sockets != sockets.inside(server.root):
            with suppress(OSError):
                server.sockets.rmdir()


def _skip_ids(connection: Connection[Any], made_at: datetime) -> None:
    """Skip the ids that may have been used since the backup: ad platforms and senders know them, and erasures
    in the journal must not affect other people.
    """
    seconds = (datetime.now(UTC) - made_at).total_seconds()
    gap = max(LEAST_GAP, round(seconds * IDS_A_SECOND))
    for (sequence,) in connection.execute(queries["sequences"]).fetchall():
        connection.execute(queries["skip"], {"sequence": sequence, "gap": gap})


def _count_sealed(connection: Connection[Any]) -> Sealed:
    row = fetch_row(connection, queries["sealed"])
    return Sealed(*row)


@contextmanager
def _alone(server: Embedded) -> Generator[None]:
    """Raises BackupError."""
    try:
        server.make_root()
        lock = lock_directory(server.root)
    except DirectoryInUseError:
        raise BackupError(
            f"`headwater serve`, or another restore, runs on {server.root}; restore into a new directory"
        ) from None
    except OSError as error:
        raise BackupError(f"cannot use {server.root}: {error.strerror or error}") from None
    with lock:
        yield


def _refuse_used(server: Embedded) -> None:
    """Raise BackupError for files that no restore left."""
    building = restoration_directory(server.root)
    own_names = {LOCK, building.name, *(MOVED[:-1] if building.exists() else ())}
    other_entries = sorted(entry.name for entry in server.root.iterdir() if entry.name not in own_names)
    if "lost+found" in other_entries:
        other_entries.remove("lost+found")
    if other_entries:
        raise BackupError(
            f"{server.root} is not empty: it holds {other_entries[0]}. Restore into a new directory"
        )


def _remove(building: Path, root: Path) -> None:
    for name in MOVED[:-1]:
        (root / name).unlink(missing_ok=True)
    shutil.rmtree(building, ignore_errors=True)


def _reason(error: BaseException) -> str:
    """Omit PostgreSQL's second line, which could quote a row."""
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def _move(building: Path, root: Path) -> None:
    """Move a complete cluster into place, after the files next to it."""
    for name in MOVED:
        with suppress(FileNotFoundError):
            (building / name).rename(root / name)
        sync_directory(root)
