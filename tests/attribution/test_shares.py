"""Whole units shared among the touches of many events at once, compared with fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headwater.attribution.shares import Recipients
from tests.models.attribution import whole_shares

UNITS = st.integers(0, 10**18)
EVENTS = st.lists(st.tuples(UNITS, st.integers(1, 9)), max_size=8)
"""The units of an event and the number of its touches."""


def make_recipients(counts: list[int]) -> Recipients:
    return Recipients(np.repeat(np.arange(len(counts)), counts), np.array(counts, dtype=np.int64))


def u_shape(count: int) -> list[Fraction]:
    if count < 3:
        return [Fraction(1, count)] * count
    return [Fraction(2, 5), *[Fraction(1, 5) / (count - 2)] * (count - 2), Fraction(2, 5)]


def test_it_works() -> None:
    recipients = make_recipients([4, 1, 2])
    units = np.array([1001, 7, 5], dtype=np.int64)
    assert recipients.evenly(units).tolist() == [251, 250, 250, 250, 7, 3, 2]
    assert recipients.u_shaped(units).tolist() == [401, 100, 100, 400, 7, 3, 2]


@given(EVENTS)
def test_even_and_u_shaped(events: list[tuple[int, int]]) -> None:
    recipients = make_recipients([count for _, count in events])
    units = np.array([units for units, _ in events], dtype=np.int64)
    assert recipients.evenly(units).tolist() == [
        share for units, count in events for share in whole_shares(units, [Fraction(1, count)] * count)
    ]
    assert recipients.u_shaped(units).tolist() == [
        share for units, count in events for share in whole_shares(units, u_shape(count))
    ]
