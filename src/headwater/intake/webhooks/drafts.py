"""Drafts of events from deliveries, made in a thread of their own: a mapping is a tenant's program,
and must not stop the event loop, which serves all Spaces.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from weakref import WeakValueDictionary

from headwater.intake.webhooks.interpretation import EventDraft, draft_event
from headwater.intake.webhooks.models import ReadContext, WebhookOutcome, WebhookRequest

Draft = EventDraft | WebhookOutcome

_thread = ThreadPoolExecutor(1, thread_name_prefix="mappings")
_turns: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
"""A lock for each Space at work, so that the deliveries of one do not queue before all others."""


async def make_draft(space_id: int, reader: ReadContext, message: WebhookRequest) -> Draft:
    """Return the draft of the event that a message describes, or the outcome when it is none. Takes
    no connection: a message may have to wait for others.
    """
    turn = _turns.get(space_id)
    if turn is None:
        turn = _turns[space_id] = asyncio.Lock()
    async with turn:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(_thread, draft_event, reader, message)
