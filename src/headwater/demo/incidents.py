"""Incidents of the first sample Space: a time without the tag, and ads without click ids. Alerts find them by
evaluating every hour of the past three weeks.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from psycopg import AsyncConnection

from headwater.alerts import watches
from headwater.alerts.evaluation import AlertWatch
from headwater.alerts.notifications.messages import announce_alerts
from headwater.base.settings import Settings
from headwater.database.pool import Database
from headwater.demo.journeys import Payload
from headwater.operations.terminal.connection import database_url
from headwater.spaces.models import Space

HISTORY = timedelta(days=21)
NO_TAG = (timedelta(days=20), timedelta(days=16))
"""Start and end of the time without visits, before now."""
NO_CLICK_IDS = timedelta(days=4)
"""Since then, before now, a redirect removes the parameters of Google's ads."""
FILLING = timedelta(hours=1)
"""A new Space is checked first within this time."""


def visits_seen(visits: list[Payload], current_time: datetime) -> list[Payload]:
    """Return the visits that pages report."""
    ages = [(visit, current_time - datetime.fromisoformat(visit["occurred_at"])) for visit in visits]
    return [
        _redirect(visit) if "gclid=" in visit["url"] and age < NO_CLICK_IDS else visit
        for visit, age in ages
        if not NO_TAG[1] < age < NO_TAG[0]
    ]


def _redirect(visit: Payload) -> Payload:
    """Return a click on an ad as it looks without its parameters, like one on a search result."""
    return {**visit, "url": visit["url"].partition("?")[0], "referrer": "https://www.google.com/"}


async def begin_alerts(connection: AsyncConnection, space: Space) -> None:
    """Start with the past three weeks of a new Space, once it is filled."""
    current_time = datetime.now(UTC)
    past_time = (current_time - HISTORY).astimezone(space.zone).replace(tzinfo=None, minute=0, second=0)
    await watches.begin_watch(
        connection, space, current_time, past_time.replace(microsecond=0), current_time + FILLING
    )


def find_alerts(settings: Settings, space: Space) -> None:
    """Evaluate the past three weeks, hour by hour."""
    asyncio.run(_find_alerts(settings, space))


async def _find_alerts(settings: Settings, space: Space) -> None:
    async with Database(database_url(settings), 2) as database:
        async with database.connection() as connection:
            await watches.hasten(connection, space.id)
        hours = HISTORY // timedelta(hours=1) + 1
        watch = AlertWatch(database, announce_alerts, most_hours=hours, at_once=True)
        await watch.look(space.id, datetime.now(UTC))
