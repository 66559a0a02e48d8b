"""The decisions of the pipeline, one step per function, in the order of `running.process`.

All of them are pure: they look at nothing but the batch and walk its items in order of arrival.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from headwater.attribution.accepted import AcceptedTouchpoint
from headwater.companies.domains import business_domain
from headwater.companies.grouping import Company
from headwater.contacts.profiles import full_name
from headwater.events.accepted import AcceptedEvent
from headwater.events.recording import Duplicate, Key
from headwater.identity.matching import Identifiers, Presented, identify, without_junk
from headwater.pipeline.batch import Arrival, Batch, Item, Rejection, RejectReason
from headwater.pipeline.touchpoints import touch_of, touch_of_event

EVENT = "event"
TOUCHPOINT = "touchpoint"

_decode_event = msgspec.json.Decoder(AcceptedEvent).decode
_decode_touchpoint = msgspec.json.Decoder(AcceptedTouchpoint).decode


def parse(batch: Batch) -> None:
    """Read the payloads; rows that cannot be read are rejected here and now."""
    for arrival in batch.arrivals:
        read = _READERS.get(arrival.kind)
        if read is None:
            rejection = Rejection(arrival.id, RejectReason.UNKNOWN_KIND, "no kind that is known")
            batch.rejections.append(rejection)
            continue
        try:
            batch.items.append(read(batch, arrival))
        except (msgspec.DecodeError, UnicodeError) as error:
            detail = type(error).__name__
            rejection = Rejection(arrival.id, RejectReason.UNREADABLE_PAYLOAD, detail)
            batch.rejections.append(rejection)


def _read_event(batch: Batch, arrival: Arrival) -> Item:
    event = _decode_event(arrival.payload)
    item = _identified(batch, arrival, event, event.event_time)
    item.event = event
    item.touch = touch_of_event(event, item.at)
    return item


def _read_touchpoint(batch: Batch, arrival: Arrival) -> Item:
    touchpoint = _decode_touchpoint(arrival.payload)
    item = _identified(batch, arrival, touchpoint, touchpoint.occurred_at)
    item.touch = touch_of(touchpoint, item.at)
    return item


_READERS: dict[str, Callable[[Batch, Arrival], Item]] = {
    EVENT: _read_event,
    TOUCHPOINT: _read_touchpoint,
}


def _identified(
    batch: Batch, arrival: Arrival, told: AcceptedEvent | AcceptedTouchpoint, at: int
) -> Item:
    """An item that does not yet say what was done, at this moment in ms since 1970."""
    given = Identifiers(told.email, told.tracking_id, told.trk_token, told.fingerprint, told.ip)
    kept, warnings = without_junk(given, batch.space.junk)
    seen_with = kept.fingerprint is not None and kept.ip is not None
    who = Presented(
        receipt_id=arrival.id,
        at=at * 1000,
        received_at=arrival.received_at,
        email=kept.email,
        tracking_id=kept.tracking_id,
        trk_token=kept.trk_token,
        fingerprint=f"{kept.fingerprint}|{kept.ip}" if seen_with else None,
    )
    item = Item(arrival, who)
    item.warnings = warnings or None
    return item


def idempotency_key(event: AcceptedEvent) -> Key | None:
    """What makes a later event with the same one a duplicate."""
    return (event.event_name, event.idempotency_key) if event.idempotency_key else None


def order_key(event: AcceptedEvent) -> Key | None:
    """Likewise for orders; upsells share their order's id and are left out."""
    if not event.order_id or event.is_upsell or event.event_name == "upsell_purchase":
        return None
    return event.event_name, event.order_id


def drop_duplicates(batch: Batch, by_key: dict[Key, int], by_order: dict[Key, int]) -> None:
    """Set aside events that repeat a stored one, or an earlier one of the batch.

    `by_key` and `by_order` give the stored events' ids.
    """
    kept: list[Item] = []
    for item in batch.items:
        if item.event is None:
            kept.append(item)
            continue
        key, order = idempotency_key(item.event), order_key(item.event)
        if key in by_key:
            duplicate = Duplicate(item.id, "idempotency_key", by_key[key], item.received_at)
            batch.duplicates.append(duplicate)
            continue
        if order in by_order:
            duplicate = Duplicate(item.id, "order_id", by_order[order], item.received_at)
            batch.duplicates.append(duplicate)
            continue
        if key is not None:
            by_key[key] = item.id
        if order is not None:
            by_order[order] = item.id
        kept.append(item)
    batch.items = kept


def match_identities(batch: Batch) -> None:
    """Find, make and merge the contacts of the items."""
    for item in batch.items:
        item.contact = identify(batch.directory, item.who)


def describe_contacts(batch: Batch) -> None:
    """Let contacts take what events and merged contacts tell about them."""
    directory, profiles, zone = batch.directory, batch.profiles, batch.space.zone
    for item, merges in batch.timeline():
        for merge in merges:
            profiles.of(merge.survivor).fill_from(profiles.of(merge.loser))
        profile, event = profiles.of(item.contact), item.event
        if event is None:
            profile.learn(item.who.email, None, None)
            continue
        name = full_name(event.full_name, event.first_name, event.last_name)
        profile.learn(item.who.email, name, event.phone)
        if event.profile_fields:
            profile.set_fields(event.profile_fields, zone)
        if name is not None:
            directory.link(item.contact, ("name", name), item.at, item.id)
        if event.phone is not None:
            directory.link(item.contact, ("phone", event.phone), item.at, item.id)


def group_companies(batch: Batch) -> None:
    """Give contacts their companies; a survivor keeps its own or takes the merged contact's."""
    by_external_id = batch.space.company_identity_mode == "external_id"
    for item, merges in batch.timeline():
        for merge in merges:
            batch.profiles.of(merge.survivor).join_company(batch.profiles.of(merge.loser))
        profile = batch.profiles.of(item.contact)
        if by_external_id:
            profile.company = _named_company(batch, item) or profile.company
        elif profile.company is None:
            profile.company = _employer(batch, item)


def _named_company(batch: Batch, item: Item) -> Company | None:
    event = item.event
    if event is None or event.company_external_id is None:
        return None
    return batch.companies.of_external_id(
        event.company_external_id, event.company_name, item.received_at
    )


def _employer(batch: Batch, item: Item) -> Company | None:
    domain = business_domain(item.who.email) if item.who.email is not None else None
    return batch.companies.of_domain(domain, item.received_at) if domain is not None else None


def walk_paths(batch: Batch) -> None:
    """Decide which touches become touchpoints, and which sources precede each event."""
    for item, merges in batch.timeline():
        for merge in merges:
            batch.path(merge.survivor).absorb(batch.path(merge.loser))
        path = batch.path(item.contact)
        touch = item.touch
        if touch is not None:
            if path.repeats(touch):
                item.touch = None
            else:
                path.add_touch(touch)
        if item.event is not None:
            item.mark = path.add_event(item.at)
        elif item.touch is None:
            repeated = Duplicate(item.id, "repeated_touch", None, item.received_at)
            batch.duplicates.append(repeated)


def settle(batch: Batch) -> None:
    """Carry what the walks found over to the rows of the contacts, whose numbers are now known."""
    for contact, path in batch.paths.items():
        profile = batch.profiles.of(contact)
        if path.source_mask != profile.source_mask:
            profile.source_mask, profile.changed = path.source_mask, True
    for profile in batch.profiles:
        profile.changed |= profile.company is not profile.original_company
