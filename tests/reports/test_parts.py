"""Large chunks of paths are added up in parts, with the same result."""

from __future__ import annotations

import time
import tracemalloc
from datetime import datetime, timedelta

import numpy as np
import pytest

from headwater.attribution.paths.path_data import Column, PathData
from headwater.reports.engine import addition
from headwater.reports.engine.plan import EventConditions, Plan, ReportScope
from headwater.reports.query import Measure, ReportQuery
from tests.reports.court import Court

SECONDS = 6


@pytest.mark.parametrize("limit", [1, 3])
def test_it_works(court: Court, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(addition, "MOST_TOUCHES", limit)
    monkeypatch.setattr(addition, "MOST_WEIGHED", 1)
    court.deadline = time.monotonic() + SECONDS / 2
    court.judge_many(100)
    assert court.judged_count > 0


def test_a_part_has_its_own_touches() -> None:
    values = {
        Column.EVENT_IDS: [1, 2, 3, 4], Column.STARTS: [0, 0, 4, 6], Column.LENGTHS: [3, 4, 2, 0],
        Column.SOURCES: [11, 12, 13, 14, 15, 16],
    }  # fmt: skip
    columns = {name: np.array(numbers) for name, numbers in values.items()}
    firsts = np.array([True, False, True, True])
    first, second = PathData(columns, ("purchase",), 4, 6, firsts).parts(2)
    assert (first.events, first.touches, second.events, second.touches) == (2, 4, 2, 2)
    assert second[Column.EVENT_IDS].tolist() == [3, 4]
    assert second[Column.STARTS].tolist() == [0, 2]
    assert second[Column.SOURCES].tolist() == [15, 16]
    assert second.first_orders is not None
    assert second.first_orders.tolist() == [True, True]


def test_more_parts_than_events_are_empty() -> None:
    columns = {
        Column.STARTS: np.array([0]), Column.LENGTHS: np.array([2]),
        Column.SOURCES: np.array([1, 2]),
    }  # fmt: skip
    parts = PathData(columns, ("purchase",), 1, 2).parts(3)
    assert [(path_data.events, path_data.touches) for path_data in parts] == [(0, 0), (0, 0), (1, 2)]


def test_shared_touches_are_not_all_copied_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that credits each touch has a contact's touches once for each of its events."""
    monkeypatch.setattr(addition, "MOST_TOUCHES", 10_000)
    numbers = np.arange(2_000)
    columns = {
        Column.EVENT_IDS: numbers, Column.NAMES: numbers * 0, Column.SECONDS: numbers,
        Column.AMOUNTS: numbers, Column.KINDS: numbers * 0, Column.STARTS: numbers * 0,
        Column.LENGTHS: numbers, Column.SOURCES: numbers % 5 + 1,
    }  # fmt: skip
    paths = PathData(columns, ("purchase",), len(numbers), len(numbers))
    start = datetime.fromisoformat("2026-05-01")
    query = ReportQuery(
        start, start + timedelta(days=30), (Measure.CREDITED_REVENUE,), models=("linear",), window_days=0
    )
    scope = ReportScope(query, range(len(numbers)), EventConditions(query.filters))
    tracemalloc.start()
    try:
        (sums,) = addition.add_up([Plan(query, scope, ())], paths)
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sums is not None
    assert sums.names == {"purchase": len(numbers)}
    assert most_bytes < 10_000_000
