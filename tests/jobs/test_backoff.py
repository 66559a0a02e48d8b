"""The waiting time after consecutive failures."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headwater.database.jobs.backoff import climb, double_pause


def test_it_works() -> None:
    assert [double_pause(0.5, 5.0, failures) for failures in range(6)] == [0.5, 0.5, 1, 2, 4, 5]
    assert [climb("abc", failures) for failures in range(6)] == ["a", "a", "b", "c", "c", "c"]


@given(shortest=st.floats(0.01, 10), longest=st.floats(10, 1e6), failures=st.integers(0, 10**12))
def test_it_grows_to_the_longest(shortest: float, longest: float, failures: int) -> None:
    pause = double_pause(shortest, longest, failures)
    assert shortest <= pause <= double_pause(shortest, longest, failures + 1) <= longest
    assert double_pause(shortest, longest, 10**9) == longest
