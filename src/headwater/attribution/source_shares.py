"""The shares of sources: what an event's units come to for each source of its path, by what sources
are worth, and for each of its touches. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwater.attribution.shares import Recipients

IntArray = NDArray[np.integer[Any]]

_NUMBERS = 64
"""More than the highest number that a source can have."""

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

    sources: IntArray
    """The number of each."""
    _recipients: Recipients
    _order: IntArray
    """The places of touches, source by source."""
    _turns: IntArray
    """The place of the source of each such group of touches among those met."""
    _touches: Recipients
    """Of each such group, its touches."""

    @classmethod
    def of(cls, credited: Recipients, sources: IntArray) -> SourcesMet:
        """Return those of credited touches that have these sources."""
        keys = credited.events * _NUMBERS + sources
        order = np.argsort(keys, kind="stable")
        begins = np.flatnonzero(np.diff(keys[order], prepend=-1))
        sizes = np.diff(begins, append=len(order))
        firsts = order[begins]
        as_met = np.argsort(firsts)
        turns = np.empty_like(as_met)
        turns[as_met] = np.arange(len(as_met))
        met = firsts[as_met]
        events = credited.events[met]
        return cls(
            sources[met],
            Recipients(events, np.bincount(events, minlength=len(credited.counts))),
            order, turns, Recipients(np.repeat(np.arange(len(sizes)), sizes), sizes),
        )  # fmt: skip

    def shares(self, units: IntArray, weights: IntArray) -> IntArray:
        """Return the share of each touch in its event's units, by the weight of each source met."""
        of_sources = self._recipients.by_weight(units, weights)
        shares = np.empty(len(self._order), dtype=np.int64)
        shares[self._order] = self._touches.evenly(of_sources[self._turns])
        return shares
