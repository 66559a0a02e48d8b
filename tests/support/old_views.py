"""Helpers for tests of old page views: visits, and everything that is shown of a Space."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg

from headwater.console.people_pages.contact import load_contact
from headwater.console.people_pages.timeline import Timeline, list_contact_timeline
from headwater.events.browsing.old_views import delete_old_views
from headwater.http.errors import NotFound
from headwater.intake.ingest.receipts import fetch_receipt
from headwater.people.contacts.models import GetContact
from headwater.people.contacts.queries import fetch_contact
from headwater.people.contacts.queries import queries as contact_queries
from headwater.spaces.models import Space
from headwater.spaces.spaces import fetch_space
from tests.support.pipeline import MINUTE, T0, Accepted, Stage, hit

ALL = GetContact(trk_tokens=True, events=True, direct_touchpoints=True, hits=True)
NOW = datetime.fromtimestamp(T0 / 1000, UTC) + timedelta(days=60)
PAGES = ("", "products/1?size=L", "products/ü\"\\'\t2", "cart")


def visit(token: str, start: int = T0, **values: Any) -> list[Accepted]:
    """Return the page views of a visit, a minute apart. Only the first one makes a touchpoint."""
    return [
        hit(
            trk_token=token, occurred_at=start + position * MINUTE,
            url=f"https://shop.example/{page}", browser="Firefox", os="Linux", country="DE",
            referrer="https://www.google.com/" if not position else "https://shop.example/",
            **values,
        )
        for position, page in enumerate(PAGES)
    ]  # fmt: skip


def settle(stage: Stage, now: datetime = NOW, limit: int = 1000) -> None:
    """Delete old page views until none is left to delete."""
    while delete_old_views(stage.connection, stage.space_id, limit, now):
        pass


def survivors(stage: Stage) -> list[int]:
    """Return the surviving contacts, oldest first."""
    return [contact for contact, home in stage.rows("contacts", "id", "merged_into") if home is None]


def answers(database_url: str, stage: Stage) -> dict[str, list[Any]]:
    """Return what is shown of every contact and every receipt."""

    async def read() -> dict[str, list[Any]]:
        async with await psycopg.AsyncConnection.connect(database_url) as connection:
            space = await fetch_space(connection, stage.space_id)
            await connection.commit()
            return {
                "receipts": [await _receipt(connection, space.id, number) for number in stage.receipts],
                "contacts": [await _contact(connection, space, contact) for contact in survivors(stage)],
                "pages": [
                    [answer async for answer in _pages(connection, space, contact)]
                    for contact in survivors(stage)
                ],
            }

    return asyncio.run(read())


async def _receipt(connection: psycopg.AsyncConnection, space_id: int, number: int) -> Any:
    try:
        return await fetch_receipt(connection, space_id, number)
    except NotFound:
        return None


async def _contact(connection: psycopg.AsyncConnection, space: Space, contact_id: int) -> bytes:
    await connection.commit()
    await connection.execute(contact_queries["snapshot"])
    return await fetch_contact(connection, space, contact_id, ALL)


async def _pages(connection: psycopg.AsyncConnection, space: Space, contact_id: int) -> AsyncIterator[Any]:
    """Yield the console's page of a contact, then its timeline to the end and back."""
    await connection.commit()
    page = await load_contact(connection, space, contact_id, None)
    yield page
    timeline: Timeline = page.timeline
    for side in ("next", "previous"):
        while (cursor := getattr(timeline, side)) is not None:
            timeline = await list_contact_timeline(connection, space, contact_id, cursor)
            yield timeline
    await connection.commit()
