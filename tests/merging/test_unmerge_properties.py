"""Properties that hold after undoing merges, for any events in any order."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from headwater.attribution import query
from headwater.attribution.query import Attribution
from headwater.events.accepted import AcceptedEvent
from headwater.events.fields import complete_fields
from headwater.events.models import EventSelection, ListEvents
from headwater.events.queries import list_events
from headwater.http.inputs.timerange import TimeRange
from headwater.intake.merging.unmerge import unmerge
from headwater.sources.catalogue import SOURCE_IDS
from tests.models.attribution import Event, Touch, share_credit
from tests.pipeline.test_pipeline_properties import (
    IDENTIFIERS,
    OTHERS,
    SETTINGS,
    check_merges,
    check_sources,
    check_stamps,
    modes,
    run,
)
from tests.support.campaigns import campaign_size
from tests.support.identity_model import Model
from tests.support.pipeline import Stage, event, new_stage

FEWER = settings(SETTINGS, max_examples=campaign_size("HEADWATER_HISTORIES", 8, 2000))

NO_DUPLICATES = {name: OTHERS[name] for name in OTHERS.keys() - {"order_id", "idempotency_key"}}
journeys = st.lists(st.builds(event, **IDENTIFIERS, **NO_DUPLICATES), max_size=12)
batches = st.lists(st.integers(1, 5), max_size=5)

VALUES = {
    "email": st.sampled_from(["a@acme.com", "b@acme.com", "c@corp.de", "d@gmail.com"]),
    "tracking_id": st.sampled_from(["u1", "u2"]),
    "trk_token": st.sampled_from(["t1", "t2", "t3"]),
}


@st.composite
def merging(draw: st.DrawFn) -> list[AcceptedEvent]:
    """Draw events that first have mostly one identifier, then two: contacts, then merges."""

    def some(count: int, limit: int) -> list[AcceptedEvent]:
        kinds = st.permutations(list(VALUES)).map(lambda names: names[:count])
        event_strategy = kinds.flatmap(lambda names: st.builds(
            event, **{name: VALUES[name] for name in names}, **NO_DUPLICATES,
            event_time=IDENTIFIERS["event_time"],
        ))  # fmt: skip
        return draw(st.lists(event_strategy, min_size=2, max_size=limit))

    return some(1, 7) + some(2, 5) + draw(journeys)


merging_journeys = merging()

COLUMNS = ("email", "name", "phone", "profile_field_1", "profile_field_16")
NAMES = {number: name for name, number in SOURCE_IDS.items()}


def undo(database_url: str, stage: Stage, *contacts: int) -> None:
    async def unmerge_all() -> None:
        async with await psycopg.AsyncConnection.connect(database_url) as connection:
            for contact in contacts:
                await unmerge(connection, stage.space_id, contact)

    asyncio.run(unmerge_all())


def state(stage: Stage) -> dict[str, dict[Any, Any]]:
    """Return the stored data of contacts, by id."""
    identifiers: dict[tuple[str, str, int], list[Any]] = {}
    for row in stage.rows(
        "contact_identifiers", "kind", "value", "contact_id", "origin_id", "first_seen_at",
        "last_seen_at", "recency",
    ):  # fmt: skip
        identifiers.setdefault(row[:3], []).append(row[3:])
    return {
        "identifiers": identifiers,
        "events": dict(stage.rows("events", "id", "contact_id")),
        "touchpoints": dict(stage.rows("touchpoints", "id", "contact_id")),
        "merged_into": dict(stage.rows("contacts", "id", "merged_into")),
        "companies": dict(stage.rows("contacts", "id", "company_id")),
        "columns": {row[0]: row[1:] for row in stage.rows("contacts", "id", *COLUMNS)},
    }


def last_merging(events: list[AcceptedEvent]) -> int:
    """Return the index of the last event that merges, or -1."""
    model, last_index = Model(), -1
    for index, item in enumerate(events):
        before = len(model.merges)
        model.take(item)
        if len(model.merges) > before:
            last_index = index
    return last_index


def merged_contacts(stage: Stage, receipt: int) -> list[int]:
    """Return the contacts that an event merged, the last one first."""
    rows = stage.rows("merges", "id", "merged_id", "receipt_id")
    return [merged_id for _, merged_id, cause in reversed(rows) if cause == receipt]


@FEWER
@given(events=merging_journeys, mode=modes, sizes=batches)
def test_undoing_the_last_merge_restores_what_was(
    connection: psycopg.Connection,
    database_url: str,
    events: list[AcceptedEvent],
    mode: str,
    sizes: list[int],
) -> None:
    index = last_merging(events)
    assume(index >= 0)
    cause = events[index]
    stage = new_stage(connection, company_identity_mode=mode)
    run(stage, events[:index], sizes)
    before = state(stage)
    [receipt] = stage.run(cause)
    undo(database_url, stage, *merged_contacts(stage, receipt))
    after = state(stage)
    contact = after["events"].pop(receipt)
    after["touchpoints"].pop(receipt, None)
    for key in ("events", "touchpoints", "merged_into"):
        assert after[key] == before[key]
    compare_identifiers(before["identifiers"], after["identifiers"], cause, contact)
    compare_contacts(before, after, cause, contact)
    check_all(database_url, stage)


def event_identifiers(event: AcceptedEvent) -> set[tuple[str, str | None]]:
    return {
        ("email", event.email), ("tracking_id", event.tracking_id),
        ("trk_token", event.trk_token), ("name", event.full_name), ("phone", event.phone),
        ("fingerprint", f"{event.fingerprint}|{event.ip}"),
    }  # fmt: skip


def compare_identifiers(
    old_rows: dict[Any, Any], new_rows: dict[Any, Any], event: AcceptedEvent, contact: int
) -> None:
    """Check that identifiers are equal, except for new sightings from the event itself."""
    assert old_rows.keys() <= new_rows.keys()
    new_keys = new_rows.keys() - old_rows.keys()
    assert {key[2] for key in new_keys} <= {contact}
    assert {key[:2] for key in new_keys} <= event_identifiers(event)
    for key, rows in old_rows.items():
        if key[:2] not in event_identifiers(event):
            assert new_rows[key] == rows


def compare_contacts(
    old_rows: dict[str, Any], new_rows: dict[str, Any], event: AcceptedEvent, contact: int
) -> None:
    """Check that contacts are equal, except for values from the event itself."""
    event_values = (
        event.email, event.full_name, event.phone,
        *(event.profile_fields.get(slot) for slot in (1, 16)),
    )  # fmt: skip
    for contact_id, columns in old_rows["columns"].items():
        for old_value, new_value, new in zip(
            columns, new_rows["columns"][contact_id], event_values, strict=True
        ):
            assert new_value == old_value or (contact_id == contact and str(new_value) in (str(new), "None"))
    # A company is identified by its own id or by a business address.
    names_company = event.company_external_id is not None or event.email is not None
    for contact_id, company in old_rows["companies"].items():
        if contact_id != contact or not names_company:
            assert new_rows["companies"][contact_id] == company


@FEWER
@given(data=st.data(), events=merging_journeys, mode=modes, sizes=batches)
def test_all_merges_can_be_undone_in_any_order(
    connection: psycopg.Connection,
    database_url: str,
    data: st.DataObject,
    events: list[AcceptedEvent],
    mode: str,
    sizes: list[int],
) -> None:
    events_with_values = [
        AcceptedEvent(
            **{**{name: getattr(event, name) for name in event.__struct_fields__},
               "profile_fields": {1: f"value {index}"} if event.profile_fields else {}}
        )
        for index, event in enumerate(events)
    ]  # fmt: skip
    model = Model()
    for item in events_with_values:
        model.take(item)
    assume(model.merges)
    stage = new_stage(connection, company_identity_mode=mode)
    run(stage, events_with_values, sizes)
    merged_contacts = [
        contact for contact, survivor in stage.rows("contacts", "id", "merged_into") if survivor
    ]
    for contact in data.draw(st.permutations(merged_contacts)):
        undo(database_url, stage, contact)
        check_all(database_url, stage)
    check_nothing_is_merged(stage)
    numbers = sorted(stage.values("contacts", "id"))
    events_of = dict(stage.rows("events", "id", "contact_id"))
    assert [numbers.index(events_of[receipt]) for receipt in stage.receipts] == model.placed
    last_told: dict[int, str] = {}
    for contact, item in zip(model.placed, events_with_values, strict=True):
        if item.profile_fields:
            last_told[contact] = item.profile_fields[1]
    assert stage.values("contacts", "id") == numbers
    assert [value for _, value in stage.rows("contacts", "id", "profile_field_1")] == [
        last_told.get(number) for number in range(len(numbers))
    ]


@FEWER
@given(data=st.data(), events=merging_journeys, later_events=journeys, mode=modes)
def test_life_goes_on_after_an_undone_merge(
    connection: psycopg.Connection,
    database_url: str,
    data: st.DataObject,
    events: list[AcceptedEvent],
    later_events: list[AcceptedEvent],
    mode: str,
) -> None:
    stage = new_stage(connection, company_identity_mode=mode)
    stage.run(*events)
    for more in (later_events, events):
        merged_contacts = [
            contact for contact, survivor in stage.rows("contacts", "id", "merged_into") if survivor
        ]
        if merged_contacts:
            undo(database_url, stage, data.draw(st.sampled_from(merged_contacts)))
        stage.run(*more)
        check_all(database_url, stage)


def check_nothing_is_merged(stage: Stage) -> None:
    assert set(stage.values("contacts", "merged_into")) <= {None}
    assert None not in stage.values("merges", "undone_at")
    assert set(stage.values("events", "origin_id")) <= {None}
    rows = stage.rows("contact_identifiers", "contact_id", "origin_id")
    assert all(contact == origin for contact, origin in rows)


def check_all(database_url: str, stage: Stage) -> None:
    check_merges(stage)
    check_stamps(stage)
    check_sources(stage)
    check_log(stage)
    check_primaries(stage)
    assert sorted(stage.values("events", "id")) == stage.receipts
    check_attribution(database_url, stage)


def check_log(stage: Stage) -> None:
    """Check that the merges in force lead from every merged contact to its survivor, always to an older
    contact.
    """
    rows = stage.rows("merges", "merged_id", "survivor_id", "undone_at")
    in_force = [(merged_id, survivor) for merged_id, survivor, undone_at in rows if undone_at is None]
    parents = dict(in_force)
    assert len(parents) == len(in_force)
    for contact, survivor in stage.rows("contacts", "id", "merged_into"):
        top = contact
        while top in parents:
            assert parents[top] < top
            top = parents[top]
        assert top == (survivor or contact)


def check_primaries(stage: Stage) -> None:
    """Check that a contact's primary value is one of its own, and that it has one if it has any values."""
    rows = stage.rows("contact_identifiers", "contact_id", "kind", "value")
    for contact, survivor, *primaries in stage.rows("contacts", "id", "merged_into", *COLUMNS[:3]):
        if survivor is None:
            for kind, primary in zip(COLUMNS, primaries, strict=False):
                own_values = [
                    value for owner, value_kind, value in rows if (owner, value_kind) == (contact, kind)
                ]
                assert primary in (own_values or [None])


def check_attribution(database_url: str, stage: Stage) -> None:
    """Compare the credits of List Events with credits computed from the rows."""
    events = [
        Event(*row)
        for row in stage.rows(
            "events", "id", "contact_id", "company_id", "event_time", "amount"
        )
    ]  # fmt: skip
    touches = [
        Touch(*row[:4], NAMES[row[4]])
        for row in stage.rows("touchpoints", "id", "contact_id", "company_id", "occurred_at", "source_id")
    ]
    times = [event.event_time for event in events]
    time = TimeRange(min(times), max(times) + timedelta(days=1))
    fields = complete_fields(["source", "touchpoint_id"], credited=True)
    source_ids = tuple(SOURCE_IDS[name] for name in {touch.source for touch in touches})

    async def compare() -> None:
        async with await psycopg.AsyncConnection.connect(database_url) as reader:
            for by_company in (False, True):
                attribution = Attribution("linear", 0, source_ids, by_company)
                selection = EventSelection(time, (), attribution, (), fields)
                page = await list_events(reader, stage.space_id, ListEvents(selection, 1000, None))
                rows = [json.loads(line) for line in page.lines]
                expected = share_credit(events, touches, "linear", days=0, by_company=by_company)
                assert [(row["id"], row["touchpoint_id"]) for row in rows] == [
                    (row.event.id, row.touch.id) for row in expected
                ]

    if source_ids:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(query, "RARE", 0)
            asyncio.run(compare())
