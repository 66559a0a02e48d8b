from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from msgspec import Struct
from psycopg import AsyncConnection, Connection

from headwater.database.queries import Queries, fetch_optional, make_cursor
from headwater.operations.backups.manifest import Manifest

queries = Queries(__name__, "backups.sql")

OLD = timedelta(days=7)
"""Warn when the latest backup is this old."""


@dataclass(frozen=True)
class Backup:
    name: str
    folder: str
    made_at: datetime
    finished_at: datetime
    bytes: int
    verified_at: datetime | None


class LatestBackup(Struct, frozen=True):
    made_at: datetime
    is_old: bool
    verified_at: datetime | None


def record_backup(connection: Connection[Any], manifest: Manifest, path: Path, size: int) -> None:
    values = {
        "id": manifest.id,
        "made_at": manifest.made_at,
        "bytes": size,
        "name": path.name,
        "folder": str(path.parent),
    }
    connection.execute(queries["record"], values)


def record_verification(connection: Connection[Any], backup_id: UUID) -> None:
    """Record a trial restore; an unknown backup stays unknown."""
    connection.execute(queries["verified"], {"id": backup_id})


def forget_backups(connection: Connection[Any], ids: list[UUID]) -> None:
    connection.execute(queries["forget"], {"ids": ids})


async def list_backups(connection: AsyncConnection, limit: int) -> list[Backup]:
    return await (await make_cursor(connection, Backup).execute(queries["list"], {"limit": limit})).fetchall()


async def fetch_latest(connection: AsyncConnection) -> LatestBackup | None:
    return await fetch_optional(make_cursor(connection, LatestBackup), queries["latest"], {"old": OLD})


def fetch_latest_folder(connection: Connection[Any]) -> Path | None:
    """Return the folder of the latest backup, on the machine that made it."""
    row = connection.execute(queries["latest_folder"]).fetchone()
    return Path(row[0]) if row is not None else None
