"""A backup file: a zip archive that any tool can open, with the dump as compressed SQL, the manifest, and
optionally the secret key. The manifest and the archive's directory are at its end, so a truncated file is
noticed.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO
from zipfile import BadZipFile, ZipFile

from isal import igzip

from headwater.base.files import sync_directory, try_lock
from headwater.operations.backups.errors import BackupError
from headwater.operations.backups.manifest import Manifest, decode, encode

DUMP, MANIFEST, SECRET_KEY = "database.sql.gz", "manifest.json", "secret.key"
SUFFIX = ".zip"
PARTIAL = ".partial"
LEVEL = 2
CHUNK_BYTES = 1024 * 1024
MOST_MANIFEST_BYTES = 16 * 1024 * 1024
MAX_ENTRIES = 16
MAX_KEY_BYTES = 4096
MAX_RATIO = 200
"""Bytes of SQL for each byte of the file. Dumps have 5 to 30; a bomb has a thousand and more."""
FREE_OF_RATIO = 64 * 1024 * 1024
"""Bytes of SQL unpacked at any ratio, because an empty database compresses well."""
PIECE_BYTES = 4 * 1024 * 1024
"""Bytes of SQL unpacked at a time."""
_DAMAGE = (BadZipFile, EOFError, KeyError, OSError, RuntimeError, zlib.error)
"""The errors from reading a damaged file. zipfile raises RuntimeErrors: lost bits make an entry look
encrypted or packed in an unknown way.
"""


class ArchiveWriter:
    def __init__(self, file: IO[bytes]) -> None:
        self._zip = ZipFile(file, "w", allowZip64=True)
        self.bytes = 0
        self._hash = hashlib.sha256()

    @contextmanager
    def dump(self) -> Generator[igzip.IGzipFile]:
        with self._zip.open(DUMP, "w", force_zip64=True) as self._entry, self._compressed() as dump_stream:
            yield dump_stream

    def _compressed(self) -> igzip.IGzipFile:
        return igzip.IGzipFile(filename="", mode="wb", compresslevel=LEVEL, fileobj=self, mtime=0)

    def write(self, data: bytes) -> int:
        self._hash.update(data)
        self.bytes += len(data)
        return self._entry.write(data)

    def flush(self) -> None:
        """Do nothing: the archive is synced at its end."""

    @property
    def sha256(self) -> str:
        """Return the checksum of the compressed dump so far."""
        return self._hash.hexdigest()

    def finish(self, manifest: Manifest, secret_key: str | None) -> None:
        """Write the entries after the dump, and the archive's directory."""
        if secret_key is not None:
            self._zip.writestr(SECRET_KEY, f"{secret_key}\n")
        self._zip.writestr(MANIFEST, encode(manifest))
        self._zip.close()

    def close(self) -> None:
        """Close the archive, even an unfinished one. Its file must still be open."""
        with suppress(OSError):
            self._zip.close()


@contextmanager
def create(target: Path, *, overwrite: bool) -> Generator[ArchiveWriter]:
    """Write a new backup to a temporary file, readable by this account alone, and rename it once it is on
    disk. Raises BackupError.
    """
    partial = target.with_name(target.name + PARTIAL)
    try:
        with _open_alone(partial) as file, closing(ArchiveWriter(file)) as archive:
            try:
                yield archive
                file.flush()
                os.fsync(file.fileno())
                if not overwrite:
                    refuse_existing(target)
                partial.replace(target)
            except BaseException:
                with suppress(OSError):
                    partial.unlink(missing_ok=True)
                raise
        sync_directory(target.parent)
    except OSError as error:
        raise BackupError(f"cannot write {target}: {error.strerror or error}") from None


def refuse_existing(target: Path) -> None:
    if target.exists():
        raise BackupError(f"{target} exists; use --force to replace it")


@contextmanager
def _open_alone(partial: Path) -> Generator[IO[bytes]]:
    """Open a file exclusively; overwrite a killed backup's."""
    descriptor = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "r+b") as file:  # noqa: PTH123 # it is open already
        if not try_lock(file):
            raise BackupError(f"another backup is being written to {partial}")
        os.fchmod(descriptor, 0o600)
        file.truncate()
        yield file


def remove_leftovers(folder: Path) -> None:
    for partial in folder.glob(f"headwater-*{SUFFIX}{PARTIAL}"):
        with suppress(OSError), partial.open("r+b") as file:
            if try_lock(file):
                partial.unlink()


class Archive:
    def __init__(self, path: Path, archive: ZipFile, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest
        self._zip = archive

    @property
    def secret_key(self) -> str | None:
        """Return the secret key, if the backup contains it. Raises BackupError if it is damaged."""
        if not self.manifest.has_secret_key:
            return None
        with _refuse_damage(self.path), self._zip.open(SECRET_KEY) as entry:
            return entry.read(MAX_KEY_BYTES).decode().strip()

    def chunks(self, progress: Callable[[int], object]) -> Generator[bytes]:
        """Yield the dump's SQL in chunks; `progress` receives the compressed bytes read. Raises BackupError
        if the SQL differs from the original, and before it grows larger than a dump of this size can be.
        """
        checksum, read_bytes, unpacked = hashlib.sha256(), 0, 0
        max_bytes = FREE_OF_RATIO + MAX_RATIO * self.path.stat().st_size
        inflate = zlib.decompressobj(wbits=31)
        with _refuse_damage(self.path), self._zip.open(DUMP) as entry:
            while (data := entry.read(CHUNK_BYTES)) and not inflate.eof:
                checksum.update(data)
                read_bytes += len(data)
                progress(read_bytes)
                while data and not inflate.eof:
                    chunk = inflate.decompress(data, PIECE_BYTES)
                    data = inflate.unconsumed_tail
                    unpacked += len(chunk)
                    if unpacked > max_bytes:
                        raise BackupError(
                            f"{self.path} is not a Headwater backup: it unpacks to more than"
                            f" {MAX_RATIO} times its size"
                        )
                    yield chunk
        if (
            data
            or inflate.unused_data
            or checksum.hexdigest() != self.manifest.dump.sha256
            or not inflate.eof
        ):
            raise BackupError(f"{self.path} is damaged: its dump has another checksum")


@contextmanager
def open_archive(path: Path) -> Generator[Archive]:
    """Open a backup. Raises BackupError if the file is not a backup, is truncated or cannot be read."""
    try:
        archive = ZipFile(path)
    except FileNotFoundError:
        raise BackupError(f"there is no file {path}") from None
    except OSError as error:
        raise BackupError(f"cannot read {path}: {error.strerror}") from None
    except _DAMAGE:
        raise BackupError(f"{path} is not a Headwater backup, or is truncated") from None
    with archive:
        if len(archive.infolist()) > MAX_ENTRIES:
            raise BackupError(f"{path} is not a Headwater backup: it holds more than {MAX_ENTRIES} files")
        yield Archive(path, archive, _read_manifest(path, archive))


def _read_manifest(path: Path, archive: ZipFile) -> Manifest:
    if MANIFEST not in archive.namelist():
        raise BackupError(f"{path} is not a Headwater backup: it holds no manifest")
    with _refuse_damage(path), archive.open(MANIFEST) as entry:
        text = entry.read(MOST_MANIFEST_BYTES + 1)
    if len(text) > MOST_MANIFEST_BYTES:
        raise BackupError(f"{path} is not a Headwater backup: its manifest is too large")
    try:
        return decode(text)
    except BackupError as error:
        raise BackupError(f"{path} cannot be restored: {error}") from None


@contextmanager
def _refuse_damage(path: Path) -> Generator[None]:
    """Raises BackupError if the block finds damage."""
    try:
        yield
    except BackupError:
        raise
    except _DAMAGE as error:
        raise BackupError(f"{path} is damaged: {error}") from None
