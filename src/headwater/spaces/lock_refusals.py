"""Count requests refused because of a busy Space lock, apart from database failures."""

from __future__ import annotations

import structlog
from prometheus_client import Counter

from headwater.database.row_security import served_space

log = structlog.get_logger()
lock_refusals = Counter("headwater_space_lock_refusals", "Requests refused because their Space was locked")


def note_lock_refusal() -> None:
    lock_refusals.inc()
    log.warning("space_kept", space_id=served_space())
