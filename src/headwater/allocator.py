"""The C library's allocator, told to keep memory that reports free. Else it gives every array of
some size back to the system, whose making it anew takes up to half of a report's time.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress

_MMAP_THRESHOLD, _TOP_PAD = -3, -2
"""The numbers by which glibc's `malloc.h` knows the settings."""
LARGE_BYTES = 4 * 1024 * 1024
"""Arrays below this size are made in memory that is kept: those of a piece of a report."""
KEPT_BYTES = 16 * 1024 * 1024
"""The freed memory that each thread keeps at most for what comes next."""


def keep_freed_memory() -> None:
    """Let this process keep some freed memory. Without glibc nothing happens."""
    with suppress(AttributeError, OSError):
        settings = ctypes.CDLL(None).mallopt
        settings(_MMAP_THRESHOLD, LARGE_BYTES)
        settings(_TOP_PAD, KEPT_BYTES)
