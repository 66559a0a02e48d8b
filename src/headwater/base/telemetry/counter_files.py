"""Files with the counters shared by a machine's processes, and the processes' names. It imports
only the standard library because the supervisor uses it.
"""

from __future__ import annotations

import os
import shutil
import time
from itertools import chain, count
from pathlib import Path

from headwater.base.files import make_private, try_lock

DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
"""Variable with the files' directory, named by the library."""
PROCESS = "HEADWATER_PROCESS"
"""Variable with a process's name on its machine, such as `worker-1-forwarder`."""
FILE_BYTES = 1 << 20
"""Enough for the durations of every route."""


def make_directory(folder: Path) -> dict[str, str]:
    """Recreate the directory, so that counters of an earlier start are not added, and return the variable
    that points processes to it.
    """
    shutil.rmtree(folder, ignore_errors=True)
    return keep_directory(folder)


def keep_directory(folder: Path) -> dict[str, str]:
    """Return the variable for a directory whose counters continue; it is created if missing."""
    make_private(folder)
    return {DIRECTORY: str(folder)}


def child_variables(name: str) -> dict[str, str]:
    directory = os.environ.get(PROCESS)
    return {PROCESS: f"{directory}-{name}" if directory else name}


def take_name() -> str | None:
    """Give this process a name of its own among those that count, and return it; None where it
    shares no counters. A process may run beside its successor for a while, and has the first name
    that is free. Names, and so files, are as many as processes were at once:

        api-1    ├── killed ┤├── retires ┤            ├── retires ┤
        api-1.2                        ├── retires ┤            ├──
    """
    if DIRECTORY not in os.environ or PROCESS not in os.environ:
        return None
    name = os.environ[PROCESS]
    names = chain([name], (f"{name}.{number}" for number in count(2)))
    os.environ[PROCESS] = free_name = next(candidate for candidate in names if _lock(candidate))
    return free_name


def reserve_files(name: str) -> bool:
    """Allocate the space of a process's files, and return False if the disk is full: a process ends when it
    writes to a mapped page that the disk has no space for.
    """
    try:
        for kind in ("counter", "histogram"):
            with (Path(os.environ[DIRECTORY]) / f"{kind}_{name}.db").open("ab") as file:
                file.write(bytes(max(0, FILE_BYTES - file.tell())))
    except OSError:
        return False
    return True


def find_beginning() -> int:
    """Return the start of this process's counters, in nanoseconds since 1970: when a process first had its
    name, or now if they aren't shared.
    """
    if DIRECTORY not in os.environ or PROCESS not in os.environ:
        return time.time_ns()
    return _lock_path(os.environ[PROCESS]).stat().st_mtime_ns


def _lock(name: str) -> bool:
    """Lock a name while this process runs; return False if another process has it."""
    descriptor = os.open(_lock_path(name), os.O_RDWR | os.O_CREAT, 0o600)
    is_locked = try_lock(descriptor)
    if not is_locked:
        os.close(descriptor)
    return is_locked


def _lock_path(name: str) -> Path:
    return Path(os.environ[DIRECTORY]) / f"{name}.lock"
