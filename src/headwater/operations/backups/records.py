"""The record of backups in the database: for the console, the metrics and the worker."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection, Connection
from psycopg.rows import class_row

from headwater.database.queries import Queries, fetch_optional
from headwater.operations.backups.manifest import Manifest

queries = Queries(__name__, "backups.sql")

OLD = timedelta(days=7)
"""From this age of the latest backup on, people are warned."""


@dataclass(frozen=True)
class Backup:
    """A backup that was made."""

    name: str
    folder: str
    """On the machine that made it."""
    made_at: datetime
    """The moment whose rows it holds."""
    finished_at: datetime
    bytes: int
    verified_at: datetime | None
    """When it was last restored for trial."""


@dataclass(frozen=True)
class LatestBackup:
    """The age of the latest backup."""

    made_at: datetime
    is_old: bool
    verified_at: datetime | None


def record_backup(connection: Connection[Any], manifest: Manifest, path: Path, size: int) -> None:
    """Note a finished backup."""
    values = {
        "id": manifest.id,
        "made_at": manifest.made_at,
        "bytes": size,
        "name": path.name,
        "folder": str(path.parent),
    }
    connection.execute(queries["record"], values)


def record_verification(connection: Connection[Any], backup_id: UUID) -> None:
    """Note that a backup was restored for trial; one that is not known stays unknown."""
    connection.execute(queries["verified"], {"id": backup_id})


def forget_backups(connection: Connection[Any], ids: list[UUID]) -> None:
    """Delete the notes of backups whose files were removed."""
    connection.execute(queries["forget"], {"ids": ids})


async def list_backups(connection: AsyncConnection, limit: int) -> list[Backup]:
    """The latest backups, the latest first."""
    cursor = connection.cursor(row_factory=class_row(Backup))
    return await (await cursor.execute(queries["list"], {"limit": limit})).fetchall()


async def fetch_latest(connection: AsyncConnection) -> LatestBackup | None:
    """The latest backup, if there is any."""
    cursor = connection.cursor(row_factory=class_row(LatestBackup))
    return await fetch_optional(cursor, queries["latest"], {"old": OLD})


def fetch_latest_folder(connection: Connection[Any]) -> Path | None:
    """The folder of the latest backup, on the machine that made it."""
    row = connection.execute(queries["latest_folder"]).fetchone()
    return Path(row[0]) if row is not None else None
