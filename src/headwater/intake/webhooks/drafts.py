"""Draft events in a thread: mappings are tenants' programs and must not block the event loop."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from weakref import WeakValueDictionary

from headwater.intake.webhooks.interpretation import EventDraft, draft_event
from headwater.intake.webhooks.models import ReadContext, WebhookOutcome, WebhookRequest

Draft = EventDraft | WebhookOutcome

_thread = ThreadPoolExecutor(1, thread_name_prefix="mappings")
_turns: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
"""So that one Space's deliveries don't queue ahead of others."""


async def make_draft(space_id: int, reader: ReadContext, message: WebhookRequest) -> Draft:
    """Draft an event, or return an outcome without one. Needs no connection, because it may wait."""
    turn = _turns.get(space_id)
    if turn is None:
        turn = _turns[space_id] = asyncio.Lock()
    async with turn:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(_thread, draft_event, reader, message)
