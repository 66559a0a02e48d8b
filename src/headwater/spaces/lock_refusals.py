"""Counts requests that were refused because another change held the lock of their Space too long, separately
from those that failed with the database.
"""

from __future__ import annotations

import structlog
from prometheus_client import Counter

from headwater.database.row_security import served_space

log = structlog.get_logger()
lock_refusals = Counter(
    "headwater_space_lock_refusals", "Requests refused as another change kept their Space"
)


def note_lock_refusal() -> None:
    """Count a refusal, and log the Space that the request was for."""
    lock_refusals.inc()
    log.warning("space_kept", space_id=served_space())
