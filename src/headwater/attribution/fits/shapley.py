"""Shapley values of the sets of distinct sources that led to conversions. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headwater.attribution.fits.journeys import FloatArray

# The worth of a set of sources is the number of conversions whose journeys met no others:
#
#     journeys that converted    {1}: 2    {2}: 1    {1, 2}: 4
#     worth                      {1}: 2    {2}: 1    {1, 2}: 2 + 1 + 4 = 7
#
# The Shapley value of a source is what it adds to the worth, on average over all orders in which
# the sources may come together: 1 adds 2 or 6, so 4; 2 adds 1 or 5, so 3. This game is the sum of one
# game for each conversion, in which its sources are equal. So the value is one conversion shared equally
# by the distinct sources of its journey (2 + 4/2 and 1 + 4/2).


def shapley_shares(source_sets: NDArray[np.bool_]) -> FloatArray:
    """Return the share of every source in one conversion of each set, which says of each source
    whether it is among its own.
    """
    among: FloatArray = source_sets.astype(np.float64)
    sizes: FloatArray = among.sum(axis=1)
    shares: FloatArray = among / sizes[:, None]
    return shares


def shapley_weights(shares: FloatArray, conversions: FloatArray) -> FloatArray:
    """Return the weight of every source: its Shapley value divided by the number of conversions, given how
    many conversions each set has. Without conversions all weights are 0.
    """
    total, size = float(conversions.sum()), int(shares.shape[1])
    weights: FloatArray = conversions @ shares
    return weights / total if total > 0 else np.zeros(size)
