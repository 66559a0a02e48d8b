"""The share of a Space's minute that one sender may use up, so that nobody can stop the visits of
all others. Counted in memory, by each process for itself: it is a bound and need not be exact.
"""

from __future__ import annotations

from headwater.http.errors import RateLimited
from headwater.intake.tracker.browser_reports import MAX_ITEMS

PART = 10
"""A sender may use up 1/PART of a Space's minute."""
MOST_SENDERS = 50_000
"""Senders that are counted apart in a minute, and in all Spaces; more share one count."""
MINUTE = 60


class Shares:
    """The items that senders have reported in the current minute."""

    def __init__(self) -> None:
        self._minute = 0
        self._used: dict[tuple[int, str], int] = {}

    def take(self, space_id: int, sender: str, items: int, limit: int, now: float) -> None:
        """Count a sender's items. Raises RateLimited when they are more than its share of the
        Space's `limit`, which is at least one whole report.
        """
        if self._minute != int(now // MINUTE):
            self._minute = int(now // MINUTE)
            self._used.clear()
        key = (space_id, sender)
        if key not in self._used and len(self._used) >= MOST_SENDERS:
            key = (space_id, "")
        used = self._used.get(key, 0)
        if used + items > max(limit // PART, MAX_ITEMS):
            raise RateLimited(MINUTE - int(now % MINUTE))
        self._used[key] = used + items
