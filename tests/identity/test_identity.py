"""Each identity rule by example, through the real pipeline."""

from __future__ import annotations

import psycopg
import pytest

from headwater.sources.catalogue import SOURCE_IDS
from tests.support import factories
from tests.support.pipeline import DAY, T0, Stage, event, new_stage


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id)


def browser_event(fingerprint: str = "f1", ip: str = "10.0.0.1", **values: object) -> object:
    return event(fingerprint=fingerprint, ip=ip, **values)


def test_it_works(stage: Stage) -> None:
    first, second, third = stage.run(
        event(email="ann@example.org"), event(email="ann@example.org", trk_token="t1"), event(trk_token="t1")
    )
    assert stage.find_contact(first) == stage.find_contact(second) == stage.find_contact(third)
    assert len(stage.rows("contacts", "id")) == 1


def test_tracking_id_and_email_of_different_contacts_merge_them_and_the_oldest_survives(stage: Stage) -> None:
    old, young, merging_event = stage.run(
        event(tracking_id="u1"), event(email="a@b.org"), event(tracking_id="u1", email="a@b.org")
    )
    survivor = stage.find_contact(old)
    assert {stage.find_contact(receipt) for receipt in (young, merging_event)} == {survivor}
    assert stage.rows("merges", "survivor_id", "cause", "receipt_id") == [(survivor, "email", merging_event)]
    merged_rows = [row for row in stage.rows("contacts", "id", "merged_into") if row[1] is not None]
    assert [row[1] for row in merged_rows] == [survivor]
    assert survivor < merged_rows[0][0]


def test_an_address_shared_by_contacts_of_the_api_goes_to_the_oldest_and_merges_none(stage: Stage) -> None:
    api = factories.Stage(stage.connection, stage.space_id, "")
    ids = [api.contact(), api.contact()]
    for contact in ids:
        api.identifier(contact, "email", "a@b.org")
    api.identifier(ids[1], "tracking_id", "u2")
    plain_event, tracked_event = stage.run(event(email="a@b.org"), event(email="a@b.org", tracking_id="u2"))
    assert stage.find_contact(plain_event) == ids[0]
    assert stage.find_contact(tracked_event) == ids[1]
    assert stage.rows("merges", "id") == []


def test_a_token_joins_an_anonymous_contact_to_a_known_one(stage: Stage) -> None:
    anonymous_event, known_event, joining_event = stage.run(
        event(trk_token="t1"), event(email="a@b.org"), event(email="a@b.org", trk_token="t1")
    )
    assert (
        len({stage.find_contact(receipt) for receipt in (anonymous_event, known_event, joining_event)}) == 1
    )
    assert stage.values("merges", "cause") == ["trk_token"]


def test_a_token_follows_the_latest_person_of_a_shared_device(stage: Stage) -> None:
    ann, bob, token_after_bob, ann_again, now = stage.run(
        event(email="ann@b.org", trk_token="t1"),
        event(email="bob@b.org", trk_token="t1"),
        event(trk_token="t1"),
        event(email="ann@b.org", trk_token="t1"),
        event(trk_token="t1"),
    )
    contact = stage.find_contact
    assert contact(ann) != contact(bob)
    assert contact(token_after_bob) == contact(bob)
    assert contact(ann_again) == contact(now) == contact(ann)
    assert stage.rows("merges", "id") == []


def test_first_identification_on_an_anonymous_token_stays_there(stage: Stage) -> None:
    before, after = stage.run(event(trk_token="t1"), event(trk_token="t1", email="a@b.org"))
    assert stage.find_contact(before) == stage.find_contact(after)


def test_a_known_tokens_contact_takes_an_identifier_of_another_kind(stage: Stage) -> None:
    mailed_event, tracked_event = stage.run(
        event(trk_token="t1", email="a@b.org"), event(trk_token="t1", tracking_id="u1")
    )
    assert stage.find_contact(mailed_event) == stage.find_contact(tracked_event)


def test_a_known_tokens_contact_refuses_a_second_tracking_id(stage: Stage) -> None:
    first, second, later = stage.run(
        event(trk_token="t1", tracking_id="u1"),
        event(trk_token="t1", tracking_id="u2"),
        event(trk_token="t1"),
    )
    assert stage.find_contact(first) != stage.find_contact(second)
    assert stage.find_contact(later) == stage.find_contact(second)


def test_fingerprint_and_ip_find_the_only_contact_within_seven_days(stage: Stage) -> None:
    first, edge, late = stage.run(
        browser_event(), browser_event(event_time=T0 + 7 * DAY), browser_event(event_time=T0 + 14 * DAY + 1)
    )
    assert stage.find_contact(first) == stage.find_contact(edge)
    assert stage.find_contact(late) != stage.find_contact(first)


def test_fingerprint_of_several_contacts_finds_none(stage: Stage) -> None:
    receipts = stage.run(browser_event(email="a@b.org"), browser_event(email="b@b.org"), browser_event())
    assert len({stage.find_contact(receipt) for receipt in receipts}) == 3


def test_fingerprint_from_another_ip_is_another(stage: Stage) -> None:
    first, second = stage.run(browser_event(), browser_event(ip="10.0.0.2"))
    assert stage.find_contact(first) != stage.find_contact(second)


def test_a_fingerprint_does_not_decide_beside_a_strong_identifier(stage: Stage) -> None:
    receipts = stage.run(browser_event(), browser_event(email="ann@b.org"), browser_event(email="bob@b.org"))
    assert len({stage.find_contact(receipt) for receipt in receipts}) == 3


def test_a_new_token_takes_on_the_past_of_a_browser_without_one(stage: Stage) -> None:
    anonymous, ann, ben = stage.run(
        browser_event(),
        browser_event(trk_token="t1", email="ann@b.org"),
        browser_event(trk_token="t2", email="ben@b.org"),
    )
    assert stage.find_contact(anonymous) == stage.find_contact(ann) != stage.find_contact(ben)


@pytest.mark.parametrize("in_two_batches", [True, False])
def test_equal_browsers_behind_one_address_are_two_people(stage: Stage, *, in_two_batches: bool) -> None:
    anna, ben = stage.put(browser_event(trk_token="t1"), browser_event(trk_token="t2"))
    stage.process(limit=1 if in_two_batches else 10)
    assert stage.find_contact(anna) != stage.find_contact(ben)


def test_a_known_person_is_nobodys_lookalike_for_a_new_token(stage: Stage) -> None:
    anna, ben = stage.run(browser_event(email="anna@b.org"), browser_event(trk_token="t2"))
    assert stage.find_contact(anna) != stage.find_contact(ben)


def test_fingerprint_never_overrides_a_token_but_is_linked_to_its_contact(stage: Stage) -> None:
    first, second = stage.run(browser_event(), event(trk_token="t1"))
    linking_event = stage.run(browser_event(trk_token="t1"))[0]
    assert stage.find_contact(linking_event) == stage.find_contact(second) != stage.find_contact(first)
    links = stage.rows("contact_identifiers", "kind", "contact_id")
    assert ("fingerprint", stage.find_contact(second)) in links


def test_a_new_token_is_linked_to_the_lookalike(stage: Stage) -> None:
    first, second, third = stage.run(browser_event(), browser_event(trk_token="t9"), event(trk_token="t9"))
    assert stage.find_contact(first) == stage.find_contact(second) == stage.find_contact(third)


@pytest.mark.parametrize(
    "junk", ["null", "'Undefined'", '"NaN"', "[object Object]", "0000-0000", "GUEST", "0"]
)
def test_junk_identifies_nobody_and_leaves_a_warning(stage: Stage, junk: str) -> None:
    first, second = stage.run(event(tracking_id=junk), event(tracking_id=junk))
    assert stage.find_contact(first) != stage.find_contact(second)
    assert stage.values("events", "warnings") == [["tracking_id ignored: not an identifier"]] * 2
    assert stage.rows("contact_identifiers", "value") == []


def test_junk_addresses_do_not_join_those_who_type_them(stage: Stage) -> None:
    first, second = stage.run(
        event(email="noreply@acme.com", trk_token="t1"), event(email="noreply@acme.com", trk_token="t2")
    )
    assert stage.find_contact(first) != stage.find_contact(second)
    assert stage.values("contacts", "email") == [None, None]
    assert stage.rows("companies", "id") == []


def test_a_space_adds_its_own_junk(connection: psycopg.Connection) -> None:
    stage = new_stage(connection, ignored_identifiers=["Shop-Default"])
    for identifiers in (
        {"tracking_id": "shop-default"},
        {"trk_token": "shop-default"},
        {"fingerprint": "shop-default", "ip": "192.0.2.1"},
    ):
        first, second = stage.run(event(**identifiers), event(**identifiers))
        assert stage.find_contact(first) != stage.find_contact(second), identifiers


def test_merging_keeps_everything_and_fills_what_is_empty(stage: Stage) -> None:
    stage.run(
        event(tracking_id="u1", phone="+1 555", profile_fields={1: "old"}),
        event(email="a@b.org", full_name="Ann", profile_fields={1: "young", 2: "two"},
              trk_source="facebook_ads"),
    )  # fmt: skip
    stage.run(event(tracking_id="u1", email="a@b.org"))
    columns = ("email", "name", "phone", "profile_field_1", "profile_field_2", "source_mask")
    [survivor] = [row[1:] for row in stage.rows("contacts", "merged_into", *columns) if not row[0]]
    mask = 1 << SOURCE_IDS["facebook_ads"]
    assert survivor == ("a@b.org", "Ann", "+1 555", "old", "two", mask)
    assert set(stage.values("events", "source_mask")) == {mask}
    assert len(set(stage.values("contact_identifiers", "contact_id"))) == 1
    assert set(stage.values("contact_identifiers", "kind")) == {
        "email", "name", "phone", "tracking_id",
    }  # fmt: skip


def test_merges_of_merges_stay_one_hop(stage: Stage) -> None:
    stage.run(event(trk_token="t0"), event(email="a@b.org"), event(tracking_id="u1"))
    stage.run(event(email="a@b.org", tracking_id="u1"))
    stage.run(event(email="a@b.org", trk_token="t0"))
    oldest = min(stage.values("contacts", "id"))
    pointers = stage.rows("contacts", "id", "merged_into")
    assert [row[1] for row in pointers] == [None, oldest, oldest]


def test_nothing_crosses_spaces(connection: psycopg.Connection, stage: Stage) -> None:
    other_stage = new_stage(connection)
    shared = {"email": "a@b.org", "tracking_id": "u1", "trk_token": "t1"}
    stage.run(event(**shared, order_id="1", idempotency_key="k"))
    other_stage.run(event(**shared, order_id="1", idempotency_key="k"))
    assert stage.dump() == other_stage.dump()
    assert not set(stage.values("contacts", "id")) & set(other_stage.values("contacts", "id"))
