"""Write a batch. No step reads results: one round trip."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from psycopg import Connection

from headwater.attribution.history.revisions import ChangeCause, keep_events, keep_touchpoints, note_added
from headwater.attribution.paths.changes import note_events, note_new_events, note_touches
from headwater.base.failpoints import failpoint
from headwater.events.accepted import EventColumns
from headwater.events.batch_store import (
    StoredEvent,
    add_seen_sources,
    add_sources,
    change_amounts,
    delete_events,
    follow_orders,
    record_duplicates,
    record_events,
    release_keys,
    replace_events,
)
from headwater.events.browsing import batch_store as browsing
from headwater.events.browsing.views import View
from headwater.events.refunds.store import save_refunds
from headwater.events.touchpoints import batch_store as touchpoints
from headwater.events.touchpoints.batch_store import StoredTouchpoint
from headwater.events.touchpoints.models import Touch
from headwater.forwarding.deliveries.corrections import find_orders, queue_corrections
from headwater.forwarding.deliveries.outbox import (
    hand_over_deliveries,
    is_refund,
    queue_deliveries,
    withdraw_all,
)
from headwater.intake.inbox.queue import delete_rows
from headwater.intake.inbox.rejected import reject_rows
from headwater.intake.merging.merge_log import log_merges
from headwater.intake.merging.reassignment import reassign_all
from headwater.intake.pipeline.batch import Batch, Item
from headwater.intake.pipeline.page_views import (
    add_tag_set,
    hit_row,
    list_joined_visits,
    list_sources_seen,
    original_id,
    visit_rows,
)
from headwater.people.companies.batch_store import write_companies
from headwater.people.contacts.batch_store import write_name_parts, write_profiles
from headwater.people.contacts.identifiers import write_links, write_merged_contacts
from headwater.people.contacts.profiles import Profile
from headwater.people.identity.directory import Contact
from headwater.people.identity.moves import ContactMove
from headwater.people.identity.queries import write_joins
from headwater.spaces.sites.sites import count_bots


def write_merges(connection: Connection[Any], batch: Batch) -> None:
    space_id = batch.space.id
    moves = [move for profile in batch.profiles if (move := _make_move(batch, profile))]
    write_merged_contacts(connection, space_id, batch.directory)
    log_merges(connection, space_id, batch.directory.merges, batch.profiles)
    reassign_all(connection, space_id, moves)
    failpoint("worker_after_merge")


def write_contacts(connection: Connection[Any], batch: Batch) -> None:
    space_id = batch.space.id
    write_companies(connection, space_id, batch.companies)
    write_profiles(connection, space_id, batch.profiles)
    write_links(connection, space_id, batch.directory)
    write_joins(connection, space_id, batch.joins)
    write_name_parts(connection, space_id, batch.profiles, batch.names)


def write_touchpoints(connection: Connection[Any], batch: Batch) -> None:
    """Store touchpoints, and their sources in later stored events."""
    add_sources(connection, batch.space.id, batch.late_sources)
    touches = [
        _touchpoint_from_item(batch, item, item.touch) for item in batch.items if item.touch is not None
    ]
    touchpoints.write_touchpoints(connection, batch.space.id, touches, batch.tag_sets)


def write_page_views(connection: Connection[Any], batch: Batch) -> None:
    """Store page views, visits, clicks and touchpoints; delete touchpoints no longer made."""
    space_id, views = batch.space.id, batch.views.values()
    hits = [hit for item in batch.items if (hit := hit_row(batch, item))]
    touchpoints.write_tag_sets(connection, space_id, batch.tag_sets)
    browsing.write_hits(connection, space_id, hits, batch.tag_sets)
    browsing.write_visits(connection, space_id, visit_rows(batch), list_joined_visits(batch))
    browsing.write_clicks(connection, space_id, batch.clicks)
    count_bots(connection, space_id, batch.bots)
    add_seen_sources(connection, space_id, list_sources_seen(batch))
    withdrawn = [view.id for view in views if view.was_touch and not view.is_touch]
    keep_touchpoints(connection, space_id, withdrawn, ChangeCause.WITHDRAWN_TOUCHES)
    touchpoints.delete_touchpoints(connection, space_id, withdrawn)
    new = [_touchpoint_from_view(batch, view) for view in views if view.is_touch and not view.was_touch]
    touchpoints.write_touchpoints(connection, space_id, new, batch.tag_sets)


def write_events(connection: Connection[Any], batch: Batch) -> None:
    """Store events. Replaced events release their keys first, because a later event may have one; they are
    deleted after their deliveries are handed over.
    """
    batch.events = [event for item in batch.items if (event := _make_event(batch, item))]
    replaced = {event.id for event in batch.replaced}
    release_keys(connection, batch.space.id, replaced)
    record_events(
        connection,
        batch.space.id,
        [event.without_keys() if event.id in replaced else event for event in batch.events],
    )


def write_refunds(connection: Connection[Any], batch: Batch) -> None:
    space_id, changes = batch.space.id, batch.refund_changes
    save_refunds(connection, space_id, changes.orders)
    changed_ids = list({refund.receipt for refund in changes.amounts} | changes.order_by_stored_refund.keys())
    keep_events(connection, space_id, changed_ids, ChangeCause.EDITS)
    keep_events(connection, space_id, changes.withdrawn, ChangeCause.DELETIONS)
    batch.refunded_orders = find_orders(connection, space_id, [*changed_ids, *changes.withdrawn])
    change_amounts(connection, space_id, [(r.receipt, -r.amount, r.currency) for r in changes.amounts])
    follow_orders(connection, space_id, changes.order_by_stored_refund | changes.order_by_new_refund)
    note_events(connection, space_id, [*changed_ids, *changes.withdrawn])
    withdraw_all(connection, space_id, changes.withdrawn)
    delete_events(connection, space_id, changes.withdrawn)


def keep_history(connection: Connection[Any], batch: Batch) -> None:
    space_id = batch.space.id
    new_touches = [view.id for view in batch.views.values() if view.is_touch and not view.was_touch]
    touches = [item.id for item in batch.items if item.touch is not None]
    note_added(connection, space_id, [event.id for event in batch.events], [*touches, *new_touches])
    replaced_ids = [event.id for event in batch.replaced]
    successor_ids = [event.event_id for event in batch.replaced]
    keep_events(connection, space_id, replaced_ids, ChangeCause.REPLACEMENTS, successor_ids)


def note_changed_paths(connection: Connection[Any], batch: Batch) -> None:
    """Record new or changed paths."""
    space_id, views = batch.space.id, batch.views.values()
    changes = [(view.owner, view.occurred_at) for view in views if view.was_touch != view.is_touch]
    changes += [(item.contact, item.touch.occurred_at) for item in batch.items if item.touch is not None]
    touches = [(owner.final().id, moment) for owner, moment in changes if not owner.final().is_new]
    note_touches(connection, space_id, touches)
    note_new_events(connection, space_id, [(event.id, event.event_time) for event in batch.events])
    note_events(connection, space_id, [event.id for event in batch.replaced])


def forward_events(connection: Connection[Any], batch: Batch) -> None:
    """Queue deliveries; replacements last, because they take over deliveries."""
    space_id, targets = batch.space.id, batch.targets
    successors = {event.event_id for event in batch.replaced}
    other_events = [event for event in batch.events if event.id not in successors]
    queue_deliveries(connection, space_id, other_events, targets)
    if successors:
        hand_over_deliveries(connection, space_id, batch.replaced)
        replacing = [event for event in batch.events if event.id in successors]
        queue_deliveries(connection, space_id, replacing, targets)
    if targets:
        refunds = [event.id for event in batch.events if is_refund(event)]
        orders = find_orders(connection, space_id, refunds)
        queue_corrections(connection, space_id, {*orders, *batch.refunded_orders, *successors})


def write_duplicates(connection: Connection[Any], batch: Batch) -> None:
    """Record duplicates, including replaced events."""
    replace_events(connection, batch.space.id, batch.replaced)
    record_duplicates(connection, batch.space.id, batch.duplicates)
    failpoint("worker_after_events")


def empty_inbox(connection: Connection[Any], batch: Batch) -> None:
    reject_rows(connection, batch.space.id, batch.rejections)
    delete_rows(connection, batch.space.id, [arrival.id for arrival in batch.arrivals])


def _make_move(batch: Batch, profile: Profile) -> ContactMove | None:
    contact = profile.contact
    if contact.is_new:
        return None
    final = contact.final()
    path = batch.paths.get(final)
    merged_mask = path.merged_mask if path is not None else 0
    if final is contact and not merged_mask and profile.company is profile.original_company:
        return None
    company = batch.profiles.get(final).company
    return ContactMove(contact.id, final.id, company and company.id, merged_mask)


def _touchpoint_from_item(batch: Batch, item: Item, touch: Touch) -> StoredTouchpoint:
    is_sent = item.event is None and item.person is None
    warnings = item.warnings if is_sent else None
    origin_id = original_id(item.contact)
    return StoredTouchpoint(
        id=item.id,
        origin_id=origin_id,
        sent=is_sent,
        warnings=warnings,
        sender=item.identity.sender,
        tag_set=batch.tag_sets.add(touch.ad, touch.url),
        **_make_columns(batch, item.contact, touch),
    )


def _touchpoint_from_view(batch: Batch, view: View) -> StoredTouchpoint:
    origin_id = view.origin_id if view.origin_id is not None else original_id(view.owner)
    return StoredTouchpoint(
        id=view.id,
        origin_id=origin_id,
        by_hit=True,
        tag_set=add_tag_set(batch, view),
        **_make_columns(batch, view.owner, view.touch()),
    )


def _make_columns(batch: Batch, owner: Contact, touch: Touch) -> dict[str, Any]:
    contact = owner.final()
    company = batch.profiles.get(contact).company
    return {
        "contact_id": contact.id,
        "company_id": company and company.id,
        "occurred_at": touch.occurred_at,
        "source_id": touch.source_id,
        "source_rule": touch.source_rule,
        "url": touch.url,
        "referrer_host": touch.referrer_host,
        "cookies": touch.cookies,
    }


_read_columns = attrgetter(*EventColumns.__struct_fields__)


def _make_event(batch: Batch, item: Item) -> StoredEvent | None:
    event = item.event
    if event is None:
        return None
    contact = item.contact.final()
    company = batch.profiles.get(contact).company
    answer = event.heard_about_us
    return StoredEvent(
        id=item.id,
        contact_id=contact.id,
        origin_id=original_id(item.contact),
        company_id=company and company.id,
        event_name=event.event_name,
        event_time=item.occurred_at,
        received_at=item.received_at,
        source_mask=item.mark.source_mask,
        event_url=event.url,
        cookies=event.cookies or None,
        self_reported_source=batch.space.answer_rules.classify(answer) if answer else None,
        warnings=item.warnings,
        sender=item.identity.sender,
        **dict(zip(EventColumns.__struct_fields__, _read_columns(event), strict=True)),
    )
