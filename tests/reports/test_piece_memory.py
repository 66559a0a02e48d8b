"""The arrays of a chunk of paths are freed as soon as it is added up."""

from __future__ import annotations

import gc
import weakref
from datetime import datetime, timedelta

import numpy as np

from headwater.attribution.paths.path_data import Column, PathData
from headwater.reports.engine.addition import add_up_events
from headwater.reports.engine.chosen_events import ChosenEvents
from headwater.reports.engine.plan import EventConditions, Plan, ReportScope
from headwater.reports.query import Measure, ReportQuery


def test_it_works() -> None:
    """They are freed without the garbage collector, which would keep the arrays of many chunks at the same
    time.
    """
    start = datetime.fromisoformat("2026-05-01")
    query = ReportQuery(
        start, start + timedelta(days=30), (Measure.CREDITED_REVENUE,), window_days=0,
        models=("linear", "last_touch"),
    )  # fmt: skip
    values = {
        Column.EVENT_IDS: [7], Column.NAMES: [0], Column.SECONDS: [100], Column.AMOUNTS: [50_000],
        Column.STARTS: [0], Column.LENGTHS: [2], Column.SOURCES: [1, 2],
    }  # fmt: skip
    paths = PathData({name: np.array(numbers) for name, numbers in values.items()}, ("purchase",), 1, 2)
    gc.disable()
    try:
        scope = ReportScope(query, range(200), EventConditions(query.filters))
        events = ChosenEvents.of(scope, paths)
        sums = add_up_events(Plan(query, scope, ()), events)
        reference = weakref.ref(events)
        del events
        assert reference() is None
    finally:
        gc.enable()
    assert sums.names == {"purchase": 1}
