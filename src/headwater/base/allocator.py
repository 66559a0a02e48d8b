"""Configures the C library's allocator to keep freed memory. By default it returns each large array to the
system, and allocating it again takes up to half of a report's time.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""The numbers of the settings in glibc's `malloc.h`."""
LARGE_BYTES = 4 * 1024 * 1024
"""Arrays below this size are allocated in memory that is kept. A chunk of a report's paths fits."""
KEPT_BYTES = 32 * 1024 * 1024
"""The most freed memory that is kept for later allocations, gaps not counted."""


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
