"""Shares by source: models that give each distinct source of a path a share, split equally among the source's
touches. Compared with plain Python, for any path.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.attribution.credits import Crediting, TouchSlices
from headwater.attribution.models import Spread
from tests.support.report_model.credit import share_by_source

UNITS = st.one_of(st.integers(0, 9), st.integers(0, 10**6), st.integers(0, 10**18))
PATHS = st.lists(st.tuples(UNITS, st.lists(st.integers(1, 5), max_size=12)), min_size=1, max_size=8)
WEIGHTS = st.lists(st.one_of(st.just(0), st.integers(1, 3), st.integers(1, 10**9)), min_size=5, max_size=5)


def touch_shares(paths: list[tuple[int, list[int]]], weights: list[int] | None = None) -> list[list[int]]:
    """Return the shares of each path's credited touches; weights are equal unless given."""
    ends = np.array(list(accumulate(len(path) for _, path in paths)))
    slices = TouchSlices(ends - [len(path) for _, path in paths], ends)
    touches = np.array([source for _, path in paths for source in path], dtype=np.int64)
    model_weights = {} if weights is None else {"markov": np.array([0, *weights, *[0] * 57])}
    crediting = Crediting(slices, touches, trained=model_weights)
    credit = crediting.credit("shapley_distinct" if weights is None else "markov")
    units = np.array([number for number, _ in paths], dtype=np.int64)
    shares = iter(credit.shares(units, Spread.BY_SOURCE).tolist())
    return [[next(shares) for _ in range(count)] for count in credit.counts.tolist()]


def test_it_works() -> None:
    paths = [(10_000, [1, 2, 1, 1]), (10_000, [3]), (10_000, [1, 2, 3])]
    assert touch_shares(paths) == [[1667, 5000, 1667, 1666], [10_000], [3334, 3333, 3333]]
    weights = [2, 1, 0, 0, 0]
    assert touch_shares(paths, weights) == [[2223, 3333, 2222, 2222], [], [6667, 3333]]


@given(paths=PATHS, weights=st.one_of(st.none(), WEIGHTS))
@settings(max_examples=300, deadline=None)
def test_shares_are_those_of_the_rule(paths: list[tuple[int, list[int]]], weights: list[int] | None) -> None:
    worth = [1] * 5 if weights is None else weights
    expected = [
        share_by_source(units, path, {source: Fraction(worth[source - 1]) for source in path})
        for units, path in paths
    ]
    share_lists = touch_shares(paths, weights)
    assert share_lists == [
        [share for share, source in zip(shares, path, strict=True) if worth[source - 1]]
        for shares, (_, path) in zip(expected, paths, strict=True)
    ]
    for shares, (units, _) in zip(share_lists, paths, strict=True):
        assert sum(shares) == (units if shares else 0)


@given(path=st.lists(st.integers(1, 5), min_size=1, max_size=12), units=UNITS, weights=WEIGHTS,
       dice=st.randoms())  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_what_a_source_has_depends_on_the_sources_met_alone(
    path: list[int], units: int, weights: list[int], dice: object
) -> None:
    """It depends neither on how often a source occurs nor on when: touches of a source can swap positions,
    and more of them can be added, without changing any source's share.
    """
    longer_path = [*path, *(path[dice.randrange(len(path))] for _ in range(3))]  # type: ignore[attr-defined]
    assert source_totals(longer_path, units, weights) == source_totals(path, units, weights)


def source_totals(path: list[int], units: int, weights: list[int]) -> dict[int, int]:
    [shares] = touch_shares([(units, path)], weights)
    counting = [source for source in path if weights[source - 1]]
    totals: dict[int, int] = {}
    for source, share in zip(counting, shares, strict=True):
        totals[source] = totals.get(source, 0) + share
    return totals
