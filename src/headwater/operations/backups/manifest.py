"""The manifest of a backup: its origin, its time, and its expected content."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from headwater.operations.backups.errors import BackupError

FORMAT = 1


class Dump(msgspec.Struct, frozen=True):
    bytes: int
    """Of the compressed entry."""
    sha256: str
    """Of the compressed entry, in hexadecimal."""
    server_version: str
    program_version: str


class Manifest(msgspec.Struct, frozen=True):
    id: UUID
    installation: dict[str, Any]
    """The row of `installation`, without the secret key. Its id identifies the installation."""
    headwater: str
    migrations: list[str]
    """The names of the applied migrations: the schema's version."""
    made_at: datetime
    """The moment of its snapshot."""
    tables: dict[str, int]
    dump: Dump
    has_secret_key: bool
    schema: str = ""
    """The checksum of the first migration; empty in older backups."""
    format: int = FORMAT

    @property
    def installation_id(self) -> str:
        return str(self.installation["id"])

    @property
    def rows(self) -> int:
        return sum(self.tables.values())


def encode(manifest: Manifest) -> bytes:
    """Return a manifest as indented JSON for readers."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=2)


def decode(text: bytes) -> Manifest:
    """Decode a manifest. Raises BackupError."""
    try:
        if msgspec.json.decode(text, type=dict[str, Any]).get("format") != FORMAT:
            raise BackupError("it has the format of another version of Headwater")
        return msgspec.json.decode(text, type=Manifest)
    except msgspec.DecodeError as error:
        raise BackupError(f"its manifest cannot be read: {error}") from None
