"""The pipeline's decisions, in the order of `batch_runner.process`. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from headwater.events.accepted import AcceptedEvent
from headwater.events.batch_store import Duplicate
from headwater.events.browsing.accepted import AcceptedBots, AcceptedHit, AcceptedPerson
from headwater.events.browsing.views import read_view
from headwater.events.refunds.reports import AcceptedRefund
from headwater.events.touchpoints.accepted import AcceptedTouchpoint
from headwater.events.touchpoints.classification import read_event_touch, read_landing_touch, read_touch
from headwater.events.touchpoints.models import Touch
from headwater.intake.inbox.rows import InboxRow, Rejection, RejectReason
from headwater.intake.pipeline.batch import Batch, Item, ParsedRows
from headwater.intake.pipeline.paths import ContactPath
from headwater.intake.pipeline.phones import list_phone_digits, read_only_phone, register_phone
from headwater.intake.pipeline.refunds import read_refund_event
from headwater.people.companies.assignment import Company
from headwater.people.companies.domains import business_domain
from headwater.people.contacts.names import combine_names, explicit_parts
from headwater.people.contacts.profiles import DEVICE, PLACE
from headwater.people.identity.joins import SIGNED_ONLY
from headwater.people.identity.resolution import Identifiers, ItemIdentity, identify, without_junk
from headwater.people.identity.senders import BUSINESS_RECORDS, Sender
from headwater.sources.evidence import Landing
from headwater.sources.outcomes import NoTouch

EVENT = "event"
TOUCHPOINT = "touchpoint"
HIT = "hit"
IDENTIFY = "identify"
BOTS = "bots"
REFUND = "refund"
QUARTER = 900_000_000
"""In µs."""

LANGUAGE = ("language",)

_decode_event = msgspec.json.Decoder(AcceptedEvent).decode
_decode_touchpoint = msgspec.json.Decoder(AcceptedTouchpoint).decode
_decode_hit = msgspec.json.Decoder(AcceptedHit).decode
_decode_person = msgspec.json.Decoder(AcceptedPerson).decode
_decode_bots = msgspec.json.Decoder(AcceptedBots).decode
_decode_refund = msgspec.json.Decoder(AcceptedRefund).decode


def parse(parsed: ParsedRows, arrivals: Iterable[InboxRow]) -> None:
    for arrival in arrivals:
        read_item = _READERS.get(arrival.kind)
        if read_item is None:
            rejection = Rejection(arrival.id, RejectReason.UNKNOWN_KIND, "unknown kind")
            parsed.rejections.append(rejection)
            continue
        try:
            read_item(parsed, arrival)
        except (msgspec.DecodeError, UnicodeError) as error:
            detail = type(error).__name__
            rejection = Rejection(arrival.id, RejectReason.UNREADABLE_PAYLOAD, detail)
            parsed.rejections.append(rejection)


def _read_event(parsed: ParsedRows, arrival: InboxRow) -> None:
    event = _decode_event(arrival.payload)
    refund = read_refund_event(event, arrival)
    if refund is not None:
        parsed.refunds.append((arrival, refund))
        return
    touch = read_event_touch(event, event.event_time * 1000, parsed.space.source_rules)
    item = _add_item(parsed, arrival, _make_identifiers(event), event.event_time, event)
    item.event, item.touch = event, touch
    _identify_by_phone(parsed, item, event.phone)
    item.warn(event.warnings)


def _read_touchpoint(parsed: ParsedRows, arrival: InboxRow) -> None:
    touchpoint = _decode_touchpoint(arrival.payload)
    touch = read_touch(touchpoint, touchpoint.occurred_at * 1000, parsed.space.source_rules)
    if isinstance(touch, NoTouch):
        detail = f"{touch.reason}: {touch.detail}"
        parsed.rejections.append(Rejection(arrival.id, RejectReason.NO_TOUCH, detail))
        return
    item = _add_item(parsed, arrival, _make_identifiers(touchpoint), touchpoint.occurred_at)
    item.touch = touch
    item.warn(touchpoint.warnings)


def _read_hit(parsed: ParsedRows, arrival: InboxRow) -> None:
    hit = _decode_hit(arrival.payload)
    identifiers = Identifiers(None, None, hit.trk_token, hit.fingerprint, hit.ip)
    _add_item(parsed, arrival, identifiers, hit.occurred_at).hit = hit


def _read_person(parsed: ParsedRows, arrival: InboxRow) -> None:
    person = _decode_person(arrival.payload)
    item = _add_item(parsed, arrival, _make_identifiers(person), person.occurred_at, person)
    item.person = person
    if person.landing is not None:
        landing, occurred_at = person.landing, person.landing.occurred_at * 1000
        visit = Landing(landing.url, landing.referrer)
        item.touch = read_landing_touch(visit, occurred_at, parsed.space.source_rules)


def _read_bots(parsed: ParsedRows, arrival: InboxRow) -> None:
    bots = _decode_bots(arrival.payload)
    parsed.bots[bots.site_id, arrival.received_at // QUARTER] += bots.hits


def _read_refund(parsed: ParsedRows, arrival: InboxRow) -> None:
    parsed.refunds.append((arrival, _decode_refund(arrival.payload)))


_READERS: dict[str, Callable[[ParsedRows, InboxRow], None]] = {
    EVENT: _read_event,
    TOUCHPOINT: _read_touchpoint,
    HIT: _read_hit,
    IDENTIFY: _read_person,
    BOTS: _read_bots,
    REFUND: _read_refund,
}


def _make_identifiers(accepted: AcceptedEvent | AcceptedTouchpoint | AcceptedPerson) -> Identifiers:
    return Identifiers(
        accepted.email, accepted.tracking_id, accepted.trk_token, accepted.fingerprint, accepted.ip
    )


def _add_item(
    parsed: ParsedRows,
    arrival: InboxRow,
    identifiers: Identifiers,
    occurred_at: int,
    claim: AcceptedEvent | AcceptedPerson | None = None,
) -> Item:
    """Add an item; `occurred_at` is in ms since 1970."""
    sender = Sender(arrival.sender)
    trusted_identifiers, warnings = without_junk(identifiers, parsed.space.junk)
    seen_with = trusted_identifiers.fingerprint is not None and trusted_identifiers.ip is not None
    identity = ItemIdentity(
        receipt_id=arrival.id,
        occurred_at=occurred_at * 1000,
        received_at=arrival.received_at,
        email=trusted_identifiers.email,
        tracking_id=trusted_identifiers.tracking_id,
        trk_token=trusted_identifiers.trk_token,
        fingerprint=f"{trusted_identifiers.fingerprint}|{trusted_identifiers.ip}" if seen_with else None,
        sender=sender,
        address_key=claim.address_key if claim is not None else None,
        may_join=claim is None or claim.join_rule != SIGNED_ONLY,
    )
    item = Item(arrival, identity)
    item.warn(warnings)
    parsed.items.append(item)
    return item


def _identify_by_phone(parsed: ParsedRows, item: Item, phone: str | None) -> None:
    identity = item.identity
    if phone is None or identity.pairs() or identity.sender not in BUSINESS_RECORDS:
        return
    number = read_only_phone(phone, identity.sender, parsed.space)
    item.identity = msgspec.structs.replace(identity, phone=number)
    if number is None:
        item.warn(["phone ignored: not an identifier"])


def match_and_merge(batch: Batch) -> None:
    """Find, create and merge contacts one by one, because results affect later items. Identifiers that pages
    may not add are dropped with a warning.
    """
    digits = list_phone_digits(batch)
    for item in batch.items:
        presented_identity = item.identity
        item.contact, item.identity = identify(batch.directory, presented_identity, batch.joins)
        if item.identity.is_refused and item.person is not None:
            item.person = item.touch = None  # they describe another person
        if item.identity is not presented_identity:
            refused_kinds = [
                kind for kind, _ in presented_identity.pairs() if getattr(item.identity, kind) is None
            ]
            warnings = [f"{kind} ignored: a page cannot add it to this contact" for kind in refused_kinds]
            item.warnings = [*(item.warnings or ()), *warnings]
        if digits:
            register_phone(batch, item, digits)


def describe_contacts(batch: Batch) -> None:
    directory, profiles, zone = batch.directory, batch.profiles, batch.space.zone
    for item, merges in batch.timeline():
        for merge in merges:
            profiles.get(merge.survivor).fill_from(profiles.get(merge.loser))
        profile, record = profiles.get(item.contact), item.event or item.person
        is_trusted = item.identity.sender.is_trusted
        if item.hit is not None:
            _describe_by_hit(batch, item, item.hit)
        if record is None:
            profile.set_if_empty(item.identity.email, None, None)
            continue
        name = combine_names(record.full_name, record.first_name, record.last_name)
        profile.set_if_empty(item.identity.email, name, record.phone)
        if record.profile_fields:
            profile.set_fields(record.profile_fields, zone, replace=is_trusted)
        if name is not None and (is_trusted or profile.name == name):
            directory.link(item.contact, ("name", name), item.occurred_at, item.id)
            parts = explicit_parts(record.full_name, record.first_name, record.last_name)
            if parts is not None:
                batch.names.append((item.contact, name, parts))
        if record.phone is not None and (is_trusted or profile.phone == record.phone):
            directory.link(item.contact, ("phone", record.phone), item.occurred_at, item.id)


def _describe_by_hit(batch: Batch, item: Item, hit: AcceptedHit) -> None:
    profile = batch.profiles.get(item.contact)
    profile.fill_group(PLACE, hit)
    profile.fill_group(DEVICE, hit)
    profile.fill_group(LANGUAGE, hit)
    location = ", ".join(filter(None, (hit.city, hit.state, hit.country)))
    if location:
        profile.set_location_if_empty(location)
        batch.directory.link(item.contact, ("location", location), item.occurred_at, item.id)


def read_views(batch: Batch) -> None:
    for item in batch.items:
        if item.hit is not None:
            item.view = read_view(
                item.hit,
                item.identity,
                item.contact,
                batch.clicks,
                batch.space.exclusions,
                batch.space.source_names,
            )


def group_companies(batch: Batch) -> None:
    """Assign companies. A survivor keeps its own or takes the merged contact's."""
    by_external_id = batch.space.company_identity_mode == "external_id"
    for item, merges in batch.timeline():
        for merge in merges:
            batch.profiles.get(merge.survivor).join_company(batch.profiles.get(merge.loser))
        profile = batch.profiles.get(item.contact)
        if by_external_id:
            if item.identity.sender.is_trusted or profile.company is None:
                profile.company = _find_named_company(batch, item) or profile.company
        elif profile.company is None:
            profile.company = _find_employer(batch, item)


def _find_named_company(batch: Batch, item: Item) -> Company | None:
    record = item.event or item.person
    if record is None or record.company_external_id is None:
        return None
    return batch.companies.get_by_external_id(
        record.company_external_id,
        record.company_name,
        item.received_at,
        rename=item.identity.sender.is_trusted,
    )


def _find_employer(batch: Batch, item: Item) -> Company | None:
    domain = business_domain(item.identity.email) if item.identity.email is not None else None
    return batch.companies.get_by_domain(domain, item.received_at) if domain is not None else None


def walk_paths(batch: Batch) -> None:
    """Decide touchpoints, and the sources of events."""
    for item, merges in batch.timeline():
        for merge in merges:
            batch.path(merge.survivor).absorb(batch.path(merge.loser))
        path = batch.path(item.contact)
        if item.hit is not None:
            path.add_view(item.view)
            continue
        if item.touch is not None:
            _add_touch(batch, path, item, item.touch)
        if item.event is not None:
            item.mark = path.add_event(item.occurred_at)


def _add_touch(batch: Batch, path: ContactPath, item: Item, touch: Touch) -> None:
    if not path.repeats(touch):
        path.add_touch(touch)
        return
    item.touch = None
    if item.event is None and item.person is None:
        repeated = Duplicate(item.id, "repeated_touch", None, item.received_at, item.identity.sender)
        batch.duplicates.append(repeated)


def settle(batch: Batch) -> None:
    for item in batch.items:
        if item.hit is None:
            continue
        view = item.view
        if view.is_candidate:
            batch.views[view.id] = view
        if view.visit.id == view.id:
            batch.visits.append(view.visit)
    for contact, path in batch.paths.items():
        profile = batch.profiles.get(contact)
        if path.source_mask != profile.source_mask:
            profile.source_mask, profile.is_changed = path.source_mask, True
    for profile in batch.profiles:
        profile.is_changed |= profile.company is not profile.original_company
