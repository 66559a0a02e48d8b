"""How long a campaign is: short in every run of the tests, long by `make long`.

`HEADWATER_LONG` makes every campaign that runs as long as its name says; a campaign's own variable
sets a number for it alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar
from zlib import crc32

import pytest

T = TypeVar("T")
IS_LONG = bool(os.environ.get("HEADWATER_LONG"))
in_long_runs = pytest.mark.skipif(not IS_LONG, reason="a long run: HEADWATER_LONG=1")
"""Marks a test that a usual run leaves out, as another of its kind stands for it."""


def campaign_size(variable: str, usual: int, long: int) -> int:
    """Return how many of its trials a campaign has: its variable's, or else the long form's where
    HEADWATER_LONG is set.
    """
    return int(os.environ.get(variable, str(long if IS_LONG else usual)))


def pick_share(items: Iterable[T], name: str, share: int = 4) -> list[T]:
    """Return all items in a long run, else one in `share`; which ones depends on the name alone, so that
    trials of different names cover all.
    """
    listed = list(items)
    return listed if IS_LONG else listed[crc32(name.encode()) % share :: share]
