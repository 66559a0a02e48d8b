"""Numbers looked up among ascending ones, beside plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headwater.paths.lookup import NumberPlaces, are_among, place_among

CLOSE, FAR = st.integers(-20, 20), st.integers(-(2**62), 2**62)
NUMBERS = st.one_of(st.sets(CLOSE), st.sets(FAR), st.sets(CLOSE | FAR))


def numbers(values: object) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_it_works() -> None:
    places, known = NumberPlaces(numbers([3, 5, 9])).find(numbers([9, 4, 3, 10, -1]))
    assert known.tolist() == [True, False, True, False, False]
    assert places[known].tolist() == [2, 0]


@given(NUMBERS, st.lists(CLOSE | FAR))
def test_both_ways_find_the_same(known: set[int], wanted: list[int]) -> None:
    ascending = sorted(known)
    right = [ascending.index(value) for value in wanted if value in known]
    of_table = NumberPlaces(numbers(ascending)).find(numbers(wanted))
    for places, found in (of_table, place_among(numbers(ascending), numbers(wanted))):
        assert found.tolist() == [value in known for value in wanted]
        assert places[found].tolist() == right
    assert are_among(numbers(ascending), numbers(wanted)).tolist() == of_table[1].tolist()
