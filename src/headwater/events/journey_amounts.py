from __future__ import annotations

from dataclasses import replace

import msgspec
from psycopg import AsyncConnection

from headwater.events.space_amounts import show_amounts
from headwater.http.inputs.pagination import Page


class _Item(msgspec.Struct):
    type: str
    id: int


async def with_amounts(connection: AsyncConnection, space_id: int, page: Page) -> Page:
    """Add `currency` and `amount_in_space_currency` to conversions. Needs the page's transaction."""
    items = [msgspec.json.decode(line, type=_Item) for line in page.lines]
    event_ids = [item.id for item in items if item.type == "conversion"]
    amounts = await show_amounts(connection, space_id, event_ids)
    lines = [
        amounts[item.id].add_to(line) if item.type == "conversion" else line
        for item, line in zip(items, page.lines, strict=True)
    ]
    return replace(page, lines=lines)
