"""The manifest of a backup: what it is of, from when, and what has to come back from it."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from headwater.operations.backups.errors import BackupError

FORMAT = 1


class Dump(msgspec.Struct, frozen=True):
    """The compressed SQL in a backup."""

    bytes: int
    """Of the entry, compressed."""
    sha256: str
    """Of the same, in hexadecimal."""
    server_version: str
    """Of the PostgreSQL that was read."""
    program_version: str
    """Of the pg_dump that read it."""


class Manifest(msgspec.Struct, frozen=True):
    """A backup's description of itself."""

    id: UUID
    installation: dict[str, Any]
    """The row of `installation`, without the secret key. Its id says whose backup this is."""
    headwater: str
    """The version of Headwater that made it."""
    migrations: list[str]
    """The names of those applied: the schema's version."""
    made_at: datetime
    """The moment whose rows it holds."""
    tables: dict[str, int]
    """The number of rows of every table."""
    dump: Dump
    has_secret_key: bool
    schema: str = ""
    """The checksum of the first migration; empty in backups from before it was kept here."""
    format: int = FORMAT

    @property
    def installation_id(self) -> str:
        """The id of the installation that was backed up."""
        return str(self.installation["id"])

    @property
    def rows(self) -> int:
        """The number of rows of all tables."""
        return sum(self.tables.values())


def encode(manifest: Manifest) -> bytes:
    """Return a manifest as indented JSON, for people who look into the file."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2)


def decode(text: bytes) -> Manifest:
    """Return the manifest that a backup holds. Raises BackupError."""
    try:
        if msgspec.json.decode(text, type=dict[str, Any]).get("format") != FORMAT:
            raise BackupError("its form is that of another version of Headwater")
        return msgspec.json.decode(text, type=Manifest)
    except msgspec.DecodeError as error:
        raise BackupError(f"its manifest cannot be read: {error}") from None
