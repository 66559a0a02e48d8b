"""The choice of a Space, and its set-up: the latest events, and how to begin."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from psycopg import AsyncConnection
from psycopg.rows import class_row
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.accounts.members import list_joined
from headwater.api.services import services
from headwater.console.pages import redirect, render
from headwater.console.visitor import HOME, enter, require_visitor
from headwater.database.queries import Queries, fetch_all, fetch_one
from headwater.spaces.models import Space

queries = Queries(__name__, "overview.sql")

DAYS = 14
COUNTED = 10_000
"""The most events of a day that are counted: counting further would take long."""
BAR_HEIGHT = 96


@dataclass(frozen=True)
class Day:
    """The events of one day, by the Space's clock."""

    day: date
    events: int

    @property
    def count_text(self) -> str:
        """The number of events as it is written."""
        return f"{COUNTED:,}+" if self.events > COUNTED else f"{self.events:,}"


@dataclass(frozen=True)
class Event:
    """One of the latest events."""

    id: int
    event_name: str
    event_time: datetime
    amount: Decimal | None
    currency: str | None
    """The Space's currency where the event has none."""


@dataclass(frozen=True)
class SpaceStatus:
    """The state of a Space's processing and of its set-up."""

    waiting: int
    """Events accepted and not processed yet."""
    lag_seconds: float
    """Age of the oldest of them."""
    rejected: int
    merges: int
    """Merges of contacts in the last hour."""
    keys: int
    tokens: int
    site_key: str | None


async def show_spaces(request: Request) -> Response:
    """The visitor's Spaces; who has one alone goes straight there."""
    visitor = await require_visitor(request)
    async with services(request).database.connection() as connection:
        joined = await list_joined(connection, visitor.user.id)
    if len(joined) == 1 and "all" not in request.query_params:
        return redirect(request, f"{HOME}/spaces/{joined[0].space_id}")
    return render(request, "spaces.html", joined=joined)


async def show_overview(request: Request) -> Response:
    """The state of a Space's processing, and how to begin."""
    visitor = await require_visitor(request)
    shared = services(request)
    async with shared.database.connection() as connection:
        inside = await enter(connection, request, visitor)
        days = await read_days(connection, inside.space)
        events = await read_latest(connection, inside.space.id)
        state = await read_status(connection, inside.space.id)
    most = max((day.events for day in days), default=0)
    bars = [round(BAR_HEIGHT * day.events / most) if most else 0 for day in days]
    return render(
        request, "overview.html", days=days, bars=bars, height=BAR_HEIGHT, events=events,
        state=state, base_url=shared.base_url, script=shared.settings.tracker_script,
        labels=inside.space.event_labels, merge_alert=shared.settings.merge_alert,
    )  # fmt: skip


async def read_days(connection: AsyncConnection, space: Space) -> list[Day]:
    """Events of the last DAYS days, the oldest first."""
    values = {"space_id": space.id, "zone": space.timezone, "days": DAYS, "most": COUNTED + 1}
    cursor = connection.cursor(row_factory=class_row(Day))
    return await fetch_all(cursor, queries["days"], values)


async def read_latest(connection: AsyncConnection, space_id: int) -> list[Event]:
    """The latest events, the newest first."""
    cursor = connection.cursor(row_factory=class_row(Event))
    return await fetch_all(cursor, queries["latest"], {"space_id": space_id})


async def read_status(connection: AsyncConnection, space_id: int) -> SpaceStatus:
    """The state of the Space now."""
    cursor = connection.cursor(row_factory=class_row(SpaceStatus))
    return await fetch_one(cursor, queries["state"], {"space_id": space_id})


ROUTES = [
    Route(HOME, show_spaces, methods=["GET"]),
    Route(f"{HOME}/spaces/{{space_id}}/setup", show_overview, methods=["GET"]),
]
