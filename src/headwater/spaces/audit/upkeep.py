"""Delete entries that are older than the operator's limit, and what waits for collectors without any."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from psycopg import Connection

from headwater.base.settings import Settings
from headwater.database.jobs.duties import INSTALLATION, Duty
from headwater.spaces.audit import collectors, entries

LOOK_SECONDS = 600.0
BATCH = 1000


def make_audit_duty(settings: Settings) -> Duty:
    def attend(connection: Connection[Any], _: int) -> bool:
        return tidy(connection, settings, datetime.now(UTC))

    return Duty(lambda _: [INSTALLATION], attend, pause_seconds=LOOK_SECONDS, name="audit log")


def tidy(connection: Connection[Any], settings: Settings, current_time: datetime) -> bool:
    """Return whether more may be too old."""
    if not settings.sends_audit:
        connection.execute(collectors.queries["forget"])
    if settings.audit_days is None:
        return False
    values = {"before": current_time - timedelta(days=settings.audit_days), "limit": BATCH}
    return connection.execute(entries.queries["delete_expired"], values).rowcount == BATCH
