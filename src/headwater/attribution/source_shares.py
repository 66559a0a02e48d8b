"""The shares of sources: what an event's units come to for each source of its path, by what sources
are worth, and for each of its touches. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.attribution.shares import Recipients
from headwater.attribution.weighted_shares import WeightedRecipients
from headwater.sources.networks import LAST_NUMBER

IntArray = NDArray[np.integer[Any]]

_NUMBERS = 1 + LAST_NUMBER

# One purchase of 100.00 after four touches, where google_ads is worth twice what email is. A source
# has one share however often it was met, which its touches have in equal parts:
#
#     touch                  0 google_ads   1 email   2 google_ads   3 google_ads
#     source, as it was met  0              1         0              0
#     its weight             2              1
#     its share              66.67          33.33
#     credit                 22.23          33.33     22.22          22.22
#
# The cent that is left over among the touches of a source goes to the first of them.


@dataclass(frozen=True)
class SourcesMet:
    """The distinct sources of events' touches, event by event, as they were first met."""

    _met: WeightedRecipients
    """Those sources, with their weights."""
    _order: IntArray
    """The places of touches, source by source."""
    _turns: IntArray
    """The place of the source of each such group of touches among those met."""
    _touches: Recipients
    """Of each such group, its touches."""

    @classmethod
    def of(cls, credited: Recipients, sources: IntArray, weights: IntArray) -> SourcesMet:
        """Return those of credited touches that have these sources; `weights` are by the number of
        a source.
        """
        keys = credited.events * _NUMBERS
        keys += sources
        order, begins = _ordered(keys)
        del keys
        sizes = np.diff(begins, append=len(order))
        is_first = np.zeros(len(order), dtype=np.bool_)
        is_first[order[begins]] = True
        met = np.flatnonzero(is_first)
        events = credited.events[met]
        recipients = Recipients(events, np.bincount(events, minlength=len(credited.counts)))
        return cls(
            WeightedRecipients(recipients, weights[sources[met]]),
            order,
            np.cumsum(is_first, dtype=np.int32)[order[begins]] - 1,
            Recipients(np.repeat(np.arange(len(sizes)), sizes), sizes),
        )

    def shares(self, units: IntArray) -> IntArray:
        """Return the share of each touch in its event's units, by the weight of each source met."""
        of_sources = self._met.shares(units)
        shares = np.empty(len(self._order), dtype=np.int64)
        shares[self._order] = self._touches.evenly(of_sources[self._turns])
        return shares


def _ordered(keys: IntArray) -> tuple[IntArray, IntArray]:
    """Return the places of keys, in their order, equal ones by their place; and where runs of equal
    keys begin. The keys are used up, as there may be as many as touches in a piece.
    """
    bits = len(keys).bit_length()
    keys <<= bits  # sorting numbers takes half the time of sorting places by them
    keys += np.arange(len(keys))
    keys.sort()
    order = keys & ((1 << bits) - 1)
    keys >>= bits
    differs = np.ones(len(keys), dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=differs[1:])
    return order, np.flatnonzero(differs)
