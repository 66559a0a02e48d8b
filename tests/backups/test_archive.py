"""Reading a backup's file: the written content, or a refusal if any bit is wrong."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest

from headwater.operations.backups.archive import create, open_archive
from headwater.operations.backups.errors import BackupError
from headwater.operations.backups.manifest import Dump, Manifest

SQL, KEY = b"SELECT 1;\n" * 50, "k" * 64


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "backup.zip"
    with create(path, overwrite=False) as archive:
        with archive.dump() as stream:
            stream.write(SQL)
        dump = Dump(archive.bytes, archive.sha256, "18.1", "18.1")
        manifest = Manifest(
            id=UUID(int=1), installation={"id": "1"}, headwater="0.1.0", migrations=["0001"],
            made_at=datetime(2026, 5, 1, tzinfo=UTC), tables={"contacts": 1}, dump=dump,
            has_secret_key=True,
        )  # fmt: skip
        archive.finish(manifest, KEY)
    return path


def read(path: Path) -> tuple[bytes, str | None]:
    with open_archive(path) as archive:
        return b"".join(archive.chunks(lambda _: None)), archive.secret_key


def test_it_works(file: Path) -> None:
    assert read(file) == (SQL, KEY)


@pytest.mark.parametrize("bits", [0x01, 0x20, 0xFF])
def test_a_lost_bit_anywhere(file: Path, bits: int) -> None:
    """This includes bits of the secret key, of an encryption flag and of a name."""
    content, refusals = file.read_bytes(), 0
    for offset in range(len(content)):
        file.write_bytes(content[:offset] + bytes([content[offset] ^ bits]) + content[offset + 1 :])
        try:
            assert read(file) == (SQL, KEY)
        except BackupError:
            refusals += 1
    assert refusals > len(content) / 2


def test_a_file_that_was_cut_short(file: Path) -> None:
    content = file.read_bytes()
    for length in range(len(content)):
        file.write_bytes(content[:length])
        with pytest.raises(BackupError):
            read(file)
