"""Ascending numbers, and which values are among them. Pure."""

from __future__ import annotations

import numpy as np

from headwater.paths.path_data import BoolArray, IntArray


def place_among(ascending: IntArray, values: IntArray) -> tuple[IntArray, BoolArray]:
    """Return the place of each value among ascending numbers, and which values are there at all;
    the place of any other means nothing.
    """
    if not len(ascending):
        return np.zeros(len(values), dtype=np.int64), np.zeros(len(values), dtype=np.bool_)
    places = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return places, ascending[places] == values


def are_among(ascending: IntArray, values: IntArray) -> BoolArray:
    """Return which values are among ascending numbers."""
    return place_among(ascending, values)[1]
