"""The machine's memory, and PostgreSQL's share of it."""

from __future__ import annotations

import os
from pathlib import Path

MEGABYTE = 1024 * 1024
LEAST_BUFFERS, MOST_BUFFERS = 128, 512
"""Megabytes: PostgreSQL's default, and the point of diminishing returns."""
SHARE = 16
"""PostgreSQL's buffers take this fraction of the memory, less than the usual quarter for a dedicated machine.
"""
CONTAINER_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Linux' files with a container's memory limit."""


def machine_memory() -> int:
    """Return bytes: the container's limit if less."""
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([physical, *filter(None, map(_read_limit, CONTAINER_LIMITS))])


def buffer_megabytes(memory: int) -> int:
    return min(max(memory // SHARE // MEGABYTE, LEAST_BUFFERS), MOST_BUFFERS)


def _read_limit(file: Path) -> int | None:
    try:
        text = file.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None
