"""Search and deduplicate numbers in bulk. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from headwater.attribution.paths.path_data import NO_NUMBERS, BoolArray, IntArray, join_numbers

_ENTRIES_PER_NUMBER, _MIN_ENTRIES = 16, 1 << 20
"""The most entries of a table: per number, or in total."""
_MAX_ENTRIES_ONCE, _MIN_VALUES = 1 << 18, 256
"""The most entries of a one-time table, and the fewest values worth it."""


def find_positions(ascending: IntArray, values: IntArray) -> tuple[IntArray, BoolArray]:
    """Return the index of each value among ascending numbers, and a mask of values found; other indexes are
    meaningless.
    """
    if not len(ascending):
        return np.zeros(len(values), dtype=np.int64), np.zeros(len(values), dtype=np.bool_)
    places = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return places, ascending[places] == values


# Few of a day's events are pending, and few of a report's tag sets are selected: almost no value is among the
# numbers. A table of their last bits excludes most values:
#
#     numbers      3   5              values        5   6   13   16
#     last bits   11  01              last bits    01  10   01   00
#     table     · ▪ · ▪               possible      5       13       → searched, only 5 is found


def are_among(ascending: IntArray, values: IntArray) -> BoolArray:
    size = 1 << (_ENTRIES_PER_NUMBER * len(ascending)).bit_length()
    if size > _MAX_ENTRIES_ONCE or len(values) < _MIN_VALUES:
        return find_positions(ascending, values)[1]
    table, last_bits = np.zeros(size, dtype=np.bool_), np.int64(size - 1)
    table[ascending & last_bits] = True
    may_be = table.take(values & last_bits)
    places = np.flatnonzero(may_be)
    may_be[places] = find_positions(ascending, values[places])[1]
    return may_be


class NumberMap:
    """A map from ascending numbers to values, for lookups in bulk; other numbers map to `nothing`. Dense
    numbers, such as a Space's contact ids, use a table, ten times as fast as binary search.
    """

    # For 3 → a, 5 → b the table begins after the number 0, with one entry for all larger numbers:
    #
    #     number   ≤ 0   1   2   3   4   5   ≥ 6
    #     entry    ·     ·   ·   a   ·   b   ·
    #
    # It begins after another number if numbers are negative or large.

    def __init__(self, numbers: IntArray, values: IntArray, nothing: int) -> None:
        self._numbers, self._values, self._nothing = numbers, values, nothing
        self._before, self._table = 0, None
        least, greatest = (int(numbers[0]), int(numbers[-1])) if len(numbers) else (1, 0)
        longest = max(_ENTRIES_PER_NUMBER * len(numbers), _MIN_ENTRIES)
        if least <= 0 or greatest > longest:
            self._before = least - 1
        if greatest - self._before <= longest:
            self._table = np.full(greatest - self._before + 2, nothing, dtype=np.int64)
            self._table[numbers - self._before] = values
            self._numbers = self._values = NO_NUMBERS  # the table has everything

    def find(self, values: IntArray) -> IntArray:
        if self._table is None:
            places, is_known = find_positions(self._numbers, values)
            return np.where(is_known, self._values[places], self._nothing)
        indexes = np.subtract(values, self._before, dtype=np.int64) if self._before else values
        return self._table.take(indexes, mode="clip")


_BITS = 63
"""Bits of a positive number."""
_DENSE = 16
"""Values that range over at most this many times their count are marked in a table instead of sorted."""


def distinct_values(values: IntArray) -> IntArray:
    least, greatest = _ends(values)
    if greatest - least >= _DENSE * len(values):
        ordered_values = np.sort(values)
        return ordered_values[_begins(ordered_values)]
    distinct_numbers = _mark_numbers([values - least if least else values], greatest - least + 1)
    distinct_numbers += least
    return distinct_numbers


def distinct(*parts: tuple[IntArray, IntArray]) -> tuple[IntArray, IntArray]:
    """Return ordered pairs of two columns from several parts."""
    # One part at a time and in place: new arrays for millions of pairs would cost more than the work.
    (least, greatest), (second_least, second_most) = (
        _find_ends([array[column] for array in parts]) for column in (0, 1)
    )
    bits = (second_most - second_least).bit_length()
    if (greatest - least).bit_length() + bits > _BITS:
        first, second = zip(*parts, strict=True)
        return _sorted_pairs(np.concatenate(first), np.concatenate(second))

    def codes(first: IntArray, second: IntArray) -> IntArray:
        pairs = first.astype(np.int64)
        pairs -= least
        pairs <<= bits
        pairs += second
        pairs -= second_least
        return pairs

    count = sum(len(first) for first, _ in parts)
    if (greatest - least + 1) << bits < _DENSE * count:
        distinct_pairs = _mark_numbers((codes(*array) for array in parts), (greatest - least + 1) << bits)
    else:
        ordered_pairs = np.sort(join_numbers(codes(*array) for array in parts))
        distinct_pairs = ordered_pairs[_begins(ordered_pairs)]
    kind = np.min_scalar_type(greatest) if least >= 0 else np.dtype(np.int64)
    distinct_first = np.empty(len(distinct_pairs), dtype=kind)
    np.right_shift(distinct_pairs, bits, out=distinct_first, casting="unsafe")
    distinct_first += kind.type(least)
    distinct_pairs &= (1 << bits) - 1
    distinct_pairs += second_least
    return distinct_first, distinct_pairs


def _sorted_pairs(first: IntArray, second: IntArray) -> tuple[IntArray, IntArray]:
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
    indexes = firsts(first, second)
    return first[indexes], second[indexes]


def _mark_numbers(parts: Iterable[IntArray], size: int) -> IntArray:
    is_marked = np.zeros(size, dtype=np.bool_)
    for numbers in parts:
        is_marked[numbers] = True
    return np.flatnonzero(is_marked)


def firsts(*columns: IntArray) -> IntArray:
    """Return indexes of rows that differ from the row before."""
    return np.flatnonzero(_begins(*columns))


def _begins(*columns: IntArray) -> BoolArray:
    differs = np.zeros(len(columns[0]), dtype=np.bool_)
    differs[:1] = True
    for column in columns:
        differs[1:] |= column[1:] != column[:-1]
    return differs


def _ends(values: IntArray) -> tuple[int, int]:
    """Return zeros for no values."""
    return (int(values.min()), int(values.max())) if len(values) else (0, 0)


def _find_ends(parts: Sequence[IntArray]) -> tuple[int, int]:
    ends = [_ends(array) for array in parts if len(array)]
    return (min(least for least, _ in ends), max(greatest for _, greatest in ends)) if ends else (0, 0)
