"""Configure the C library's allocator to keep freed memory. By default it returns each large array to the
system, and allocating it again takes up to half of a report's time.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Setting numbers in glibc's `malloc.h`."""
LARGE_BYTES = 4 * 1024 * 1024
"""Arrays below this size use kept memory. A chunk of a report's paths fits."""
KEPT_BYTES = 32 * 1024 * 1024
"""Maximum freed memory to keep, without gaps."""


def give_freed_memory_back() -> None:
    """Return all free memory to the system, gaps included. It takes milliseconds."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def keep_freed_memory() -> None:
    """Let this process keep some freed memory, shared by all threads. Without glibc nothing happens."""
    with suppress(AttributeError, OSError):
        settings = ctypes.CDLL(None).mallopt
        settings(_MMAP_THRESHOLD, LARGE_BYTES)
        settings(_TRIM_THRESHOLD, KEPT_BYTES)
        settings(_ARENA_MAX, 1)
