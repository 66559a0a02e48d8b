"""Problems of connections to ad accounts: held, without a recent pull, or with a version that ends soon."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

from msgspec import Struct
from psycopg import AsyncConnection

from headwater.alerts.rules import Rule
from headwater.base.dates import format_day
from headwater.database.queries import Queries, fetch_all, make_cursor
from headwater.http.inputs.account_kinds import find_title
from headwater.spend.connections.remedies import find_remedy
from headwater.spend.platforms import registry

queries = Queries(__name__, "spend_problems.sql")

MISSING_AFTER = timedelta(hours=24)
"""Without a complete pull."""
LATE_AFTER = timedelta(minutes=5)
"""A due pull that has not begun by then is late."""
VERSION_NOTICE = timedelta(days=60)


class SpendProblem(Struct, frozen=True):
    kind: Rule
    connection_id: int
    platform: str
    name: str
    title: str
    detail: str | None
    since: datetime | None


class _Connection(Struct, frozen=True):
    id: int
    platform: str
    name: str
    status: str
    settings: dict[str, Any]
    fault: str | None
    fault_message: str | None
    failing_since: datetime | None
    pulled_at: datetime
    is_missing: bool


async def list_spend_problems(connection: AsyncConnection, space_id: int) -> list[SpendProblem]:
    values = {"space_id": space_id, "missing": MISSING_AFTER, "late": LATE_AFTER}
    rows = await fetch_all(make_cursor(connection, _Connection), queries["connections"], values)
    today = datetime.now(UTC).date()
    return [problem for row in rows for problem in _find_problems(row, today)]


def _find_problems(row: _Connection, today: date) -> Iterator[SpendProblem]:
    words = " ".join(filter(None, (row.fault_message, find_remedy(row.platform, row.fault)))) or None
    if row.status == "held":
        title = f"{_name(row)} connection stopped: spend is not pulled"
        yield _make(Rule.SPEND_CONNECTION_HELD, row, title, words, row.failing_since)
    elif row.is_missing:
        title = f"{_name(row)}: spend has not been pulled completely for more than a day"
        yield _make(Rule.SPEND_MISSING, row, title, words, row.pulled_at)
    version, last_day = _find_version(row)
    if last_day is not None and last_day <= today + VERSION_NOTICE:
        title = f"{_name(row)}: {version} of the platform's API ends on {format_day(last_day)}"
        yield _make(Rule.SPEND_API_VERSION, row, title, None, None)


def _find_version(row: _Connection) -> tuple[str | None, date | None]:
    """Return the version of the API in use, and its last day as far as it is published."""
    platform = registry.PLATFORMS.get(row.platform)
    if platform is None:
        return None, None
    version = platform.find_version(row.settings)
    return version, None if version is None else platform.find_version_end(version)


def _name(row: _Connection) -> str:
    title = find_title(registry.PLATFORMS, row.platform)
    return title if row.name == title else f"{title} “{row.name}”"


def _make(
    kind: Rule, row: _Connection, title: str, detail: str | None, since: datetime | None
) -> SpendProblem:
    return SpendProblem(kind, row.id, row.platform, row.name, title, detail, since)
