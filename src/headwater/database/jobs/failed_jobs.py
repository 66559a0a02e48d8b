"""Jobs that fail for one Space by an internal fault: recorded for the Space's problems, and retried after a
while.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from headwater.database.queries import Queries

queries = Queries(__name__, "failed_jobs.sql")

RETRY_SECONDS = 300.0
"""A failed job is skipped for this long."""
FORGOTTEN = timedelta(seconds=3 * RETRY_SECONDS)
"""A failure that has not recurred this long is over."""

NOTE, CLEAR = queries["note"], queries["clear"]


def failure(space_id: int, job: str, error: Exception) -> dict[str, Any]:
    current_time = datetime.now(UTC)
    return {
        "space_id": space_id,
        "job": job,
        "error": type(error).__name__,
        "now": current_time,
        "forgotten_before": current_time - FORGOTTEN,
    }


def success(space_id: int, job: str) -> dict[str, Any]:
    return {"space_id": space_id, "job": job}
