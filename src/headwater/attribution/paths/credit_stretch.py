"""A stretch of a walk over credit: what its statement says of some days."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True)
class CreditStretch:
    """Some days of a walk: a row of the statement."""

    first_day: date
    last_day: date
    all_stamps: bytes | None
    """Of the segments that have one of the sources."""
    stamps: Sequence[int] | None
    days: Sequence[date] | None
    sources: Sequence[int] | None
    postings: Sequence[bytes] | None
    common: int
    """The events of segments in which a source is common."""
    unread: int
    """How many such segments are not known."""
    changed: bytes | None
    changes: bytes | None
    live_ids: bytes | None
    live_times: bytes | None

    def of_postings(self) -> list[tuple[int, date, int, bytes]]:
        """Return the postings, each behind the stamp and day of its segment and its source."""
        columns = (self.stamps, self.days, self.sources, self.postings)
        return list(zip(*(column or () for column in columns), strict=True))
