"""Lookups in ascending numbers, compared with plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headwater.attribution.paths.lookup import NumberMap, are_among, find_positions

CLOSE, FAR = st.integers(-20, 20), st.integers(-(2**62), 2**62)
NUMBERS = st.one_of(st.sets(CLOSE), st.sets(FAR), st.sets(CLOSE | FAR))


def numbers(values: object) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_it_works() -> None:
    names = NumberMap(numbers([3, 5, 9]), numbers([30, 50, 90]), nothing=-1)
    assert names.find(numbers([9, 4, 3, 10, -1, 0])).tolist() == [90, -1, 30, -1, -1, -1]


@given(NUMBERS, st.lists(CLOSE | FAR))
def test_a_table_and_halving_find_the_same(known_values: set[int], searched_values: list[int]) -> None:
    ascending = sorted(known_values)
    places, among = find_positions(numbers(ascending), numbers(searched_values))
    assert among.tolist() == [value in known_values for value in searched_values]
    assert places[among].tolist() == [
        ascending.index(value) for value in searched_values if value in known_values
    ]
    assert are_among(numbers(ascending), numbers(searched_values)).tolist() == among.tolist()
    many = np.repeat(numbers(searched_values), 300)
    assert are_among(numbers(ascending), many).tolist() == np.repeat(among, 300).tolist()
    number_map = NumberMap(numbers(ascending), numbers(range(len(ascending))), nothing=-1)
    assert number_map.find(numbers(searched_values)).tolist() == np.where(among, places, -1).tolist()


@given(st.sets(st.integers(0, 300)), st.lists(st.integers(0, 255)))
def test_numbers_are_found_among_values_of_one_octet(
    known_values: set[int], searched_values: list[int]
) -> None:
    values = np.repeat(np.array(searched_values, dtype=np.uint8), 300)
    flags = are_among(numbers(sorted(known_values)), values)
    assert flags.tolist() == [value in known_values for value in values.tolist()]
