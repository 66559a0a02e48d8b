"""A file that only looks like a backup is refused with a reason, before it costs much."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from headwater.operations.backups import archive as archives
from headwater.operations.backups import verification
from headwater.operations.backups.archive import DUMP, MANIFEST, SECRET_KEY, open_archive
from headwater.operations.backups.errors import BackupError

MB = 1024 * 1024
DUMPED = b"SELECT 1;\n" * 50


def write(path: Path, dump: bytes, *, packed: bool = False, **files: bytes) -> Path:
    """Write a backup with this compressed dump and a valid manifest."""
    manifest = {
        "format": 1, "id": "00000000-0000-0000-0000-000000000001", "installation": {"id": "1"},
        "headwater": "0.1.0", "migrations": ["0001"], "made_at": "2026-05-01T00:00:00Z",
        "tables": {"contacts": 1}, "has_secret_key": SECRET_KEY in files,
        "dump": {"bytes": len(dump), "sha256": hashlib.sha256(dump).hexdigest(),
                 "server_version": "18.1", "program_version": "18.1"},
    }  # fmt: skip
    compression = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w", compression) as file:
        file.writestr(DUMP, dump)
        for name, content in files.items():
            file.writestr(name, content)
        file.writestr(MANIFEST, json.dumps(manifest))
    return path


def unpacked_size(path: Path) -> int:
    with open_archive(path) as archive:
        return sum(map(len, archive.chunks(lambda _: None)))


def bomb(size: int, level: int = 9) -> bytes:
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=level, mtime=0) as stream:
        for _ in range(size // MB):
            stream.write(bytes(MB))
    return buffer.getvalue()


@pytest.fixture(scope="module")
def large_content() -> bytes:
    """Return 200 MB of zeros in gzip, a thousandth of that size."""
    return bomb(200 * MB)


def test_it_works(tmp_path: Path, large_content: bytes) -> None:
    assert unpacked_size(write(tmp_path / "good.zip", gzip.compress(DUMPED))) == len(DUMPED)
    with pytest.raises(BackupError, match="unpacks to more than 200 times"):
        unpacked_size(write(tmp_path / "bomb.zip", large_content))


def test_a_bomb_within_a_bomb(tmp_path: Path, large_content: bytes) -> None:
    with pytest.raises(BackupError, match="unpacks to more than"):
        unpacked_size(write(tmp_path / "bomb.zip", large_content, packed=True))


def test_no_piece_is_large(tmp_path: Path) -> None:
    with open_archive(write(tmp_path / "b.zip", bomb(32 * MB))) as archive:
        assert max(map(len, archive.chunks(lambda _: None))) <= archives.PIECE_BYTES


@pytest.mark.parametrize(
    "trailing_bytes", [b"x", b"\0" * MB, gzip.compress(DUMPED)], ids=["a letter", "zeros", "another dump"]
)
def test_anything_behind_the_dump(tmp_path: Path, trailing_bytes: bytes) -> None:
    with pytest.raises(BackupError, match="damaged"):
        unpacked_size(write(tmp_path / "b.zip", gzip.compress(DUMPED) + trailing_bytes))


def test_too_many_files(tmp_path: Path) -> None:
    extra_files = {f"{number}.txt": b"" for number in range(archives.MAX_ENTRIES)}
    with pytest.raises(BackupError, match="holds more than 16 files"):
        unpacked_size(write(tmp_path / "b.zip", gzip.compress(DUMPED), **extra_files))


def test_a_manifest_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "b.zip", gzip.compress(DUMPED))
    with zipfile.ZipFile(path) as file:
        size = file.getinfo(MANIFEST).file_size
    monkeypatch.setattr(archives, "MOST_MANIFEST_BYTES", size)
    assert unpacked_size(path) == len(DUMPED)
    monkeypatch.setattr(archives, "MOST_MANIFEST_BYTES", size - 1)
    with pytest.raises(BackupError, match="manifest is too large"):
        unpacked_size(path)


def test_a_disk_that_fills_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = SimpleNamespace(free=100 * MB)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    watch = verification._watching(tmp_path, lambda _: None)
    with pytest.raises(BackupError, match="not enough space"):
        watch(1)
    path = write(tmp_path / "b.zip", gzip.compress(DUMPED))
    with open_archive(path) as archive, pytest.raises(BackupError, match=r"^there is not enough space"):
        list(archive.chunks(watch))
