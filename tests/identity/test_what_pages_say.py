"""A page's key is public: its users can't take over a contact, join contacts or change known values."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from headwater.people.identity.senders import Sender
from tests.support.pipeline import Accepted, Stage, add_sender, event, new_stage, page, person

ALICE, BOB, MALLORY = "alice@a-corp.com", "bob@b-corp.com", "mallory@evil.com"


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id)


def page_identify(**values: Any) -> Accepted:
    """Return a page's `identify`."""
    return page(person(**values))


def addresses(stage: Stage, contact: int) -> set[str]:
    rows = stage.rows("contact_identifiers", "contact_id", "kind", "value")
    return {value for owner, kind, value in rows if (owner, kind) == (contact, "email")}


@pytest.mark.parametrize("item", [person, event])
def test_it_works(stage: Stage, item: Any) -> None:
    """A made-up tracking id joins no contacts."""
    alice, bob = stage.run(
        event(email=ALICE, profile_fields={1: "gold"}), event(email=BOB, profile_fields={1: "new"})
    )
    stage.run(
        page(item(email=ALICE, tracking_id="T")),
        page(item(email=MALLORY, tracking_id="T")),
        page(item(email=BOB, tracking_id="T", full_name="Mallory", phone="666",
                  profile_fields={1: "hacked"})),
        page(item(email=ALICE, trk_token="t1", profile_fields={1: "hacked"})),
    )  # fmt: skip
    assert stage.rows("merges", "id") == []
    assert addresses(stage, stage.find_contact(alice)) == {ALICE}
    assert addresses(stage, stage.find_contact(bob)) == {BOB}
    assert stage.values("contacts", "profile_field_1")[:2] == ["gold", "new"]


def test_two_known_contacts_stay_two(stage: Stage) -> None:
    alice, bob = stage.run(event(tracking_id="u1", email=ALICE), event(email=BOB))
    (claim,) = stage.run(page(event(tracking_id="u1", email=BOB)))
    assert stage.find_contact(claim) == stage.find_contact(alice) != stage.find_contact(bob)
    assert dict(stage.rows("events", "id", "warnings"))[claim] == [
        "email ignored: a page cannot add it to this contact"
    ]
    (server,) = stage.run(event(tracking_id="u1", email=BOB))
    assert stage.find_contact(server) == stage.find_contact(bob) == stage.find_contact(alice)


def test_its_own_past_joins_whoever_it_is(stage: Stage) -> None:
    anonymous_event, known_event = stage.run(page(event(trk_token="t1")), event(email=ALICE))
    stage.run(page_identify(trk_token="t1", email=ALICE))
    assert stage.find_contact(anonymous_event) == stage.find_contact(known_event)
    assert stage.rows("merges", "cause", "sender") == [("trk_token", "browser")]


def test_what_is_empty_is_filled(stage: Stage) -> None:
    (known_event,) = stage.run(event(tracking_id="u1"))
    stage.run(
        page_identify(tracking_id="u1", email=ALICE, full_name="Alice", phone="1", profile_fields={1: "a"})
    )
    row = stage.rows("contacts", "id", "email", "name", "phone", "profile_field_1")
    assert row == [(stage.find_contact(known_event), ALICE, "Alice", "1", "a")]


def test_names_and_phones_are_not_added_to_others(stage: Stage) -> None:
    stage.run(event(email=ALICE, full_name="Alice", phone="1"))
    stage.run(
        page_identify(email=ALICE, full_name="Mallory", phone="666"), page_identify(email=ALICE, phone="1")
    )
    values = {row[0] for row in stage.rows("contact_identifiers", "value")}
    assert values == {ALICE, "Alice", "1"}


def test_somebody_new_is_somebody(stage: Stage) -> None:
    stage.run(page_identify(email=ALICE, tracking_id="u1"), page_identify(email=BOB, trk_token="t2"))
    assert len(stage.values("contacts", "id")) == 2


def test_no_other_company(connection: psycopg.Connection) -> None:
    stage = new_stage(connection, company_identity_mode="external_id")
    stage.run(event(email=ALICE, company_external_id="A", company_name="Acme"))
    company_fields = {"company_external_id": "A", "company_name": "Mallory Inc"}
    stage.run(page(event(email=ALICE, company_external_id="M")), page(event(email=BOB, **company_fields)))
    assert stage.rows("companies", "external_id", "name") == [("A", "Acme")]
    assert len(set(stage.values("contacts", "company_id"))) == 1


def test_a_refused_address_groups_nobody(stage: Stage) -> None:
    stage.run(event(email="alice@gmail.com", tracking_id="u1"))
    stage.run(page_identify(tracking_id="u1", email=MALLORY))
    assert stage.rows("companies", "domain") == []


@pytest.mark.parametrize("sender", [sender for sender in Sender if sender.is_trusted])
def test_who_speaks_for_the_business_is_believed(stage: Stage, sender: str) -> None:
    stage.run(event(tracking_id="u1", profile_fields={1: "old"}), event(email=BOB))
    stage.run(add_sender(sender, event(tracking_id="u1", email=BOB, profile_fields={1: "new"})))
    assert stage.values("merges", "sender") == [sender]
    assert stage.values("contacts", "profile_field_1")[0] == "new"
    assert sender in stage.values("events", "sender")
