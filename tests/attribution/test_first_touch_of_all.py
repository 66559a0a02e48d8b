"""The first touch of many paths is a touch like any other: its position is 0, which means neither "missing"
nor "none".
"""

from __future__ import annotations

import numpy as np
import pytest

from headwater.attribution.credits import Crediting, TouchSlices
from headwater.attribution.models import MODELS
from headwater.sources.catalogue import SOURCE_IDS

SINGLE = [name for name, model in MODELS.items() if model.take.value != "each"]


def credited_sources(model: str, paths: list[list[str]]) -> list[str]:
    """Return the source of the touch credited for each path."""
    ends = np.cumsum([len(path) for path in paths])
    slices = TouchSlices(ends - [len(path) for path in paths], ends)
    sources = [source for path in paths for source in path]
    numbers = np.array([SOURCE_IDS[source] for source in sources], dtype=np.int64)
    picked = Crediting(slices, numbers).credit(model)
    return [sources[touch] for touch in picked.touches.tolist()]


def test_it_works() -> None:
    """The model prefers the touch that is not direct, even if it is the very first."""
    paths = [["google_ads", "direct"], ["direct", "email", "direct"], ["direct", "direct"]]
    assert credited_sources("last_non_direct_touch", paths) == ["google_ads", "email", "direct"]


@pytest.mark.parametrize("model", SINGLE)
def test_a_path_has_the_same_credit_in_every_place(model: str) -> None:
    path, other_path = ["google_ads", "direct", "facebook_ads", "direct"], ["tiktok_ads", "direct"]
    first, second = credited_sources(model, [path, other_path])
    assert [second, first] == credited_sources(model, [other_path, path])
