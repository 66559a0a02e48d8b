"""Load a batch's stored facts in three round trips; four with page views."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from psycopg import Connection

from headwater.events.batch_store import SourceSeen, request_missing_sources, request_recorded
from headwater.events.browsing import batch_store as browsing
from headwater.events.refunds.store import load_orders, request_refunds
from headwater.events.touchpoints.batch_store import TouchpointRange, request_touches
from headwater.events.touchpoints.models import HALF_HOUR, Touch
from headwater.intake.pipeline.batch import Batch
from headwater.intake.pipeline.duplicates import idempotency_key, order_key
from headwater.intake.pipeline.page_views import (
    browsed_by_stored,
    find_visits_around,
    hash_clicks,
    put_beginnings,
    put_touches,
    put_visits,
)
from headwater.intake.pipeline.phones import register_stored_phones
from headwater.intake.pipeline.refunds import list_order_ids, list_refunded_orders
from headwater.people.companies.batch_store import request_companies
from headwater.people.companies.domains import business_domain
from headwater.people.contacts.batch_store import load_contact_rows, read_profiles
from headwater.people.identity import queries as identity
from headwater.people.identity.joins import browser_key


def load_existing(connection: Connection[Any], batch: Batch) -> None:
    space_id = batch.space.id
    events = [item.event for item in batch.items if item.event is not None]
    hits = [item.hit for item in batch.items if item.hit is not None]
    fetch_recorded = request_recorded(
        connection,
        space_id,
        {key for event in events if (key := idempotency_key(event))},
        {key for event in events if (key := order_key(event))},
    )
    fetch_keys = browsing.request_keys(connection, space_id, {hit.key for hit in hits})
    fetch_clicks = browsing.request_clicks(connection, space_id, hash_clicks(hits))
    identifiers = {key for item in batch.items for key in item.identity.pairs()}
    phones = [item.identity.phone for item in batch.items if item.identity.phone]
    fetch_phones = identity.request_phones(connection, space_id, phones)
    fetch_links = identity.request_links(connection, space_id, identifiers)
    fetch_joins = identity.request_joins(connection, space_id, *_unsigned_browsers(batch))
    fetch_refunds = request_refunds(connection, space_id, list_order_ids(batch))
    fetch_companies = request_companies(connection, space_id, *_company_names(batch))
    batch.recorded = fetch_recorded()
    batch.page_view_keys = fetch_keys()
    batch.clicks = fetch_clicks()
    batch.links = fetch_links() + fetch_phones()
    batch.joins = fetch_joins()
    batch.companies = fetch_companies()
    batch.refunds = fetch_refunds()


def load_contacts(connection: Connection[Any], batch: Batch) -> None:
    batch.orders = load_orders(connection, batch.space.id, list_refunded_orders(batch))
    ids = {link[2] for link in batch.links}
    ids |= {order.contact_id for order in batch.orders.values()}
    if ids:
        contacts = load_contact_rows(connection, batch.space.id, ids, batch.directory)
        identity.add_links(batch.directory, batch.links)
        register_stored_phones(batch)
        batch.profiles = read_profiles(contacts, batch.directory, batch.companies)


def _unsigned_browsers(batch: Batch) -> tuple[set[str], int]:
    """Return browsers that identified a contact unsigned, and the earliest time."""
    claims = [
        item.identity
        for item in batch.items
        if item.identity.is_strong and not item.identity.sender.is_trusted
    ]
    keys = {browser_key(claim.trk_token) for claim in claims} | {claim.address_key for claim in claims}
    since = min((claim.received_at for claim in claims), default=0)
    return {key for key in keys if key is not None}, since


def _company_names(batch: Batch) -> tuple[set[str], set[str]]:
    """Return names that may identify companies."""
    if batch.space.company_identity_mode == "external_id":
        records = (item.event or item.person for item in batch.items)
        external = (record.company_external_id for record in records if record is not None)
        return set(), {name for name in external if name is not None}
    emails = {item.identity.email for item in batch.items if item.identity.email is not None}
    domains = map(business_domain, emails)
    return {domain for domain in domains if domain is not None}, set()


def request_numbers(connection: Connection[Any], batch: Batch) -> Callable[[], None]:
    """Request ids. Call the result to assign them."""
    new_items = {
        "contact_ids": batch.directory.created,
        "receipt_ids": batch.directory.merges,
        "company_ids": batch.companies.created,
    }
    return identity.request_ids(connection, new_items)


def load_visits(connection: Connection[Any], batch: Batch) -> None:
    browsed_times = browsed_by_stored(batch)
    if browsed_times:
        nearby_visits = find_visits_around(batch, browsed_times)
        visits = browsing.request_visits(connection, batch.space.id, nearby_visits)()
        batch.view_spans = put_visits(batch, browsed_times, visits)


def load_paths(connection: Connection[Any], batch: Batch) -> None:
    space_id = batch.space.id
    placed_touches = list(_touches_on_stored(batch))
    sightings = [
        SourceSeen(contact, touch.occurred_at, touch.source_bit) for contact, touch in placed_touches
    ]
    fetch_later = request_missing_sources(connection, space_id, sightings)
    spans = [
        TouchpointRange(contact, touch.occurred_at - HALF_HOUR, touch.occurred_at + HALF_HOUR)
        for contact, touch in placed_touches
    ]
    fetch_beginnings = browsing.request_beginnings(connection, space_id, batch.view_spans)
    fetch_touches = request_touches(connection, space_id, spans + batch.view_spans)
    put_beginnings(batch, fetch_beginnings())
    put_touches(batch, fetch_touches())
    batch.late_sources = fetch_later()


def _touches_on_stored(batch: Batch) -> Iterator[tuple[int, Touch]]:
    """Yield touches with stored contacts merged into their contact."""
    members = batch.family()
    for item in batch.items:
        if item.touch is not None:
            for contact in members(item.contact.final()):
                yield contact.id, item.touch
