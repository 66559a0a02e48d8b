"""The part of a contact's path that affects a batch.

It changes in order of arrival, so that the split into batches doesn't matter. Pure.
"""

from __future__ import annotations

from bisect import bisect_left, insort

from headwater.events.browsing.views import View
from headwater.events.browsing.visits import Visit, assign_view
from headwater.events.touchpoints.models import HALF_HOUR, Touch, TouchpointKey


class EventSources:
    __slots__ = ("event_time", "source_mask")

    def __init__(self, event_time: int, source_mask: int) -> None:
        self.event_time = event_time
        self.source_mask = source_mask


# One contact, three page views, two campaigns, an event; G and M are sources of ads, D is direct:
#
#     10:00            10:20            10:40              11:00
#     page view        page view        page view in       purchase
#     spring (G)       summer (M)       another browser
#     touch G          touch M          no touch: D        sources G, M
#
# - Spring and summer are one visit and two touches: see events/browsing/visits.py.
# - The third page view begins its own visit, whose source is unknown. M, 20 minutes earlier, has a
#   known source, so D makes no touch; at 10:51 it would.
# - The purchase starts with the sources that the path has in its turn. If the 10:20 page view arrives
#   later, M is added then, because the touch is earlier in time.
# - Until that page view arrives, D makes a touch: G prevents one only up to 10:30. `_reconsider` then
#   withdraws the touch. The purchase keeps D among its sources. There may be too many, never too few:
#   they only select the events to check for credit.
# - A sign-up at 10:15 that names spring's campaign repeats G and makes no second touch; one at 10:31
#   makes one.
# - When two contacts merge, each has what either path has, and so has every event on them.


class ContactPath:
    __slots__ = ("_direct", "_known_times", "_times", "_visits", "marks", "merged_mask", "source_mask")

    def __init__(self, source_mask: int) -> None:
        self.source_mask = source_mask
        self.merged_mask = 0
        """Sources that a merge adds to earlier events."""
        self.marks: list[EventSources] = []
        self._times: dict[TouchpointKey, list[int]] = {}
        self._known_times: list[int] = []
        """Sorted. Direct visits have no known source."""
        self._direct: list[View] = []
        """First page views of visits without a known source."""
        self._visits: dict[str, list[Visit]] = {}
        """By device."""

    def load_touch(self, key: TouchpointKey, occurred_at: int) -> None:
        self._times.setdefault(key, []).append(occurred_at)

    def load_known_source(self, occurred_at: int) -> None:
        insort(self._known_times, occurred_at)

    def load_direct(self, view: View) -> None:
        self._direct.append(view)

    def load_visit(self, visit: Visit) -> None:
        self._visits.setdefault(visit.device, []).append(visit)

    def repeats(self, touch: Touch) -> bool:
        """Return whether an equal touch came up to 30 minutes before."""
        return any(
            touch.occurred_at - HALF_HOUR <= time <= touch.occurred_at
            for time in self._times.get(touch.key, ())
        )

    def add_touch(self, touch: Touch) -> None:
        self._add(touch)
        self._add_known_time(touch.occurred_at)

    def add_view(self, view: View) -> None:
        """Add a page view, and reconsider others."""
        for changed_view in assign_view(self._visits.setdefault(view.device, []), view):
            if changed_view.is_direct:
                self._claim_directly(changed_view)
            elif changed_view.claims:
                self._make(changed_view)
                self._add_known_time(changed_view.occurred_at)
            else:
                self._unmake(changed_view)
                self._remove_known_time(changed_view.occurred_at)

    def add_event(self, event_time: int) -> EventSources:
        mark = EventSources(event_time, self.source_mask)
        self.marks.append(mark)
        return mark

    def absorb(self, path: ContactPath) -> None:
        """Add a merged contact's path. Earlier decisions stay."""
        for key, times in path._times.items():
            self._times.setdefault(key, []).extend(times)
        self._known_times = sorted(self._known_times + path._known_times)
        self._direct += path._direct
        for device, visits in path._visits.items():
            self._visits.setdefault(device, []).extend(visits)
        self.source_mask |= path.source_mask
        self.merged_mask = self.source_mask
        self.marks += path.marks
        for mark in self.marks:
            mark.source_mask |= self.source_mask

    def _claim_directly(self, view: View) -> None:
        if view.claims:
            self._direct.append(view)
            self._decide_directly(view)
        else:
            self._direct.remove(view)
            if view.is_touch:
                self._unmake(view)

    def _add_known_time(self, moment: int) -> None:
        insort(self._known_times, moment)
        self._reconsider(moment)

    def _remove_known_time(self, moment: int) -> None:
        self._known_times.remove(moment)
        self._reconsider(moment)

    def _reconsider(self, moment: int) -> None:
        """Reconsider direct visits up to 30 minutes later."""
        for view in self._direct:
            if moment <= view.occurred_at <= moment + HALF_HOUR:
                self._decide_directly(view)

    def _decide_directly(self, view: View) -> None:
        """Make no touch in the 30 minutes after a known source."""
        nearest = bisect_left(self._known_times, view.occurred_at - HALF_HOUR)
        follows_better = nearest < len(self._known_times) and self._known_times[nearest] <= view.occurred_at
        if follows_better and view.is_touch:
            self._unmake(view)
        elif not follows_better and not view.is_touch:
            self._make(view)

    def _make(self, view: View) -> None:
        view.is_touch = view.is_new_touch = True
        self._add(view.touch())

    def _unmake(self, view: View) -> None:
        view.is_touch = False
        self._times[view.touch().key].remove(view.occurred_at)

    def _add(self, touch: Touch) -> None:
        self._times.setdefault(touch.key, []).append(touch.occurred_at)
        self.source_mask |= touch.source_bit
        for mark in self.marks:
            if mark.event_time >= touch.occurred_at:
                mark.source_mask |= touch.source_bit
