"""Sorting by columns, compared with plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headwater.attribution.paths.lookup import distinct, distinct_values, firsts

NUMBERS = st.one_of(st.integers(-3, 3), st.integers(-(2**62), 2**62))
PAIRS = st.lists(st.tuples(NUMBERS, NUMBERS), max_size=20)


def columns(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def test_it_works() -> None:
    first, second = distinct((np.array([2, 1, 2]), np.array([5, 7, 5])))
    assert (first.tolist(), second.tolist()) == ([1, 2], [7, 5])


@given(st.lists(PAIRS, max_size=3))
def test_each_pair_is_there_once(parts: list[list[tuple[int, int]]]) -> None:
    once = zip(*(column.tolist() for column in distinct(*map(columns, parts))), strict=True)
    assert list(once) == sorted({pair for pairs in parts for pair in pairs})


@given(st.lists(NUMBERS))
def test_each_value_is_there_once(values: list[int]) -> None:
    assert distinct_values(np.array(values, dtype=np.int64)).tolist() == sorted(set(values))


@given(PAIRS)
def test_a_row_is_first_if_it_differs_from_the_one_before(pairs: list[tuple[int, int]]) -> None:
    right = [index for index, pair in enumerate(pairs) if index == 0 or pair != pairs[index - 1]]
    assert firsts(*columns(pairs)).tolist() == right
