"""The current alerts of a Space, problems and unusual figures, for every page and tool."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from headwater.alerts.rules import OF_FIGURES, TEXTS, Rule
from headwater.alerts.spend_problems import SpendProblem, list_spend_problems
from headwater.alerts.watched_problems import WatchedFileProblem, list_watched_file_problems
from headwater.database.jobs.failed_jobs import FORGOTTEN
from headwater.database.queries import Queries, fetch_all
from headwater.forwarding.platforms import registry
from headwater.http.inputs.account_kinds import find_title
from headwater.spaces.keys import EXPIRY_NOTICE

queries = Queries(__name__, "problems.sql")

LATE_AFTER = timedelta(minutes=5)
"""Waiting work older than this is late: it normally takes seconds."""
MOST_COUNTED = 10_000
_FAULTS = {
    Rule.EVENTS_REJECTED: ("event", "could not be processed"),
    Rule.JOINS_REFUSED: ("unsigned contact", "refused in a day: too many for one browser"),
    Rule.EXPORTS_FAILED: ("folder", "of scheduled exports could not be written"),
    Rule.JOB_FAILED: ("background job", "failed"),
    Rule.KEY_EXPIRING: ("API key", "will expire within a week"),
}
MOST_OPEN = 100
MOST_NAMED_KEYS = 5
"""Names can have 255 characters, and a message to a webhook 3,000."""


class Alert(Struct, frozen=True):
    kind: Rule
    destination_id: int | None
    platform: str | None
    name: str | None
    detail: str | None
    """The platform's message; for an alert about figures, its cause."""
    count: int
    """The number of affected items, counted up to MOST_COUNTED."""
    since: datetime | None
    text: str | None = None
    connection_id: int | None = None
    """The connection to an ad account."""
    watched_file_id: int | None = None

    @property
    def subject(self) -> str:
        """What the alert is about; with the rule, its key."""
        return str(self._row_id or "")

    @property
    def title(self) -> str:
        is_one = self.count == 1
        match self.kind:
            case Rule.DESTINATION_HELD:
                return f"{self._destination} connection expired: {self._many('conversion')} not sent"
            case Rule.DELIVERIES_LATE:
                return f"{self._destination} is behind: {self._many('conversion')} not sent yet"
            case kind if kind in _FAULTS:
                noun, fault = _FAULTS[self.kind]
                return f"{self._many(noun)} {fault}"
            case Rule.PROCESSING_LATE:
                return f"{self._many('event')} {'is' if is_one else 'are'} waiting to be processed"
            case Rule.SUBSCRIPTION_INACTIVE:
                return "The subscription is inactive: API keys and tokens are refused"
            case _:
                return self.text or TEXTS[self.kind].title

    def command(self, space_id: int) -> str | None:
        options = f"--space {space_id} --destination {self.destination_id}"
        connection_options = f"--space {space_id} --connection {self.connection_id}"
        file_options = f"--space {space_id} --file {self.watched_file_id}"
        return {
            Rule.DESTINATION_HELD: f"headwater destination resume {options}",
            Rule.DELIVERIES_LATE: f"headwater delivery list {options} --status retrying",
            Rule.SPEND_CONNECTION_HELD: f"headwater spend resume {connection_options}",
            Rule.SPEND_MISSING: f"headwater spend show {connection_options}",
            Rule.SPEND_API_VERSION: f"headwater spend check {connection_options}",
            Rule.WATCHED_FILE_FAILING: f"headwater watch show {file_options}",
            Rule.KEY_EXPIRING: f"headwater key list --space {space_id}",
            Rule.EVENTS_REJECTED: "headwater queue rejected",
            Rule.SUBSCRIPTION_INACTIVE: f"headwater space set --space {space_id} subscription=active",
        }.get(self.kind)

    @property
    def remedy(self) -> str:
        return TEXTS[self.kind].remedy

    @property
    def is_about_figures(self) -> bool:
        return self.kind in OF_FIGURES

    @property
    def page(self) -> str:
        """The path of the page that helps, after the Space's."""
        page = TEXTS[self.kind].page
        return page if self._row_id is None else f"{page}/{self._row_id}"

    @property
    def _row_id(self) -> int | None:
        return self.destination_id or self.connection_id or self.watched_file_id

    @property
    def _destination(self) -> str:
        title = find_title(registry.PLATFORMS, self.platform or "")
        return f"{title} “{self.name}”" if self.name else title

    def _many(self, noun: str) -> str:
        number = f"{MOST_COUNTED:,}+" if self.count >= MOST_COUNTED else f"{self.count:,}"
        return f"{number} {noun}{'' if self.count == 1 else 's'}"


async def list_alerts(connection: AsyncConnection, space_id: int) -> list[Alert]:
    """Return the most urgent first."""
    alerts = await list_problems(connection, space_id)
    cursor = connection.cursor(row_factory=dict_row)
    values = {"space_id": space_id, "rules": list(OF_FIGURES), "most": MOST_OPEN}
    rows = await fetch_all(cursor, queries["open"], values)
    alerts += [Alert(kind=Rule(row.pop("kind")), **row) for row in rows]
    ranks = list(Rule)
    return sorted(alerts, key=lambda alert: (ranks.index(alert.kind), int(alert.subject or 0)))


async def list_problems(connection: AsyncConnection, space_id: int) -> list[Alert]:
    values = {"space_id": space_id, "late": LATE_AFTER, "most": MOST_COUNTED, "forgotten": FORGOTTEN}
    values |= {"notice": EXPIRY_NOTICE, "most_named": MOST_NAMED_KEYS}
    cursor = connection.cursor(row_factory=dict_row)
    rows: list[dict[str, Any]] = await fetch_all(cursor, queries["problems"], values)
    alerts = [Alert(kind=Rule(row.pop("kind")), **row) for row in rows]
    alerts += [_of_spend(problem) for problem in await list_spend_problems(connection, space_id)]
    files = await list_watched_file_problems(connection, space_id)
    return alerts + [_of_watched_file(problem) for problem in files]


def _of_spend(problem: SpendProblem) -> Alert:
    return Alert(
        kind=problem.kind,
        destination_id=None,
        platform=problem.platform,
        name=problem.name,
        detail=problem.detail,
        count=1,
        since=problem.since,
        text=problem.title,
        connection_id=problem.connection_id,
    )


def _of_watched_file(problem: WatchedFileProblem) -> Alert:
    return Alert(
        kind=Rule.WATCHED_FILE_FAILING,
        destination_id=None,
        platform=None,
        name=problem.name,
        detail=problem.detail,
        count=1,
        since=problem.since,
        text=problem.title,
        watched_file_id=problem.id,
    )
