"""What needs attention: everything that is wrong in a Space, by one function for every page and
tool that tells of it, and backlogs of the whole installation for the log.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import structlog
from psycopg import AsyncConnection, Connection
from psycopg.rows import dict_row

from headwater.database.queries import Queries, fetch_all
from headwater.forwarding.platforms import registry

queries = Queries(__name__, "alerts.sql")

LATE = timedelta(minutes=5)
"""What waits longer is late: in good health it is processed, or sent, within seconds."""
MOST_COUNTED = 10_000
WATCH_SECONDS = 30.0

log = structlog.get_logger()


class Kind(StrEnum):
    """What can be wrong, the most urgent first."""

    DESTINATION_HELD = "destination_held"
    PROCESSING_LATE = "processing_late"
    SUBSCRIPTION_INACTIVE = "subscription_inactive"
    EVENTS_REJECTED = "events_rejected"
    DELIVERIES_LATE = "deliveries_late"


@dataclass(frozen=True)
class Alert:
    """One thing that is wrong."""

    kind: Kind
    destination_id: int | None
    platform: str | None
    name: str | None
    """The destination's."""
    detail: str | None
    """In the platform's own words."""
    count: int
    """How much of it, as far as MOST_COUNTED."""
    since: datetime | None

    @property
    def title(self) -> str:
        """What is wrong, in a sentence without its full stop."""
        one = self.count == 1
        match self.kind:
            case Kind.DESTINATION_HELD:
                return f"{self._destination} is held: {self._many('conversion')} waiting"
            case Kind.DELIVERIES_LATE:
                return f"{self._destination} is behind: {self._many('conversion')} not sent yet"
            case Kind.EVENTS_REJECTED:
                return f"{self._many('event')} could not be processed"
            case Kind.PROCESSING_LATE:
                return f"{self._many('event')} {'is' if one else 'are'} waiting to be processed"
            case Kind.SUBSCRIPTION_INACTIVE:
                return "The subscription is inactive: API keys and tokens are refused"

    def command(self, space_id: int) -> str | None:
        """What an operator types to see to it."""
        where = f"--space {space_id} --destination {self.destination_id}"
        return {
            Kind.DESTINATION_HELD: f"headwater destination resume {where}",
            Kind.DELIVERIES_LATE: f"headwater delivery list {where} --status retrying",
            Kind.EVENTS_REJECTED: "headwater queue rejected",
            Kind.SUBSCRIPTION_INACTIVE: f"headwater space set --space {space_id} "
            "subscription=active",
        }.get(self.kind)

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return {
            Kind.DESTINATION_HELD: "The platform refused the credentials. Nothing is lost yet, but "
            "platforms take only recent events. Give it a new token with `headwater destination "
            "set`, then resume it:",
            Kind.DELIVERIES_LATE: "The platform does not answer as it should. Sending goes on by "
            "itself; what was tried and answered is in the list of deliveries:",
            Kind.EVENTS_REJECTED: "They are kept. See why, and process them again with "
            "`headwater queue replay` once the cause is mended:",
            Kind.PROCESSING_LATE: "Nothing is lost. Look at the service's log: the worker is not "
            "running, or has more to do than it can.",
            Kind.SUBSCRIPTION_INACTIVE: "Whoever runs the service can activate it:",
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
    """What is wrong in a Space, the most urgent first."""
    values = {"space_id": space_id, "late": LATE, "most": MOST_COUNTED}
    cursor = connection.cursor(row_factory=dict_row)
    rows: list[dict[str, Any]] = await fetch_all(cursor, queries["alerts"], values)
    alerts = [Alert(kind=Kind(row.pop("kind")), **row) for row in rows]
    ranks = list(Kind)
    return sorted(alerts, key=lambda alert: (ranks.index(alert.kind), alert.destination_id or 0))


class BacklogWatch:
    """Logs once when something falls behind, and once when it has caught up."""

    def __init__(self) -> None:
        self._known: set[tuple[int, int | None]] = set()
        self._looked = -WATCH_SECONDS

    def look(self, connection: Connection[Any]) -> None:
        """Look, unless that was a moment ago."""
        now = time.monotonic()
        if now - self._looked < WATCH_SECONDS:
            return
        self._looked = now
        late: dict[tuple[int, int | None], datetime] = {
            (space_id, destination_id): since
            for space_id, destination_id, since in connection.execute(
                queries["backlogs"], {"late": LATE}
            )
        }
        for place in late.keys() - self._known:
            log.warning("queue behind", **_named(place), since=late[place].isoformat())
        for place in self._known - late.keys():
            log.warning("queue caught up", **_named(place))
        self._known = set(late)


def _named(place: tuple[int, int | None]) -> dict[str, int]:
    space_id, destination_id = place
    destination = {} if destination_id is None else {"destination_id": destination_id}
    return {"space_id": space_id, **destination}
