"""Connected and missing parts, snippets, and recent events."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from msgspec import Struct
from psycopg import AsyncConnection
from starlette.responses import Response

from headwater.alerts.quality.setup import SHARE_DAYS, read_setup
from headwater.console.report_pages.figures import percent
from headwater.console.setup_pages.remedies import find_alert_page, get_advice
from headwater.console.site_pages.site import describe_installation
from headwater.console.tables import write_missing
from headwater.console.visits import PageVisit, SpacePages
from headwater.database.queries import Queries, fetch_all, fetch_one, make_cursor
from headwater.http.inputs.timerange import whole_days
from headwater.intake.protocols.ignored import list_ignored
from headwater.operations.backups.records import OLD, fetch_latest
from headwater.spaces.models import Space
from headwater.spaces.sites.snippets import Snippet

queries = Queries(__name__, "setup.sql")

ROUTES = SpacePages("/setup")

DAYS = 14
MOST_COUNTED = 10_000
"""Maximum events counted per day, to bound the time."""
BAR_HEIGHT = 96
MOST_IGNORED = 20
"""Names of ignored events."""
ENOUGH_SHARE = Fraction(4, 5)
"""The share of orders that should have a visit, and an e-mail address."""


class Day(Struct, frozen=True):
    day: date
    events: int

    @property
    def count_text(self) -> str:
        return write_count(self.events)


@dataclass(frozen=True)
class Event:
    id: int
    event_name: str
    event_time: datetime
    amount: Decimal | None
    currency: str | None
    """The event's currency, or the Space's."""


class SpaceStatus(Struct, frozen=True):
    waiting: int
    """Events accepted and not yet processed."""
    lag_seconds: float
    """Age of the oldest waiting event."""
    rejected: int
    merges: int


def write_count(number: int) -> str:
    """Return words, limited to MOST_COUNTED."""
    return f"{MOST_COUNTED:,}+" if number > MOST_COUNTED else f"{number:,}"


@ROUTES.page()
async def show_setup(visit: PageVisit) -> Response:
    connection, space, shared = visit.connection, visit.space, visit.services
    setup = await read_setup(connection, space)
    days = await read_days(connection, space)
    highest = max((day.events for day in days), default=0)
    site_key = setup.state.site_key
    values: dict[str, Any] = {
        "setup": setup,
        "backup": await fetch_latest(connection),
        "backup_days": OLD.days,
        "days": days,
        "bars": [round(BAR_HEIGHT * day.events / highest) if highest else 0 for day in days],
        "height": BAR_HEIGHT,
        "events": await read_latest(connection, space.id),
        "ignored": (await list_ignored(connection, space.id))[:MOST_IGNORED],
        "state": await read_status(connection, space.id),
        "base_url": shared.base_url,
        "snippet": Snippet(describe_installation(shared), site_key).tag if site_key else None,
        "labels": space.event_labels,
        "merge_alert": shared.settings.merge_alert,
        "share_days": SHARE_DAYS,
        "enough": ENOUGH_SHARE,
        "get_advice": get_advice,
        "find_alert_page": find_alert_page,
        "percent": percent,
        "write_count": write_count,
        "write_missing": write_missing,
    }
    return visit.render("setup.html", values)


async def read_days(connection: AsyncConnection, space: Space) -> list[Day]:
    today = datetime.now(UTC).astimezone(space.zone).date()
    days = [today - timedelta(days=days_back) for days_back in reversed(range(DAYS))]
    times = [whole_days(day, day, space.zone) for day in days]
    values = {
        "space_id": space.id,
        "days": days,
        "starts": [time.start for time in times],
        "ends": [time.end for time in times],
        "most": MOST_COUNTED + 1,
    }
    return await fetch_all(make_cursor(connection, Day), queries["days"], values)


async def read_latest(connection: AsyncConnection, space_id: int) -> list[Event]:
    return await fetch_all(make_cursor(connection, Event), queries["latest"], {"space_id": space_id})


async def read_status(connection: AsyncConnection, space_id: int) -> SpaceStatus:
    return await fetch_one(
        make_cursor(connection, SpaceStatus),
        queries["state"],
        {"space_id": space_id, "most": MOST_COUNTED + 1},
    )
