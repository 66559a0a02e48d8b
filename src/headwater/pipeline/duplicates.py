"""Repeats of earlier rows: events by their idempotency keys and orders, page views by their keys.
They are set aside before anything else is decided. Pure.
"""

from __future__ import annotations

from typing import Literal

from headwater.events.accepted import AcceptedEvent
from headwater.events.batch_store import Duplicate, Key, Recorded, Replaced
from headwater.pipeline.batch import Batch, Item


def idempotency_key(event: AcceptedEvent) -> Key | None:
    """The key by which a later event with the same one is a duplicate."""
    return (event.event_name, event.idempotency_key) if event.idempotency_key else None


def order_key(event: AcceptedEvent) -> Key | None:
    """Likewise for orders; upsells share their order's id and are left out."""
    if not event.order_id or event.is_upsell or event.event_name == "upsell_purchase":
        return None
    return event.event_name, event.order_id


def drop_duplicates(batch: Batch) -> None:
    """Set aside events that repeat a stored one, or an earlier one of the batch. What a page says
    keeps out nothing but what pages say: an event of the business takes its place.
    """
    kept: list[Item] = []
    for item in batch.items:
        if item.event is None:
            kept.append(item)
            continue
        named: _Named = (
            ("idempotency_key", idempotency_key(item.event), batch.recorded.keys),
            ("order_id", order_key(item.event), batch.recorded.orders),
        )
        duplicate = _repeated(item, named)
        if duplicate is not None:
            batch.duplicates.append(duplicate)
            continue
        if item.who.sender.is_trusted:
            batch.replaced += _replaced(item, named)
        for _, key, recorded in named:
            if key is not None:
                recorded.of(item.who.sender)[key] = item.id
        kept.append(item)
    batch.items = kept


_Named = tuple[tuple[Literal["idempotency_key", "order_id"], Key | None, Recorded], ...]
"""The ways in which an event can repeat another: the reason, its own key, and the stored ones."""


def _repeated(item: Item, named: _Named) -> Duplicate | None:
    """The event as a duplicate, where it repeats another."""
    sender = item.who.sender
    for reason, key, recorded in named:
        if key is None:
            continue
        event_id = recorded.business.get(key)
        if event_id is None and not sender.is_trusted:
            event_id = recorded.browsers.get(key)
        if event_id is not None:
            return Duplicate(item.id, reason, event_id, item.received_at, sender)
    return None


def _replaced(item: Item, named: _Named) -> list[Replaced]:
    """The events of pages whose place this one takes. They no longer count for others."""
    replaced: dict[int, Replaced] = {}
    for reason, key, recorded in named:
        event_id = recorded.browsers.get(key) if key is not None else None
        if event_id is not None:
            replaced.setdefault(event_id, Replaced(event_id, item.id, reason))
    if replaced:
        for _, _, recorded in named:
            for key in [key for key, known in recorded.browsers.items() if known in replaced]:
                del recorded.browsers[key]
    return list(replaced.values())


def drop_repeated_page_views(batch: Batch) -> None:
    """Set aside page views that repeat a stored one, by its key, or an earlier one of the batch."""
    keys = batch.page_view_keys
    kept: list[Item] = []
    for item in batch.items:
        if item.hit is None:
            kept.append(item)
        elif item.hit.key in keys:
            repeated = Duplicate(item.id, "repeated_hit", None, item.received_at, item.who.sender)
            batch.duplicates.append(repeated)
        else:
            keys.add(item.hit.key)
            kept.append(item)
    batch.items = kept
