"""Sums with their numbers in few octets: what is unpacked is what was packed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.attribution.paths.memory import size_of
from headwater.reports.engine import packed_values
from headwater.reports.engine.addition import PieceSums
from headwater.reports.engine.packed_values import packed, unpacked
from headwater.reports.engine.tally import NO_PAIRS, Tally, WideSums

NUMBERS = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3), min_size=1)


def test_it_works() -> None:
    contacts = np.arange(10_000_000_000, 10_000_050_000)
    zeros = np.zeros(50_000, dtype=np.int64)
    tally = Tally((contacts,), 50_000, {"orders": WideSums(zeros, zeros + 7)}, (zeros, contacts))
    sums = PieceSums(tally, {"linear": Tally((), 0, {}, NO_PAIRS)}, {"purchase": 500})
    small = packed(sums)
    assert size_of(small) < size_of(sums) / 3
    back: PieceSums = unpacked(small)
    assert type(back) is PieceSums
    assert back.names == sums.names
    assert back.groups.keys[0].tolist() == contacts.tolist()
    assert back.groups.contacts[1].tolist() == contacts.tolist()
    assert [back.groups.sum("orders").number(place) for place in (0, 49_999)] == [7, 7]


@given(NUMBERS, st.sampled_from(["int64", "uint8", "float64", "bool"]), st.booleans())
def test_any_array_comes_back_as_it_was(numbers: list[int], kind: str, twice: bool) -> None:
    array = np.array(numbers, dtype=np.int64).astype(kind)
    array = np.stack([array, array[::-1]]) if twice else array
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed_values, "MANY", 1)
        value: Any = [{"of": (array, None, "text", 5)}, array]
        (entry, alone) = unpacked(packed(value))
    for back in (entry["of"][0], alone):
        assert (back.dtype, back.shape) == (array.dtype, array.shape)
        assert np.array_equal(back, array)
    assert entry["of"][1:] == (None, "text", 5)
