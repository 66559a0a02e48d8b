"""Jobs that fail for one Space by a fault of ours: kept where the Space's problems are read, and
tried again after a while. Other Spaces are served meanwhile.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from headwater.database.queries import Queries

queries = Queries(__name__, "failed_jobs.sql")

RETRY_SECONDS = 300.0
"""How long a failed job is skipped."""
FORGOTTEN = timedelta(seconds=3 * RETRY_SECONDS)
"""A failure that has not recurred for this long is over, even if it was not cleared."""

NOTE, CLEAR = queries["note"], queries["clear"]


def failure(space_id: int, job: str, error: Exception) -> dict[str, Any]:
    """Return what NOTE binds."""
    return {
        "space_id": space_id,
        "job": job,
        "error": type(error).__name__,
        "now": datetime.now(UTC),
        "forgotten": FORGOTTEN,
    }


def success(space_id: int, job: str) -> dict[str, Any]:
    """Return what CLEAR binds."""
    return {"space_id": space_id, "job": job}
