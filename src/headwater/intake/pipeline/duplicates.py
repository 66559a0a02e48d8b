"""Set aside repeats before other decisions. Pure."""

from __future__ import annotations

from typing import Literal

from headwater.events.accepted import AcceptedEvent
from headwater.events.batch_store import Duplicate, Key, Recorded, Replaced
from headwater.intake.pipeline.batch import Batch, Item


def idempotency_key(event: AcceptedEvent) -> Key | None:
    return (event.event_name, event.idempotency_key) if event.idempotency_key else None


def order_key(event: AcceptedEvent) -> Key | None:
    """Return None for upsells, which share their order's id."""
    if not event.order_id or event.is_upsell or event.event_name == "upsell_purchase":
        return None
    return event.event_name, event.order_id


def drop_duplicates(batch: Batch) -> None:
    """Set aside repeated events. An event from a page makes only page events duplicates: one from the
    business replaces it.
    """
    remaining_items: list[Item] = []
    for item in batch.items:
        if item.event is None:
            remaining_items.append(item)
            continue
        candidates: _Candidates = (
            ("idempotency_key", idempotency_key(item.event), batch.recorded.keys),
            ("order_id", order_key(item.event), batch.recorded.orders),
        )
        duplicate = _find_repeated(item, candidates)
        if duplicate is not None:
            batch.duplicates.append(duplicate)
            continue
        if item.identity.sender.is_trusted:
            batch.replaced += _find_replaced(item, candidates)
        for _, key, recorded in candidates:
            if key is not None:
                recorded.by_sender(item.identity.sender)[key] = item.id
        remaining_items.append(item)
    batch.items = remaining_items


_Candidates = tuple[tuple[Literal["idempotency_key", "order_id"], Key | None, Recorded], ...]
"""Reasons, with the event's key and the recorded keys."""


def _find_repeated(item: Item, candidates: _Candidates) -> Duplicate | None:
    sender = item.identity.sender
    for reason, key, recorded in candidates:
        if key is None:
            continue
        event_id = recorded.business.get(key)
        if event_id is None and not sender.is_trusted:
            event_id = recorded.browsers.get(key)
        if event_id is not None:
            return Duplicate(item.id, reason, event_id, item.received_at, sender)
    return None


def _find_replaced(item: Item, candidates: _Candidates) -> list[Replaced]:
    """Return replaced page events; forget their keys."""
    replaced: dict[int, Replaced] = {}
    for reason, key, recorded in candidates:
        event_id = recorded.browsers.get(key) if key is not None else None
        if event_id is not None:
            replaced.setdefault(event_id, Replaced(event_id, item.id, reason))
    if replaced:
        for _, _, recorded in candidates:
            for key in [key for key, stored_id in recorded.browsers.items() if stored_id in replaced]:
                del recorded.browsers[key]
    return list(replaced.values())


def drop_repeated_page_views(batch: Batch) -> None:
    keys = batch.page_view_keys
    remaining_items: list[Item] = []
    for item in batch.items:
        if item.hit is None:
            remaining_items.append(item)
        elif item.hit.key in keys:
            repeated = Duplicate(item.id, "repeated_hit", None, item.received_at, item.identity.sender)
            batch.duplicates.append(repeated)
        else:
            keys.add(item.hit.key)
            remaining_items.append(item)
    batch.items = remaining_items
