"""Stored facts around a batch's page views, and rows to write."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from headwater.events.batch_store import SourceSeen
from headwater.events.browsing.accepted import AcceptedHit
from headwater.events.browsing.batch_store import AbsorbedVisit, StoredHit, StoredVisit, VisitSpan
from headwater.events.browsing.clicks import hash_click
from headwater.events.browsing.views import View, ViewOrigin, build_stored_view
from headwater.events.browsing.visits import Visit
from headwater.events.touchpoints.batch_store import StoredTouch, TouchpointRange
from headwater.events.touchpoints.models import DIRECTLY, HALF_HOUR
from headwater.intake.pipeline.batch import Batch, Item
from headwater.people.identity.directory import Contact
from headwater.sources.clicks import AD_CLICKS
from headwater.sources.hierarchy import NO_AD
from headwater.sources.outcomes import Ad
from headwater.sources.parameters import read_parameters


def hash_clicks(hits: Iterable[AcceptedHit]) -> set[str]:
    return {
        hash_click(name, value)
        for hit in hits
        if "?" in hit.url or "#" in hit.url
        for name, value in read_parameters(hit.url, AD_CLICKS, AD_CLICKS).items()
    }


# ------------------------------------------------------------------------------------- loading


Browsed = dict[Contact, dict[str, list[int]]]
"""By final contact and browser."""


def browsed_by_stored(batch: Batch) -> Browsed:
    browsed_times: Browsed = {}
    for item in batch.items:
        if item.hit is not None:
            devices = browsed_times.setdefault(item.contact.final(), {})
            devices.setdefault(item.view.device, []).append(item.occurred_at)
    members = batch.family()
    return {contact: devices for contact, devices in browsed_times.items() if members(contact)}


def find_visits_around(batch: Batch, browsed: Browsed) -> list[VisitSpan]:
    members = batch.family()
    return [
        VisitSpan(member.id, device, min(times) - HALF_HOUR, max(times) + HALF_HOUR)
        for contact, devices in browsed.items()
        for member in members(contact)
        for device, times in devices.items()
    ]


def put_visits(batch: Batch, browsed: Browsed, rows: Iterable[tuple[Any, ...]]) -> list[TouchpointRange]:
    """Return spans with touches that may change: near these page views, and near a visit's next page view
    with a campaign.
    """
    after = _add_visits(batch, rows)
    members = batch.family()
    return [
        TouchpointRange(member.id, first, last)
        for contact, devices in browsed.items()
        for first, last in _find_spans(devices.values(), after.get(contact, ()))
        for member in members(contact)
    ]


def _find_spans(times: Collection[list[int]], after: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield spans around page views. A merged visit may absorb the next, so include direct visits up to an
    hour later.
    """
    yield min(map(min, times)) - HALF_HOUR, max(map(max, times)) + 2 * HALF_HOUR
    for moment in after:
        yield moment - HALF_HOUR, moment + HALF_HOUR


def _add_visits(batch: Batch, rows: Iterable[tuple[Any, ...]]) -> dict[Contact, list[int]]:
    """Return times of later page views with a campaign, by contact."""
    visits: dict[int, Visit] = {}
    after: dict[Contact, list[int]] = {}
    for contact_id, device, visit_id, first, last, side, *columns in rows:
        owner = batch.directory.contacts[contact_id]
        visit = visits.get(visit_id)
        if visit is None:
            visit = visits[visit_id] = Visit(visit_id, device, owner, first, last)
            visit.is_stored = True
            batch.path(owner).load_visit(visit)
        if side is None:
            continue
        view = build_stored_view(tuple(columns), device, owner)
        view.visit = visit
        view.is_context = side == "before"
        visit.views.append(view)
        batch.views[view.id] = view
        if side == "after":
            after.setdefault(owner.final(), []).append(view.occurred_at)
    batch.visits += visits.values()
    for visit in visits.values():
        visit.views.sort(key=lambda view: (view.occurred_at, view.id))
        beginning = visit.views[0] if visit.views else None
        if beginning and beginning.occurred_at == visit.first and beginning.is_direct:
            beginning.claims = True
            batch.path(visit.owner).load_direct(beginning)
    return after


def put_beginnings(batch: Batch, rows: Iterable[tuple[Any, ...]]) -> None:
    first: dict[int, tuple[Any, ...]] = {}
    for row in rows:
        _, visit_id, view_id, *_ = row
        if visit_id not in first or view_id < first[visit_id][2]:
            first[visit_id] = row
    for contact_id, _, *columns in first.values():
        path = batch.path(batch.directory.contacts[contact_id])
        view = build_stored_view(tuple(columns), "", batch.directory.contacts[contact_id])
        if view.is_direct and view.id not in batch.views:
            view.claims = True
            batch.views[view.id] = view
            path.load_direct(view)


def put_touches(batch: Batch, touches: Iterable[StoredTouch]) -> None:
    for touch in touches:
        owner = batch.directory.contacts[touch.contact_id]
        path = batch.path(owner)
        path.load_touch(touch.key, touch.occurred_at)
        if not touch.is_direct_view:
            path.load_known_source(touch.occurred_at)
        elif touch.id not in batch.views:
            view = batch.views[touch.id] = _make_direct_view(touch, owner)
            path.load_direct(view)


def _make_direct_view(touch: StoredTouch, owner: Contact) -> View:
    """Return a direct visit's first page view, to withdraw its touch."""
    view = View(touch.id, touch.occurred_at, "", owner)
    source_id, campaign_id, campaign_name, adset_id, adset_name, ad_id, ad_name, keyword = touch.key
    ad = Ad(None, None, campaign_id, campaign_name, adset_id, adset_name, ad_id, ad_name, keyword)
    view.origin = ViewOrigin(DIRECTLY, source_id, ad)
    view.claims = view.is_touch = view.was_touch = True
    return view


# ------------------------------------------------------------------------------------- writing


def add_tag_set(batch: Batch, view: View) -> int | None:
    """Omit the ad of a link on the site's own pages, which brings no visitor."""
    origin = view.origin
    ad = NO_AD if origin.source_id is None else origin.ad
    return batch.tag_sets.add(ad, view.url, by_hit=True)


def hit_row(batch: Batch, item: Item) -> StoredHit | None:
    hit = item.hit
    if hit is None:
        return None
    view = item.view
    return StoredHit(
        id=item.id,
        key=hit.key,
        contact_id=item.contact.final().id,
        origin_id=original_id(view.owner),
        visit_id=view.visit.surviving().id,
        occurred_at=item.occurred_at,
        event_name=hit.event_name,
        url=hit.url,
        referrer_host=view.referrer_host,
        source_id=view.origin.source_id,
        country=hit.country,
        device_type=hit.device_type,
        browser=hit.browser,
        os=hit.os,
        language=hit.language,
        campaign=view.campaign,
        touch=view.origin if view.is_candidate else None,
        tag_set=add_tag_set(batch, view) if view.is_candidate else None,
    )


def visit_rows(batch: Batch) -> list[StoredVisit]:
    rows: list[StoredVisit] = []
    for visit in batch.visits:
        if visit.into is not None or not visit.is_changed:
            continue
        contact = visit.owner.final()
        company = batch.profiles.get(contact).company
        rows.append(
            StoredVisit(
                id=visit.id,
                contact_id=contact.id,
                origin_id=original_id(visit.owner),
                company_id=company and company.id,
                device=visit.device,
                started_at=visit.first,
                last_hit_at=visit.last,
            )
        )
    return rows


def list_joined_visits(batch: Batch) -> list[AbsorbedVisit]:
    return [
        AbsorbedVisit(visit.id, visit.owner.final().id, visit.surviving().id, visit.first, visit.last)
        for visit in batch.visits
        if visit.into is not None and visit.is_stored
    ]


def list_sources_seen(batch: Batch) -> list[SourceSeen]:
    """Return sources that later stored events may lack."""
    return [
        SourceSeen(contact.id, view.occurred_at, view.touch().source_bit)
        for view in batch.views.values()
        if view.is_new_touch and not (contact := view.owner.final()).is_new
    ]


def original_id(owner: Contact) -> int | None:
    return owner.id if owner.merged_into is not None else None
