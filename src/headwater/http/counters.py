"""Counters that several API processes of one machine share, through files in a directory."""

from __future__ import annotations

import os

from prometheus_client import values

DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
"""The variable that makes the library share them."""


def share_counters(number: int | None) -> None:
    """Let this process go on with the counters of the one that had its number before.

    The library names files after process ids: those of processes that are gone would stay, and
    cannot be removed, as their counts belong to the sums. Has to come before any counter is made.
    """
    if number is not None and DIRECTORY in os.environ:
        values.ValueClass = values.MultiProcessValue(lambda: number)  # pyright: ignore[reportUnknownMemberType] # half typed
