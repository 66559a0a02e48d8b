"""Storage of generated and uploaded files: a local folder, or a bucket of S3, Google or Azure by URL.

A file appears complete or not at all: a local file is moved into place, a bucket's multipart upload is
completed at the end.
"""

from __future__ import annotations

import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO, Protocol, cast

import obstore
import structlog
from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, S3Store, from_url

from headwater.base.files import OURS_ALONE, close_to_others, sync_directory
from headwater.base.settings import Settings

CONTENT_TYPES = {
    ".ndjson": "application/x-ndjson",
    ".csv": "text/csv; charset=utf-8",
    ".parquet": "application/vnd.apache.parquet",
}
"""By file suffix. Files with other suffixes are gzip-compressed, or internal."""
BUFFER_BYTES = 8 * 1024 * 1024
"""Buffer size of a file on its way to a bucket; it allows files of 80 GB."""

_PARTIAL = ".partial"

log = structlog.get_logger()


def content_type(name: str) -> str:
    """Return a file's content type, by name."""
    return CONTENT_TYPES.get(Path(name).suffix, "application/gzip")


class Sink(Protocol):
    def write(self, data: bytes, /) -> object: ...


class Storage(ABC):
    @abstractmethod
    def create(self, name: str, download_name: str) -> AbstractContextManager[Sink]:
        """Open a new file for writing; an error in the context leaves no file. Raise OSError.

        Browsers save it as `download_name`.
        """

    @abstractmethod
    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a file for reading from any position. Raise OSError."""

    @abstractmethod
    def read_head(self, name: str, size: int) -> bytes:
        """Return a file's first bytes. Raise OSError."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Remove a file, or a killed process's leftovers, if it exists."""

    @abstractmethod
    def move(self, name: str, target: str) -> None:
        """Move a file to another name, which may have folders, replacing any file there. Raise OSError."""

    @abstractmethod
    def link(self, name: str, expires_in: timedelta) -> str | None:
        """Return a link to a file served by the store; None if Headwater serves it."""

    def discard(self, names: Iterable[str]) -> bool:
        """Delete files. Log a failure and return False: it must not end the process that records it."""
        name = ""
        try:
            for name in names:
                self.delete(name)
        except (OSError, BaseError) as error:
            log.warning("stored file not removed", file=name, error=type(error).__name__)
            return False
        return True


class LocalFolder(Storage):
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, name: str) -> Path:
        return self.folder / name

    @contextmanager
    def create(self, name: str, download_name: str) -> Generator[Sink]:
        del download_name  # used when the file is served
        self.folder.mkdir(mode=OURS_ALONE, parents=True, exist_ok=True)
        partial_path = self.path(name + _PARTIAL)
        try:
            with partial_path.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            partial_path.replace(self.path(name))
            sync_directory(self.folder)
        except BaseException:
            with suppress(OSError):
                partial_path.unlink(missing_ok=True)
            raise

    @contextmanager
    def open(self, name: str) -> Generator[BinaryIO]:
        with self.path(name).open("rb") as file:
            yield file

    def read_head(self, name: str, size: int) -> bytes:
        with self.path(name).open("rb") as file:
            return file.read(size)

    def delete(self, name: str) -> None:
        for path in (self.path(name), self.path(name + _PARTIAL)):
            path.unlink(missing_ok=True)

    def move(self, name: str, target: str) -> None:
        path = self.path(target)
        path.parent.mkdir(mode=OURS_ALONE, parents=True, exist_ok=True)
        self.path(name).replace(path)
        sync_directory(path.parent)

    def link(self, name: str, expires_in: timedelta) -> str | None:
        del name, expires_in  # a folder serves nothing
        return None


class Bucket(Storage):
    """A bucket, or a part of one."""

    def __init__(self, store: S3Store | GCSStore | AzureStore) -> None:
        self._store = store

    @contextmanager
    def create(self, name: str, download_name: str) -> Generator[Sink]:
        attributes = {
            "Content-Type": content_type(name),
            "Content-Disposition": f'attachment; filename="{download_name}"',
        }
        # After an error the writer cancels the upload, and no object appears.
        with obstore.open_writer(
            self._store,
            name,
            attributes=attributes,
            buffer_size=BUFFER_BYTES,
            max_concurrency=2,  # each holds a part in memory
        ) as writer:
            yield writer

    @contextmanager
    def open(self, name: str) -> Generator[BinaryIO]:
        with tempfile.TemporaryFile() as file:
            for chunk in obstore.get(self._store, name).stream(BUFFER_BYTES):
                file.write(chunk)
            file.seek(0)
            yield cast("BinaryIO", file)

    def read_head(self, name: str, size: int) -> bytes:
        return bytes(obstore.get_range(self._store, name, start=0, length=size))

    def delete(self, name: str) -> None:
        with suppress(FileNotFoundError):
            self._store.delete(name)

    def move(self, name: str, target: str) -> None:
        self._store.rename(name, target)

    def link(self, name: str, expires_in: timedelta) -> str | None:
        return obstore.sign(self._store, "GET", name, expires_in)


def find_local_folder(settings: Settings) -> Path | None:
    """Return the folder of files, or None if a bucket has them."""
    if settings.storage_url is None:
        return settings.data_dir.absolute() / "exports"
    scheme, _, path = settings.storage_url.partition("://")
    return Path(path) if scheme == "file" else None


def open_storage(settings: Settings) -> Storage:
    folder = find_local_folder(settings)
    if folder is not None:
        if settings.storage_url is None:
            with suppress(FileNotFoundError):  # created with the first file
                close_to_others(folder)  # it may have come from a copy or another user
        return LocalFolder(folder)
    assert settings.storage_url is not None  # it names a bucket
    # Credentials, region and endpoint come from the cloud's own variables, such as AWS_REGION.
    store = from_url(settings.storage_url)
    assert isinstance(store, S3Store | GCSStore | AzureStore)  # settings allow no other scheme
    return Bucket(store)
