"""The C library's allocator, told to keep memory that reports free. Else it gives every array of
some size back to the system, whose making it anew takes up to half of a report's time.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""The numbers by which glibc's `malloc.h` knows the settings."""
LARGE_BYTES = 4 * 1024 * 1024
"""Arrays below this size are made in memory that is kept: those of a piece of a report."""
KEPT_BYTES = 32 * 1024 * 1024
"""The freed memory that is kept at most for what comes next, but for gaps."""


def give_freed_memory_back() -> None:
    """Give the system back what is free at this moment, gaps included. It takes milliseconds."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def keep_freed_memory() -> None:
    """Let this process keep some freed memory, for all threads together: what one has freed another
    may need next. Without glibc nothing happens.
    """
    with suppress(AttributeError, OSError):
        settings = ctypes.CDLL(None).mallopt
        settings(_MMAP_THRESHOLD, LARGE_BYTES)
        settings(_TRIM_THRESHOLD, KEPT_BYTES)
        settings(_ARENA_MAX, 1)
