"""Alerts: everything that is wrong in a Space, from one function for every page and tool that shows
it, and backlogs of the whole installation for the log.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import structlog
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from headwater.database.queries import Queries, fetch_all
from headwater.platforms import registry

queries = Queries(__name__, "alerts.sql")

LATE = timedelta(minutes=5)
"""The time after which waiting work is late: normally it is processed, or sent, in seconds."""
MOST_COUNTED = 10_000

log = structlog.get_logger()


class AlertKind(StrEnum):
    """Kinds of alerts, the most urgent first."""

    DESTINATION_HELD = "destination_held"
    PROCESSING_LATE = "processing_late"
    SUBSCRIPTION_INACTIVE = "subscription_inactive"
    EVENTS_REJECTED = "events_rejected"
    DELIVERIES_LATE = "deliveries_late"


@dataclass(frozen=True)
class Alert:
    """One problem in a Space."""

    kind: AlertKind
    destination_id: int | None
    platform: str | None
    name: str | None
    """The destination's."""
    detail: str | None
    """In the platform's own words."""
    count: int
    """The number of items concerned, counted up to MOST_COUNTED."""
    since: datetime | None

    @property
    def title(self) -> str:
        """The problem, in a sentence without its full stop."""
        is_one = self.count == 1
        match self.kind:
            case AlertKind.DESTINATION_HELD:
                return f"{self._destination} is held: {self._many('conversion')} waiting"
            case AlertKind.DELIVERIES_LATE:
                return f"{self._destination} is behind: {self._many('conversion')} not sent yet"
            case AlertKind.EVENTS_REJECTED:
                return f"{self._many('event')} could not be processed"
            case AlertKind.PROCESSING_LATE:
                return f"{self._many('event')} {'is' if is_one else 'are'} waiting to be processed"
            case AlertKind.SUBSCRIPTION_INACTIVE:
                return "The subscription is inactive: API keys and tokens are refused"

    def command(self, space_id: int) -> str | None:
        """The command with which an operator deals with it."""
        options = f"--space {space_id} --destination {self.destination_id}"
        return {
            AlertKind.DESTINATION_HELD: f"headwater destination resume {options}",
            AlertKind.DELIVERIES_LATE: f"headwater delivery list {options} --status retrying",
            AlertKind.EVENTS_REJECTED: "headwater queue rejected",
            AlertKind.SUBSCRIPTION_INACTIVE: f"headwater space set --space {space_id} "
            "subscription=active",
        }.get(self.kind)

    @property
    def remedy(self) -> str:
        """Advice on how to solve it."""
        return {
            AlertKind.DESTINATION_HELD: "The platform refused the credentials. Nothing is lost "
            "yet, but platforms take only recent events. Give it a new token with `headwater "
            "destination set`, then resume it:",
            AlertKind.DELIVERIES_LATE: "The platform does not answer as it should. Sending goes on "
            "by itself; what was tried and answered is in the list of deliveries:",
            AlertKind.EVENTS_REJECTED: "They are kept. See why, and process them again with "
            "`headwater queue replay` once the cause is mended:",
            AlertKind.PROCESSING_LATE: "Nothing is lost. Look at the service's log: the worker is "
            "not running, or has more to do than it can.",
            AlertKind.SUBSCRIPTION_INACTIVE: "Whoever runs the service can activate it:",
        }[self.kind]

    @property
    def _destination(self) -> str:
        platform = registry.PLATFORMS.get(self.platform or "")
        title = platform.title if platform else self.platform
        return f"{title} “{self.name}”" if self.name else f"{title}"

    def _many(self, noun: str) -> str:
        number = f"{MOST_COUNTED:,}+" if self.count >= MOST_COUNTED else f"{self.count:,}"
        return f"{number} {noun}{'' if self.count == 1 else 's'}"


async def list_alerts(connection: AsyncConnection, space_id: int) -> list[Alert]:
    """The alerts of a Space, the most urgent first."""
    values = {"space_id": space_id, "late": LATE, "most": MOST_COUNTED}
    cursor = connection.cursor(row_factory=dict_row)
    rows: list[dict[str, Any]] = await fetch_all(cursor, queries["alerts"], values)
    alerts = [Alert(kind=AlertKind(row.pop("kind")), **row) for row in rows]
    ranks = list(AlertKind)
    return sorted(alerts, key=lambda alert: (ranks.index(alert.kind), alert.destination_id or 0))
