"""Events of one contact share their touches, which are not copied for each of thousands of events."""

from __future__ import annotations

import asyncio
from datetime import date
from typing import cast

import numpy as np
import pytest
from psycopg import AsyncConnection

from headwater.attribution.paths import reader
from headwater.attribution.paths.cache import PathSource
from headwater.attribution.paths.path_data import Column, IntArray, PathData
from headwater.attribution.paths.scan_plan import PendingEvents, ScanPlan

DAY = date(2026, 5, 1)


class ContactReader(reader.PathReader):
    """Reads events of one contact, each with the touches before it."""

    async def read_live(self, event_ids: IntArray) -> PathData:
        numbers = np.arange(len(event_ids))
        columns = {
            Column.EVENT_IDS: event_ids,
            Column.STARTS: np.zeros_like(numbers),
            Column.LENGTHS: numbers,
            Column.SOURCES: numbers,
        }
        return PathData(columns, ("purchase",), len(event_ids), len(numbers))


@pytest.mark.parametrize(("event_count", "copies"), [(100, True), (1_500, False)])
def test_it_works(event_count: int, copies: bool) -> None:
    event_ids = np.arange(1, event_count + 1)
    scan = ScanPlan(DAY, DAY, [], {DAY: PendingEvents(event_ids, b"changes")}, frozenset())
    source = PathSource("shared touches", 1, event_count)
    contact_reader = ContactReader(cast("AsyncConnection", None), source, [Column.SOURCES])
    paths = asyncio.run(contact_reader._read_pending(scan, [DAY]))
    assert paths[Column.EVENT_IDS].tolist() == event_ids.tolist()
    assert paths.touches == event_count
    assert ((source, scan.pending_block([DAY]).version) in reader.cache) == copies
