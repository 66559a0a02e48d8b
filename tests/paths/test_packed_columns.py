"""Columns packed into few bytes: read back unchanged, and never as other values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.attribution.paths.path_data import NO_AMOUNT
from headwater.attribution.paths.segments import (
    DamagedSegment,
    PackedColumn,
    checked,
    pack,
    pack_amounts,
    unpack,
    unpack_amounts,
    unpack_narrow,
)

AMOUNTS = st.integers(-(10**18), 10**18)


def test_it_works() -> None:
    column = pack(np.array([1_000_000, 1_000_255, 1_000_007]))
    assert (column.base, len(column.data)) == (1_000_000, 3)
    assert unpack(column, 3).tolist() == [1_000_000, 1_000_255, 1_000_007]


@given(st.lists(st.integers(-(2**61), 2**61)))
def test_values_come_back(values: list[int]) -> None:
    assert unpack(pack(np.array(values, dtype=np.int64)), len(values)).tolist() == values


@given(st.lists(st.one_of(st.integers(0, 300), st.integers(-(2**61), 2**61))))
def test_narrow_values_come_back(values: list[int]) -> None:
    column = pack(np.array(values, dtype=np.int64))
    assert unpack_narrow(column, len(values)).tolist() == values


def test_values_are_read_back_as_narrow_as_they_are() -> None:
    assert unpack_narrow(pack(np.array([3, 40])), 2).dtype == np.uint8
    assert unpack_narrow(pack(np.array([3, 300])), 2).dtype == np.uint16


@given(st.lists(st.one_of(st.just(NO_AMOUNT), AMOUNTS)))
def test_amounts_come_back(amounts: list[int]) -> None:
    column = pack_amounts(np.array(amounts, dtype=np.int64))
    assert unpack_amounts(column, len(amounts)).tolist() == amounts


@pytest.mark.parametrize(
    ("values", "octets"), [([7, 7, 7], 0), ([0, 255], 2), ([0, 256], 4), ([0, 2**32], 16)]
)
def test_numbers_are_as_narrow_as_they_can_be(values: list[int], octets: int) -> None:
    assert len(pack(np.array(values)).data) == octets


@given(st.lists(st.integers(0, 2**40), min_size=1), st.data())
def test_damage_is_noticed(values: list[int], data: st.DataObject) -> None:
    column = pack(np.array(values))
    broken = bytearray(column.data)
    if broken:
        broken[data.draw(st.integers(0, len(broken) - 1))] ^= data.draw(st.integers(1, 255))
    base = column.base if broken else column.base + 1
    with pytest.raises(DamagedSegment):
        checked(base, bytes(broken), column.checksum)


def test_a_column_of_another_length_is_refused() -> None:
    for data, count in ((b"abc", 2), (b"abc", 1), (b"a", 0)):
        with pytest.raises(DamagedSegment):
            unpack(PackedColumn(0, data), count)
