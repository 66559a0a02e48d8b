"""What the decisions of a batch need to know, in three reads for the whole batch, and one more
where it has page views.

The queries of one read are sent together, so a read costs one round trip.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from psycopg import Connection

from headwater.browsing import batch_store as browsing
from headwater.companies import batch_store as companies
from headwater.companies.domains import business_domain
from headwater.contacts.batch_store import load_contacts, read_profiles
from headwater.events.batch_store import SourceSeen, request_later, request_recorded
from headwater.identity import queries as identity
from headwater.pipeline.batch import Batch
from headwater.pipeline.page_views import clicks_of, put_beginnings, put_touches, view_spans
from headwater.pipeline.steps import (
    drop_duplicates,
    drop_repeated_hits,
    idempotency_key,
    order_key,
)
from headwater.touchpoints.batch_store import TouchpointRange, request_touches
from headwater.touchpoints.models import HALF_HOUR, Touch


def load_known(connection: Connection[Any], batch: Batch) -> None:
    """Drop duplicates, and read the contacts and companies the other rows name."""
    space_id = batch.space.id
    events = [item.event for item in batch.items if item.event is not None]
    hits = [item.hit for item in batch.items if item.hit is not None]
    recorded = request_recorded(
        connection,
        space_id,
        {key for event in events if (key := idempotency_key(event))},
        {key for event in events if (key := order_key(event))},
    )
    repeated = browsing.request_keys(connection, space_id, {hit.key for hit in hits})
    asked_clicks = browsing.request_clicks(connection, space_id, clicks_of(hits))
    keys = {key for item in batch.items for key in item.who.pairs()}
    asked_links = identity.request_links(connection, space_id, keys)
    asked_companies = companies.request_companies(connection, space_id, *_company_names(batch))
    drop_duplicates(batch, *recorded())
    drop_repeated_hits(batch, repeated())
    batch.clicks = asked_clicks()
    links = asked_links()
    batch.companies = asked_companies()
    if links:
        ids = {link[2] for link in links}
        found = load_contacts(connection, space_id, ids, batch.directory)
        identity.add_links(batch.directory, links)
        batch.profiles = read_profiles(found, batch.directory, batch.companies)


def _company_names(batch: Batch) -> tuple[set[str], set[str]]:
    """The domains and external ids by which the Space's mode groups."""
    if batch.space.company_identity_mode == "external_id":
        events = (item.event for item in batch.items if item.event is not None)
        external = (event.company_external_id for event in events)
        return set(), {name for name in external if name is not None}
    emails = {item.who.email for item in batch.items if item.who.email is not None}
    domains = map(business_domain, emails)
    return {domain for domain in domains if domain is not None}, set()


def load_paths(connection: Connection[Any], batch: Batch) -> None:
    """Read the touches and visits that decide about new touches, and the events that these
    precede, and draw the numbers of what is new.
    """
    space_id = batch.space.id
    number_contacts = identity.request_numbers(connection, batch.directory)
    number_companies = companies.request_numbers(connection, batch.companies)
    placed = list(_touches_on_stored(batch))
    seen = [SourceSeen(contact, touch.at, touch.source_bit) for contact, touch in placed]
    later = request_later(connection, space_id, seen)
    spans = [
        TouchpointRange(contact, touch.at - HALF_HOUR, touch.at + HALF_HOUR)
        for contact, touch in placed
    ]
    around = view_spans(connection, batch)
    beginnings = browsing.request_beginnings(connection, space_id, around)
    touches = request_touches(connection, space_id, spans + around)
    number_contacts()
    number_companies()
    put_beginnings(batch, beginnings())
    put_touches(batch, touches())
    batch.late_sources = later()


def _touches_on_stored(batch: Batch) -> Iterator[tuple[int, Touch]]:
    """Every touch with each stored contact, by id, that ends up in the touch's one."""
    members = batch.family()
    for item in batch.items:
        if item.touch is not None:
            for contact in members(item.contact.final()):
                yield contact.id, item.touch
