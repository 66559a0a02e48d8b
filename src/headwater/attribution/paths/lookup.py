"""Ascending numbers, which values are among them, and the values of numbers. Pure."""

from __future__ import annotations

import numpy as np

from headwater.attribution.paths.path_data import BoolArray, IntArray

_SPARSE, _SHORT = 16, 1 << 20
"""A table has at most so many entries a number, or so many entries."""
_SMALL, _MANY = 1 << 18, 256
"""The most entries of a table made for one look, and the fewest values that are worth it."""
_NONE = np.array([], dtype=np.int64)


def place_among(ascending: IntArray, values: IntArray) -> tuple[IntArray, BoolArray]:
    """Return the place of each value among ascending numbers, and which values are there at all;
    the place of any other means nothing.
    """
    if not len(ascending):
        return np.zeros(len(values), dtype=np.int64), np.zeros(len(values), dtype=np.bool_)
    places = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return places, ascending[places] == values


# Of a day's events some fifty may be pending, and of a report's tag sets a few be wanted: nearly no
# value is among the numbers, which a table tells of nearly all by their last bits alone.
#
#     numbers      3   5              values        5   6   13   16
#     last bits   11  01              last bits    01  10   01   00
#     table     · ▪ · ▪               may be        5       13       → looked up, of which is 5


def are_among(ascending: IntArray, values: IntArray) -> BoolArray:
    """Return which values are among ascending numbers."""
    size = 1 << (_SPARSE * len(ascending)).bit_length()
    if size > _SMALL or len(values) < _MANY:
        return place_among(ascending, values)[1]
    table, last_bits = np.zeros(size, dtype=np.bool_), np.int64(size - 1)
    table[ascending & last_bits] = True
    may_be = table.take(values & last_bits)
    places = np.flatnonzero(may_be)
    may_be[places] = place_among(ascending, values[places])[1]
    return may_be


class NumberMap:
    """Values of ascending numbers, made ready to be looked up in bulk; every other number has
    `nothing`. Numbers that lie close, as ids of one Space's contacts do, are looked up
    in a table, ten times as fast as by halving.
    """

    # Of 3 → a, 5 → b the table begins after the number 0, and has an entry for all larger numbers:
    #
    #     number   ≤ 0   1   2   3   4   5   ≥ 6
    #     entry    ·     ·   ·   a   ·   b   ·
    #
    # It begins after another number where the numbers are negative, or large.

    def __init__(self, numbers: IntArray, values: IntArray, nothing: int) -> None:
        self._numbers, self._values, self._nothing = numbers, values, nothing
        self._before, self._table = 0, None
        least, most = (int(numbers[0]), int(numbers[-1])) if len(numbers) else (1, 0)
        longest = max(_SPARSE * len(numbers), _SHORT)
        if least <= 0 or most > longest:
            self._before = least - 1
        if most - self._before <= longest:
            self._table = np.full(most - self._before + 2, nothing, dtype=np.int64)
            self._table[numbers - self._before] = values
            self._numbers = self._values = _NONE  # the table has it all

    def find(self, wanted: IntArray) -> IntArray:
        """Return the value of each number."""
        if self._table is None:
            places, known = place_among(self._numbers, wanted)
            return np.where(known, self._values[places], self._nothing)
        at = np.subtract(wanted, self._before, dtype=np.int64) if self._before else wanted
        return self._table.take(at, mode="clip")
