"""The record of a running service in the lock file of its data directory, for a reload."""

from __future__ import annotations

import fcntl
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from headwater.database.data_directory import LOCK


@dataclass(frozen=True)
class ServiceRecord:
    pid: int
    version: str
    reloads: int = 0
    failures: int = 0
    problem: str | None = None


def write_record(lock: IO[bytes], record: ServiceRecord) -> None:
    """Write the record into the lock file that this process holds."""
    lock.truncate(0)
    lock.write(json.dumps(asdict(record)).encode())
    lock.flush()


def erase_record(lock: IO[bytes]) -> None:
    lock.truncate(0)


def was_killed(data_dir: Path) -> bool:
    """Return whether the last service on a data directory was killed, so that some of its processes may still
    run. Call it before locking the directory.
    """
    try:
        return (data_dir / LOCK).stat().st_size > 0
    except OSError:
        return False


def read_record(data_dir: Path) -> ServiceRecord | None:
    """Return the record of the running service; None without a service, during a restore, or while the record
    is being written.
    """
    try:
        with (data_dir / LOCK).open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return ServiceRecord(**json.loads(file.read()))
    except (OSError, ValueError):
        pass
    return None
