"""Limit senders to a share of the Space's rate limit, so that none can block all visitors. Counted per
process: it need not be exact.
"""

from __future__ import annotations

from headwater.http.errors import RateLimited
from headwater.http.refusal_log import log_refusal
from headwater.intake.tracker.browser_reports import MAX_ITEMS

SHARES_PER_LIMIT = 10
"""A sender's share is 1/SHARES_PER_LIMIT."""
MOST_SENDERS = 50_000
"""Further senders share one count."""
MINUTE = 60


class Shares:
    def __init__(self) -> None:
        self._minute = 0
        self._used_shares: dict[tuple[int, str], int] = {}

    def take(self, space_id: int, sender: str, items: int, limit: int, current_time: float) -> None:
        """Raise RateLimited above the share of `limit`, at least one full report."""
        if self._minute != int(current_time // MINUTE):
            self._minute = int(current_time // MINUTE)
            self._used_shares.clear()
        key = (space_id, sender)
        if key not in self._used_shares and len(self._used_shares) >= MOST_SENDERS:
            key = (space_id, "")
        used_items = self._used_shares.get(key, 0)
        if used_items + items > max(limit // SHARES_PER_LIMIT, MAX_ITEMS):
            log_refusal("sender_limit", sender, space_id=space_id)
            raise RateLimited(MINUTE - int(current_time % MINUTE))
        self._used_shares[key] = used_items + items
