"""The journal of erasures: a file next to the backups that lists the erasures since each backup, for a
restore. It holds ids and times, and no personal data.

Each line has a checksum before its JSON. The first line names the installation. The others are erasures,
written once when requested and once when carried out, and marks: times up to which the journal is complete.
Lines are only appended, under a lock, and synced.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO

import msgspec

from headwater.base.files import sync_directory, write_private
from headwater.operations.backups.errors import BackupError
from headwater.privacy.erasures import PastErasure

NAME = "erasures.journal"
DIGITS = 16

Key = tuple[int, int, datetime, bool]
"""Space, id, time of the request, whether the erasure was carried out."""


class JournalError(BackupError):
    """The journal cannot be read or written."""


class DamagedJournalError(JournalError):
    """A line of the journal is damaged."""


class _Line(msgspec.Struct, omit_defaults=True):
    installation: str | None = None
    erasure: PastErasure | None = None
    complete_until: datetime | None = None


@dataclass
class Journal:
    installation_id: str
    erasures: list[PastErasure] = field(default_factory=list[PastErasure])
    complete_until: datetime | None = None
    """The latest mark; erasures after it may be missing."""
    damaged: list[int] = field(default_factory=list[int])
    size: int = 0
    """The bytes of complete lines: the last line may have been cut off."""


def read(path: Path) -> Journal:
    """Return the content of a journal. Raises JournalError, and DamagedJournalError for a damaged line."""
    try:
        journal = _parse(path.read_bytes())
    except OSError as error:
        raise JournalError(f"cannot read {path}: {error.strerror}") from None
    if journal is None:
        raise DamagedJournalError(f"{path} is not a journal of erasures, or its first line is damaged")
    if journal.damaged:
        raise DamagedJournalError(
            f"line {journal.damaged[0]} of {path} is damaged. Use another copy of it with"
            " --erasures. Without one, delete the line to skip this erasure, and request"
            " it again: the lines around it have its time and the neighbouring ids"
        )
    return journal


def append(path: Path, installation_id: str, erasures: Iterable[PastErasure], mark: datetime | None) -> int:
    """Add the missing erasures and a mark to a new or existing journal, and return the number added. Raises
    JournalError, also for the journal of another installation, and leaves the file unchanged.
    """
    try:
        if not path.exists():
            _make(path, installation_id)
        with path.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            return _append(path, file, installation_id, (erasures, mark))
    except OSError as error:
        raise JournalError(f"cannot write {path}: {error.strerror or error}") from None


def set_aside(path: Path, current_time: datetime, installation_id: str) -> Path:
    """Rename a damaged journal, begin a new one with its complete lines, and return the old file's new name.
    Raises JournalError.
    """
    damaged_path = path.with_name(f"{path.name}.damaged-{current_time:%Y%m%dT%H%M%SZ}")
    try:
        journal = _parse(path.read_bytes())
        path.rename(damaged_path)
    except OSError as error:
        raise JournalError(f"cannot put {path} aside: {error.strerror}") from None
    erasures = journal.erasures if journal is not None else []
    append(path, installation_id, erasures, None)
    return damaged_path


def _make(path: Path, installation_id: str) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        new = path.with_name(f"{path.name}.{os.getpid()}.new")
        write_private(new, _encode(_Line(installation=installation_id)).decode())
        try:
            os.link(new, path)  # another process may have created it
        finally:
            new.unlink()
        sync_directory(path.parent)


def _append(
    path: Path, file: IO[bytes], installation_id: str, news: tuple[Iterable[PastErasure], datetime | None]
) -> int:
    journal = _parse(file.read())
    if journal is None or journal.damaged:
        raise DamagedJournalError(f"{path} is damaged")
    if journal.installation_id != installation_id:
        raise JournalError(f"{path} belongs to another installation; use a separate backup folder for each")
    existing_keys = {_key(erasure) for erasure in journal.erasures}
    erasures, mark = news
    missing_erasures = [erasure for erasure in erasures if _key(erasure) not in existing_keys]
    lines: Sequence[_Line] = [_Line(erasure=erasure) for erasure in missing_erasures]
    if mark is not None:
        lines = [*lines, _Line(complete_until=mark)]
    if lines:
        file.truncate(journal.size)
        file.seek(journal.size)
        file.write(b"".join(map(_encode, lines)))
        file.flush()
        os.fsync(file.fileno())
    return len(missing_erasures)


def _key(erasure: PastErasure) -> Key:
    return (erasure.space_id, erasure.erasure_id, erasure.requested_at, erasure.erased_at is not None)


def _encode(line: _Line) -> bytes:
    text = msgspec.json.encode(line)
    return b"%s %s\n" % (_checksum(text), text)


def _checksum(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest()[:DIGITS].encode()


def _parse(content: bytes) -> Journal | None:
    """Return the content of a journal; None if the file is not one. An incomplete last line is ignored."""
    *texts, remainder = content.split(b"\n")
    lines = [_decode(text) for text in texts]
    if not lines or lines[0] is None or lines[0].installation is None:
        return None
    journal = Journal(lines[0].installation, size=len(content) - len(remainder))
    for number, line in enumerate(lines[1:], 2):
        if line is None:
            journal.damaged.append(number)
        elif line.erasure is not None:
            journal.erasures.append(line.erasure)
        elif line.complete_until is not None:
            journal.complete_until = line.complete_until
    return journal


def _decode(text: bytes) -> _Line | None:
    checksum, _, json = text.partition(b" ")
    if checksum != _checksum(json):
        return None
    try:
        return msgspec.json.decode(json, type=_Line)
    except msgspec.DecodeError:
        return None
