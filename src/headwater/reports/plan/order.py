"""Columns of numbers put into order, and what occurs in them once. Pure.

`numpy.unique` keeps a table of what it has seen, and `numpy.lexsort` sorts once for each column:
both take ten times as long as sorting one column of numbers. Marking numbers that lie close takes
less yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from headwater.attribution.paths.path_data import BoolArray, IntArray

_BITS = 63
"""Of a number above zero."""
_DENSE = 16
"""Values that span no more than so many times their number are marked in a table, not sorted."""
_NONE = np.array([], dtype=np.int64)


def distinct_values(values: IntArray) -> IntArray:
    """Return each value once, ascending."""
    least, most = _ends(values)
    if most - least >= _DENSE * len(values):
        ordered = np.sort(values)
        return ordered[_begins(ordered)]
    once = _marked([values - least if least else values], most - least + 1)
    once += least
    return once


def distinct(*pieces: tuple[IntArray, IntArray]) -> tuple[IntArray, IntArray]:
    """Return each pair of two columns once, in order, of several pieces of such columns."""
    # Piece by piece and in place, as there may be millions in all: new arrays of that size cost
    # more than what is done.
    (least, most), (second_least, second_most) = (
        _ends_of([piece[place] for piece in pieces]) for place in (0, 1)
    )
    bits = (second_most - second_least).bit_length()
    if (most - least).bit_length() + bits > _BITS:
        first, second = zip(*pieces, strict=True)
        return _sorted_pairs(np.concatenate(first), np.concatenate(second))

    def codes(first: IntArray, second: IntArray) -> IntArray:
        pairs = first.astype(np.int64)
        pairs -= least
        pairs <<= bits
        pairs += second
        pairs -= second_least
        return pairs

    count = sum(len(first) for first, _ in pieces)
    if (most - least + 1) << bits < _DENSE * count:
        once = _marked((codes(*piece) for piece in pieces), (most - least + 1) << bits)
    else:
        ordered = np.sort(np.concatenate([_NONE, *(codes(*piece) for piece in pieces)]))
        once = ordered[_begins(ordered)]
    kind = np.min_scalar_type(most) if least >= 0 else np.dtype(np.int64)
    first_once = np.empty(len(once), dtype=kind)
    np.right_shift(once, bits, out=first_once, casting="unsafe")
    first_once += kind.type(least)
    once &= (1 << bits) - 1
    once += second_least
    return first_once, once


def _sorted_pairs(first: IntArray, second: IntArray) -> tuple[IntArray, IntArray]:
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
    once = firsts(first, second)
    return first[once], second[once]


def _marked(pieces: Iterable[IntArray], size: int) -> IntArray:
    """Return each of some numbers from 0 to below a size once, ascending."""
    occurs = np.zeros(size, dtype=np.bool_)
    for numbers in pieces:
        occurs[numbers] = True
    return np.flatnonzero(occurs)


def firsts(*columns: IntArray) -> IntArray:
    """Return the places of the rows of some columns that differ from the row before."""
    return np.flatnonzero(_begins(*columns))


def _begins(*columns: IntArray) -> BoolArray:
    """Return which rows of some columns differ from the row before."""
    differs = np.zeros(len(columns[0]), dtype=np.bool_)
    differs[:1] = True
    for column in columns:
        differs[1:] |= column[1:] != column[:-1]
    return differs


def _ends(values: IntArray) -> tuple[int, int]:
    """Return the least and the largest value, or 0 twice."""
    return (int(values.min()), int(values.max())) if len(values) else (0, 0)


def _ends_of(pieces: Sequence[IntArray]) -> tuple[int, int]:
    """Return the least and the largest value of several columns, or 0 twice."""
    ends = [_ends(piece) for piece in pieces if len(piece)]
    return (min(least for least, _ in ends), max(most for _, most in ends)) if ends else (0, 0)
