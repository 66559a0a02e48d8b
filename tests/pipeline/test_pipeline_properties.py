"""Properties that hold for any events in any order and with any batch sizes."""

from __future__ import annotations

import psycopg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.events.accepted import AcceptedEvent
from headwater.events.browsing.accepted import AcceptedPerson
from tests.support.campaigns import campaign_size
from tests.support.identity_model import Model
from tests.support.pipeline import (
    DAY,
    MINUTE,
    T0,
    Accepted,
    Sent,
    Stage,
    add_sender,
    event,
    hit,
    new_stage,
    person,
    touch,
)

SETTINGS = settings(
    max_examples=campaign_size("HEADWATER_HISTORIES", 12, 60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

TIMES = [T0 + offset for offset in (0, 10 * MINUTE, 40 * MINUTE, 3 * DAY, 8 * DAY, 16 * DAY)]


def optional_value(*values: str) -> st.SearchStrategy[str | None]:
    return st.none() | st.sampled_from(values)


WHO = {
    "email": optional_value("a@acme.com", "b@acme.com", "c@corp.de", "d@gmail.com", "noreply@acme.com"),
    "tracking_id": optional_value("u1", "u2", "null"),
    "trk_token": optional_value("t1", "t2", "t3"),
    "fingerprint": optional_value("f1", "f2"),
    "ip": optional_value("10.0.0.1"),
}
IDENTIFIERS = {**WHO, "event_time": st.sampled_from(TIMES)}
OTHERS = {
    "event_name": st.sampled_from(["purchase", "upsell_purchase", "lead_generated"]),
    "full_name": optional_value("Ann", "Bob"),
    "phone": optional_value("1", "2"),
    "trk_source": optional_value("google_ads", "sms", "fb"),
    "trk_campaign": optional_value("1"),
    "company_external_id": optional_value("X", "Y"),
    "company_name": optional_value("Ex", "Why"),
    "order_id": optional_value("o1", "o2", "o3"),
    "is_upsell": st.booleans(),
    "idempotency_key": optional_value("k1", "k2", "k3"),
    "profile_fields": st.dictionaries(st.sampled_from([1, 16]), st.sampled_from(["1", "2"]), max_size=2),
}

CAME = {
    "occurred_at": st.sampled_from(TIMES),
    "source": st.sampled_from(["google_ads", "sms", "direct"]),
    "campaign_id": optional_value("1"),
    "campaign_name": optional_value("Spring"),
    "ad_name": optional_value("Blue"),
}
touches = st.builds(touch, **WHO, **CAME)

senders = st.sampled_from(["api_key", "browser"])
people = st.lists(st.builds(add_sender, senders, st.builds(event, **IDENTIFIERS)), min_size=1, max_size=14)
conversions = st.builds(event, **IDENTIFIERS, **OTHERS)
VISITOR = {name: WHO[name] for name in ("trk_token", "fingerprint", "ip")}
hits = st.builds(
    hit,
    **VISITOR,
    key=st.uuids(version=4).map(str),
    occurred_at=st.sampled_from(TIMES),
    url=st.sampled_from(["https://shop.example/", "https://shop.example/?utm_source=sms"]),
    referrer=optional_value("https://www.google.com/", "https://shop.example/"),
    country=optional_value("DE", "FR"),
    city=optional_value("Ulm"),
    os=optional_value("iOS"),
)
sayings = st.builds(
    person,
    **WHO,
    occurred_at=st.sampled_from(TIMES),
    full_name=optional_value("Ann"),
    phone=optional_value("1"),
)
journeys = st.lists(
    st.builds(add_sender, senders, conversions | sayings) | touches | hits, min_size=1, max_size=14
)
modes = st.sampled_from(["auto", "external_id"])


def run(stage: Stage, events: list[Accepted], sizes: list[int]) -> None:
    """Process rows in batches of these sizes, then all others in one batch."""
    queue = list(events)
    for size in [*sizes, len(events)]:
        now, queue = queue[:size], queue[size:]
        if now:
            stage.run(*now)


@SETTINGS
@given(events=people)
def test_identity_equals_its_model(connection: psycopg.Connection, events: list) -> None:
    stage, model = new_stage(connection), Model()
    stage.run(*events)
    for entry in events:
        model.take(entry.item, by_page=entry.sender == "browser")
    dump = stage.dump()
    assert [row[1] for row in sorted(dump["events"])] == [model.home[number] for number in model.placed]
    assert [row[2] for row in sorted(dump["contacts"])] == [
        None if home == contact else home for contact, home in enumerate(model.home)
    ]
    merges = stage.rows("merges", "id", "merged_id", "survivor_id", "cause")
    order = {number: index for index, number in enumerate(stage.values("contacts", "id"))}
    assert [(order[row[1]], order[row[2]], row[3]) for row in merges] == model.merges
    assert {(*row[:4], *row[6:]) for row in dump["contact_identifiers"]} == {
        (
            sighting.kind,
            sighting.value,
            model.home[sighting.origin],
            sighting.origin,
            sighting.recency,
            sighting.since,
        )
        for sighting in model.sightings
    }


@SETTINGS
@given(events=journeys, mode=modes, sizes=st.lists(st.integers(1, 5), max_size=5))
def test_batches_make_no_difference(
    connection: psycopg.Connection, events: list, mode: str, sizes: list[int]
) -> None:
    dumps = []
    for split in ([], [1] * len(events), sizes):
        stage = new_stage(connection, company_identity_mode=mode)
        run(stage, events, split)
        dumps.append(stage.dump())
    assert dumps[0] == dumps[1]
    assert dumps[0] == dumps[2]


@SETTINGS
@given(events=journeys, mode=modes, sizes=st.lists(st.integers(1, 5), max_size=5))
def test_invariants(connection: psycopg.Connection, events: list, mode: str, sizes: list[int]) -> None:
    stage = new_stage(connection, company_identity_mode=mode)
    run(stage, events, sizes)
    check_nothing_is_lost(stage, events)
    check_merges(stage)
    check_stamps(stage)
    check_sources(stage)


def check_nothing_is_lost(stage: Stage, events: list) -> None:
    event_ids, duplicate_ids = stage.values("events", "id"), stage.values("duplicates", "id")
    touchpoint_receipts = [
        receipt for receipt, is_alone in stage.rows("touchpoints", "id", "sent") if is_alone
    ]
    hit_receipts = stage.values("hits", "id")
    entries = zip(events, stage.receipts, strict=True)
    person_receipts = [receipt for entry, receipt in entries if isinstance(_item(entry), AcceptedPerson)]
    assert (
        sorted(event_ids + touchpoint_receipts + duplicate_ids + hit_receipts + person_receipts)
        == stage.receipts
    )
    assert stage.values("rejected", "id") == []
    replaced_ids = duplicate_ids  # a page event's touchpoint stays when another event replaces the page event
    assert set(stage.values("touchpoints", "id")) <= {
        *event_ids,
        *touchpoint_receipts,
        *hit_receipts,
        *replaced_ids,
    }
    kept_items = [
        _item(entry)
        for entry, receipt in zip(events, stage.receipts, strict=True)
        if receipt not in duplicate_ids and getattr(entry, "sender", None) != "browser"
    ]
    links = set(stage.rows("contact_identifiers", "kind", "value"))
    for item in kept_items:
        for kind in ("email", "tracking_id", "trk_token", "phone"):
            value = getattr(item, kind, None)
            assert value in (None, "null", "noreply@acme.com") or (kind, value) in links


def _item(item: Accepted) -> object:
    return item.item if isinstance(item, Sent) else item


def check_merges(stage: Stage) -> None:
    pointers = dict(stage.rows("contacts", "id", "merged_into"))
    for contact, survivor in pointers.items():
        assert survivor is None or (survivor < contact and pointers[survivor] is None)
    living_contacts = {contact for contact, survivor in pointers.items() if survivor is None}
    for table in ("events", "touchpoints", "contact_identifiers", "visits", "hits"):
        assert set(stage.values(table, "contact_id")) <= living_contacts


def check_stamps(stage: Stage) -> None:
    companies = dict(stage.rows("contacts", "id", "company_id"))
    for table in ("events", "touchpoints", "visits"):
        for contact, company in stage.rows(table, "contact_id", "company_id"):
            assert company == companies[contact]


def check_sources(stage: Stage) -> None:
    masks = dict(stage.rows("contacts", "id", "source_mask"))
    events = stage.rows("events", "contact_id", "event_time", "source_mask")
    for contact, occurred_at, source in stage.rows("touchpoints", "contact_id", "occurred_at", "source_id"):
        assert masks[contact] >> source & 1
        assert all(
            mask >> source & 1 for owner, time, mask in events if owner == contact and time >= occurred_at
        )


@SETTINGS
@given(events=st.lists(conversions, min_size=1, max_size=14))
def test_replay_changes_nothing(connection: psycopg.Connection, events: list) -> None:
    stage = new_stage(connection)
    keyed_events = [
        AcceptedEvent(
            **{**{name: getattr(entry, name) for name in entry.__struct_fields__},
               "idempotency_key": f"once-{index}"}
        )
        for index, entry in enumerate(events)
    ]  # fmt: skip
    stage.run(*keyed_events)
    before = stage.dump()
    event_count = len(before["events"])
    stage.run(*keyed_events)
    after = stage.dump()
    assert len(after.pop("duplicates")) == len(before.pop("duplicates")) + len(keyed_events)
    assert before == after
    assert event_count == len(after["events"])


IMPORTED = {
    "email": optional_value("a@acme.com", "b@acme.com", "c@corp.de"),
    "tracking_id": optional_value("u1", "u2", "u3"),
}
identified = st.builds(touch, **IMPORTED, **CAME).filter(
    lambda item: item.email is not None or item.tracking_id is not None
)


@SETTINGS
@given(
    events=st.lists(st.builds(event, **IDENTIFIERS, **OTHERS), max_size=6),
    imported=st.lists(identified, min_size=1, max_size=10),
    sizes=st.lists(st.integers(1, 5), max_size=5),
)
def test_importing_twice_changes_nothing_twice(
    connection: psycopg.Connection, events: list, imported: list, sizes: list[int]
) -> None:
    stage = new_stage(connection)
    run(stage, events, [])
    run(stage, imported, sizes)
    before = stage.dump()
    run(stage, imported, sizes[::-1])
    after = stage.dump()
    duplicate_count = len(after.pop("duplicates")) - len(before.pop("duplicates"))
    assert duplicate_count == len(imported)
    # Identifiers were seen once more, but belong to the same contacts.
    identifiers = [{row[:3] for row in dump.pop("contact_identifiers")} for dump in (before, after)]
    assert identifiers[0] == identifiers[1]
    assert before == after
