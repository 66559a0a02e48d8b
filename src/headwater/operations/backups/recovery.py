"""Recovery of a database to an earlier time by PostgreSQL, from a base backup and its log or a disk snapshot,
continued like a restore.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from headwater.database.data_directory import DirectoryInUseError, lock_directory
from headwater.database.embedded import Embedded
from headwater.database.installation import begin_restore, fetch_description
from headwater.database.queries import fetch_row
from headwater.operations.backups.errors import BackupError
from headwater.operations.backups.journal import Journal
from headwater.operations.backups.records import queries
from headwater.operations.backups.restoration import FAILURES, Restored, catch_up
from headwater.operations.backups.snapshot import CONNECT_SECONDS


@contextmanager
def recovered_server(data_dir: Path) -> Generator[str]:
    """Run the embedded PostgreSQL of a data directory alone, and yield its URL. Raises BackupError,
    Failure.
    """
    server = Embedded(data_dir)
    if not server.cluster.exists():
        raise BackupError(f"no Headwater data in {server.root}; name its --data-dir")
    try:
        lock = lock_directory(server.root)
    except DirectoryInUseError:
        raise BackupError(f"`headwater serve` runs on {server.root}: stop it first") from None
    with lock:
        try:
            yield server.start(tied=True)
        finally:
            server.stop()


def finish_recovery(url: str, moment: datetime, journal: Journal | None) -> Restored:
    """Apply a journal's erasures to a database from `moment`, and skip ids that may have been used since.
    Raises BackupError. After an interruption nothing starts on the database, and this can run again.
    """
    if moment > datetime.now(UTC):
        raise BackupError("--recovered-to is in the future")
    with psycopg.connect(url, autocommit=True, connect_timeout=CONNECT_SECONDS) as connection:
        _refuse_unfit(connection, journal)
        begin_restore(connection)
    try:
        return catch_up(url, moment, journal.erasures if journal is not None else ())
    except FAILURES as error:
        raise BackupError(
            f"{error}. Nothing starts on the database until the same command has finished"
        ) from None


def _refuse_unfit(connection: psycopg.Connection, journal: Journal | None) -> None:
    row = fetch_row(connection, queries["recovering"])
    recovers, has_others = row
    if recovers:
        raise BackupError("PostgreSQL is still recovering: promote it first")
    if has_others:
        raise BackupError(
            f"{has_others} other sessions use the database: stop every process of Headwater first"
        )
    installation_id = fetch_description(connection)["id"]
    if journal is not None and journal.installation_id != installation_id:
        raise BackupError("the journal of erasures belongs to another installation")
