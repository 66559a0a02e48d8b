"""Shapley values of the sets of distinct sources that led to conversions. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headwater.attribution.trained_models.journeys import FloatArray

# The worth of a set of sources is the number of conversions whose journeys met no others:
#
#     journeys that converted    {1}: 2    {2}: 1    {1, 2}: 4
#     worth                      {1}: 2    {2}: 1    {1, 2}: 2 + 1 + 4 = 7
#
# A source's Shapley value is its average addition to the worth over all orders: 1 adds 2 or 6, so 4; 2 adds 1
# or 5, so 3. The game is a sum of one game per conversion with equal sources, so the value is each conversion
# shared equally by its distinct sources (2 + 4/2 and 1 + 4/2).


def shapley_shares(source_sets: NDArray[np.bool_]) -> FloatArray:
    """Return every source's share of one conversion of each set, from a mask by set and source."""
    memberships: FloatArray = source_sets.astype(np.float64)
    sizes: FloatArray = memberships.sum(axis=1)
    shares: FloatArray = memberships / sizes[:, None]
    return shares


def shapley_weights(shares: FloatArray, conversions: FloatArray) -> FloatArray:
    """Divide each source's Shapley value by the conversions, which are given by set. All 0 without
    conversions.
    """
    total, size = float(conversions.sum()), int(shares.shape[1])
    weights: FloatArray = conversions @ shares
    return weights / total if total > 0 else np.zeros(size)
