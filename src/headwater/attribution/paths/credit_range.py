"""A range of days in a scan of credited events: one row of its statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True)
class CreditRange:
    first_day: date
    last_day: date
    all_stamps: bytes | None
    """The packed versions of segments with one of the sources."""
    stamps: Sequence[int] | None
    days: Sequence[date] | None
    sources: Sequence[int] | None
    postings: Sequence[bytes] | None
    common: int
    """Of segments with a common source."""
    unread: int
    """Uncached ones of these segments."""
    changed: bytes | None
    changes: bytes | None
    live_ids: bytes | None
    live_times: bytes | None

    def list_postings(self) -> list[tuple[int, date, int, bytes]]:
        """Return each segment's version and day, source and postings."""
        columns = (self.stamps, self.days, self.sources, self.postings)
        return list(zip(*(column or () for column in columns), strict=True))
