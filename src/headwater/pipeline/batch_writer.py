"""A decided batch as rows. Nothing here waits for an answer, so all of it is one round trip."""

from __future__ import annotations

from typing import Any

from msgspec.structs import asdict
from psycopg import Connection

from headwater.attribution.touches import Touch
from headwater.browsing import batch_store as browsing
from headwater.browsing.views import View
from headwater.companies.batch_store import write_companies
from headwater.contacts.batch_store import write_name_parts, write_profiles
from headwater.contacts.merge_log import log_merges
from headwater.contacts.profiles import Profile
from headwater.contacts.reassignment import Move, restamp_all
from headwater.deliveries.outbox import hand_over_deliveries, queue_deliveries
from headwater.events.batch_store import (
    StoredEvent,
    add_seen,
    add_sources,
    record_duplicates,
    record_events,
    replace_events,
)
from headwater.failpoints import failpoint
from headwater.identity.batch_store import write_links, write_merges
from headwater.identity.directory import Contact
from headwater.pipeline.batch import Batch, Item
from headwater.pipeline.inbox import delete_rows, reject_rows
from headwater.pipeline.page_views import (
    hit_row,
    joined_visits,
    origin_of,
    sources_seen,
    visit_rows,
)
from headwater.pipeline.touchpoints import (
    StoredTouchpoint,
    delete_touchpoints,
    write_touchpoints,
)


def write(connection: Connection[Any], batch: Batch) -> None:
    """Store everything the batch decided and take its rows off the inbox."""
    space_id = batch.space.id
    moves = [move for profile in batch.profiles if (move := _move(batch, profile))]
    write_merges(connection, space_id, batch.directory)
    log_merges(connection, space_id, batch.directory.merges, batch.profiles)
    restamp_all(connection, space_id, moves)
    failpoint("worker_after_merge")
    write_companies(connection, space_id, batch.companies)
    write_profiles(connection, space_id, batch.profiles)
    write_links(connection, space_id, batch.directory)
    write_name_parts(connection, space_id, batch.names)
    add_sources(connection, space_id, batch.late_sources)
    touches = [_of_item(batch, item, item.touch) for item in batch.items if item.touch is not None]
    write_touchpoints(connection, space_id, touches)
    _write_browsing(connection, batch)
    events = [event for item in batch.items if (event := _event(batch, item))]
    record_events(connection, space_id, events)
    _forward(connection, batch, events)
    replace_events(connection, space_id, batch.replaced)
    record_duplicates(connection, space_id, batch.duplicates)
    failpoint("worker_after_events")
    reject_rows(connection, space_id, batch.rejections)
    delete_rows(connection, space_id, [arrival.id for arrival in batch.arrivals])


def _forward(connection: Connection[Any], batch: Batch, events: list[StoredEvent]) -> None:
    """Queue the events for where they are forwarded to; those that take the place of others come
    after these, whose deliveries become theirs.
    """
    space_id, targets = batch.space.id, batch.targets
    successors = {each.event_id for each in batch.replaced}
    first = [event for event in events if event.id not in successors]
    queue_deliveries(connection, space_id, first, targets)
    if successors:
        hand_over_deliveries(connection, space_id, batch.replaced)
        rest = [event for event in events if event.id in successors]
        queue_deliveries(connection, space_id, rest, targets)


def _write_browsing(connection: Connection[Any], batch: Batch) -> None:
    space_id, views = batch.space.id, batch.views.values()
    browsing.write_visits(connection, space_id, visit_rows(batch), joined_visits(batch))
    hits = [hit for item in batch.items if (hit := hit_row(item))]
    browsing.write_hits(connection, space_id, hits)
    browsing.write_clicks(connection, space_id, batch.clicks)
    browsing.count_bots(connection, space_id, batch.bots)
    add_seen(connection, space_id, sources_seen(batch))
    gone = [view.id for view in views if view.was_touch and not view.is_touch]
    delete_touchpoints(connection, space_id, gone)
    made = [_of_view(batch, view) for view in views if view.is_touch and not view.was_touch]
    write_touchpoints(connection, space_id, made)


def _move(batch: Batch, profile: Profile) -> Move | None:
    """What becomes of the stored rows of a contact, if they change."""
    contact = profile.contact
    if contact.is_new:
        return None
    final = contact.final()
    path = batch.paths.get(final)
    merged_mask = path.merged_mask if path is not None else 0
    if final is contact and not merged_mask and profile.company is profile.original_company:
        return None
    company = batch.profiles.of(final).company
    return Move(contact.id, final.id, company and company.id, merged_mask)


def _of_item(batch: Batch, item: Item, touch: Touch) -> StoredTouchpoint:
    """The touchpoint that an event makes, or that was sent by itself."""
    sent = item.event is None
    warnings = item.warnings if sent else None
    origin_id = origin_of(item.contact)
    return StoredTouchpoint(
        id=item.id, origin_id=origin_id, sent=sent, warnings=warnings, sender=item.who.sender,
        **_columns(batch, item.contact, touch),
    )  # fmt: skip


def _of_view(batch: Batch, view: View) -> StoredTouchpoint:
    """The touchpoint that a page view makes, a stored one included."""
    origin_id = view.origin_id if view.origin_id is not None else origin_of(view.owner)
    return StoredTouchpoint(
        id=view.id, origin_id=origin_id, by_hit=True, **_columns(batch, view.owner, view.touch())
    )


def _columns(batch: Batch, owner: Contact, touch: Touch) -> dict[str, Any]:
    contact = owner.final()
    company = batch.profiles.of(contact).company
    return {
        "contact_id": contact.id,
        "company_id": company and company.id,
        "occurred_at": touch.at,
        "source_id": touch.source_id,
        "source_rule": touch.source_rule,
        "url": touch.url,
        "referrer_host": touch.referrer_host,
        "cookies": touch.cookies,
        **asdict(touch.ad),
    }


def _event(batch: Batch, item: Item) -> StoredEvent | None:
    event = item.event
    if event is None:
        return None
    contact = item.contact.final()
    company = batch.profiles.of(contact).company
    return StoredEvent(
        id=item.id,
        contact_id=contact.id,
        origin_id=origin_of(item.contact),
        company_id=company and company.id,
        event_name=event.event_name,
        event_time=item.at,
        received_at=item.received_at,
        source_mask=item.mark.source_mask,
        amount=event.amount,
        is_upsell=event.is_upsell,
        order_id=event.order_id,
        order_name=event.order_name,
        checkout_token=event.checkout_token,
        upsell_common_id=event.upsell_common_id,
        idempotency_key=event.idempotency_key,
        company_external_id=event.company_external_id,
        event_url=event.url,
        user_agent=event.user_agent,
        ip=event.ip,
        do_not_capi=event.do_not_capi,
        currency=event.currency,
        ad_user_data=event.ad_user_data,
        ad_personalization=event.ad_personalization,
        cookies=event.cookies or None,
        warnings=item.warnings,
        sender=item.who.sender,
    )
