"""The length of a campaign: short in an ordinary test run, long with `make long`.

`HEADWATER_LONG` lengthens every campaign. A campaign's own variable sets the number for that campaign.
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
"""Marks a test that an ordinary run skips because a similar test covers the case."""


def campaign_size(variable: str, usual_size: int, long_size: int) -> int:
    """Return the number of trials of a campaign: its variable's value, by default `long` with HEADWATER_LONG
    and `usual` without.
    """
    return int(os.environ.get(variable, str(long_size if IS_LONG else usual_size)))


def pick_share(items: Iterable[T], name: str, share: int = 4) -> list[T]:
    """Return all items in a long run, otherwise every `share`-th item. The offset depends only on the name,
    so that trials with different names cover all items.
    """
    all_items = list(items)
    return all_items if IS_LONG else all_items[crc32(name.encode()) % share :: share]
