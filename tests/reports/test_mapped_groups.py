"""Groups whose keys are looked up, in columns as narrow as the stored ones."""

from __future__ import annotations

import numpy as np
import pytest

from headwater.attribution.paths.path_data import Column, PathData
from headwater.reports.engine.dimensions import NO_KEY, Mapped


@pytest.mark.parametrize("first_id", [0, 1 << 40])
def test_it_works(first_id: int) -> None:
    numbers = first_id + np.array([1, 300])
    group = Mapped(Column.TAG_SETS, numbers, np.array([7, 8]), of_touch=True)
    assert group.keys(touches(first_id + np.array([300, 2, 1, 301]))).tolist() == [
        8, NO_KEY, 7, NO_KEY,
    ]  # fmt: skip


def test_more_numbers_than_a_narrow_column_can_hold() -> None:
    group = Mapped(Column.TAG_SETS, np.arange(1, 301), np.arange(300), of_touch=True)
    assert group.keys(touches(np.array([0, 255], dtype=np.uint8))).tolist() == [NO_KEY, 254]


def test_nothing_has_a_key() -> None:
    nothing = np.array([], dtype=np.int64)
    group = Mapped(Column.TAG_SETS, nothing, nothing, of_touch=True)
    assert group.keys(touches(np.array([0, 5]))).tolist() == [NO_KEY, NO_KEY]


def touches(tag_sets: np.ndarray) -> PathData:
    return PathData({Column.TAG_SETS: tag_sets}, (), 0, len(tag_sets))
