"""PUT /contacts/{id}."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import httpx
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.factories import NOON, Stage, make_stage
from tests.support.pipeline import Stage as Pipeline
from tests.support.pipeline import event
from tests.support.reading_fixtures import Api

COLLECTIONS = {"emails": "email", "phones": "phone", "names": "name", "locations": "location"}
EVERYTHING: dict[str, Any] = {
    "emails": ["a@example.com", "b@example.com"],
    "phones": ["1", "2"],
    "names": ["Ann", "Bo"],
    "locations": ["Rome", "Oslo"],
    "custom_fields": {"profile_field_1": "gold", "profile_field_16": 3,
                      "profile_field_26": "2026-01-02"},
}  # fmt: skip


@pytest.fixture
def contact_id(api: Api) -> int:
    """A contact with two values of each kind and three custom fields."""
    return api.send("POST", "/contacts", json=EVERYTHING).json()["id"]


def update(api: Api, contact_id: int, **body: Any) -> dict[str, Any]:
    response = api.send("PUT", f"/contacts/{contact_id}", json=body)
    assert response.status_code == 200, response.text
    return response.json()


def refusal(api: Api, contact_id: int, body: Any) -> dict[str, list[str]]:
    response = api.send("PUT", f"/contacts/{contact_id}", json=body)
    assert response.status_code == 422, response.text
    return response.json()["errors"]


def columns(stage: Stage, contact_id: int, names: str) -> tuple[Any, ...]:
    row = stage.connection.execute(
        f"SELECT {names} FROM contacts WHERE space_id = %s AND id = %s", (stage.space_id, contact_id)
    ).fetchone()
    assert row is not None
    return row


def current_values(stage: Stage, contact_id: int, columns: str = "kind, value") -> list[tuple[Any, ...]]:
    """Return a contact's current values by kind, the most recent first."""
    return stage.connection.execute(
        f"SELECT {columns} FROM contact_identifiers WHERE space_id = %s AND contact_id = %s"
        " AND kind <> 'former_email' ORDER BY kind, recency DESC",
        (stage.space_id, contact_id),
    ).fetchall()


def values(stage: Stage, contact_id: int, kind: str) -> list[str]:
    return [value for value_kind, value in current_values(stage, contact_id) if value_kind == kind]


def make_merged_contact(stage: Stage) -> tuple[int, int]:
    """Make a contact and another one merged into it, through events."""
    pipeline = Pipeline(stage.connection, stage.space_id)
    pipeline.run(event(email="old@example.com", phone="1", full_name="Ann"))
    pipeline.run(event(tracking_id="u1", phone="2", full_name="Ann"))
    pipeline.run(event(tracking_id="u1", email="old@example.com"))
    [(loser, survivor)] = pipeline.rows("merges", "merged_id", "survivor_id")
    return survivor, loser


def test_it_works(api: Api, stage: Stage, contact_id: int) -> None:
    answer = update(api, contact_id, names=["Cy", "Ann"], phones=[])
    collections = {"names": ["Cy", "Ann"], "phones": []}
    assert answer == {"id": contact_id, **collections, "message": "Contact updated."}
    assert values(stage, contact_id, "name") == ["Cy", "Ann"]
    assert values(stage, contact_id, "phone") == []
    assert columns(stage, contact_id, "name, phone") == ("Cy", None)


@pytest.mark.parametrize("name", COLLECTIONS)
def test_what_is_not_given_stays(api: Api, stage: Stage, contact_id: int, name: str) -> None:
    before = {kind: values(stage, contact_id, kind) for kind in COLLECTIONS.values()}
    item = "new@example.com" if name == "emails" else "new"
    answer = update(api, contact_id, **{name: [item]})
    assert answer == {"id": contact_id, name: [item], "message": "Contact updated."}
    after = {kind: values(stage, contact_id, kind) for kind in COLLECTIONS.values()}
    assert after == {**before, COLLECTIONS[name]: [item]}
    primary = columns(stage, contact_id, "email, phone, name, location")
    assert list(primary) == [after[kind][0] for kind in COLLECTIONS.values()]
    slots = columns(stage, contact_id, "profile_field_1, profile_field_16::int")
    assert slots == ("gold", 3)


@pytest.mark.parametrize("name", COLLECTIONS)
def test_an_empty_array_wipes(api: Api, stage: Stage, contact_id: int, name: str) -> None:
    kind = COLLECTIONS[name]
    assert update(api, contact_id, **{name: []})[name] == []
    assert values(stage, contact_id, kind) == []
    assert columns(stage, contact_id, kind) == (None,)
    assert len(current_values(stage, contact_id)) == 6


def test_other_identifiers_are_left_alone(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    for kind in ("tracking_id", "trk_token", "fingerprint"):
        stage.identifier(contact_id, kind, "x")
    update(api, contact_id, emails=[], phones=[], names=["x"], locations=[])
    kinds = ["fingerprint", "name", "tracking_id", "trk_token"]
    assert [kind for kind, _ in current_values(stage, contact_id)] == kinds


def test_custom_fields_are_replaced_as_a_whole(api: Api, stage: Stage, contact_id: int) -> None:
    values = {"profile_field_2": "x", "profile_field_16": " 4.50 ", "profile_field_1": None}
    answer = update(api, contact_id, custom_fields=values)
    stored_values = {"profile_field_2": "x", "profile_field_16": 4.5}
    assert answer == {"id": contact_id, "custom_fields": stored_values, "message": "Contact updated."}
    slots = "profile_field_1, profile_field_2, profile_field_16::text, profile_field_26"
    assert columns(stage, contact_id, slots) == (None, "x", "4.5", None)
    assert len(current_values(stage, contact_id)) == 8
    assert update(api, contact_id, custom_fields={})["custom_fields"] == {}
    assert columns(stage, contact_id, slots) == (None,) * 4


def test_what_only_events_bring_stays(api: Api, stage: Stage) -> None:
    company_id = stage.company()
    contact_id = stage.contact(city="Rome", os="Linux", company_id=company_id, source_mask=2)
    update(api, contact_id, emails=["a@example.com"], custom_fields={})
    row = columns(stage, contact_id, "city, os, company_id, source_mask, created_at")
    assert row == ("Rome", "Linux", company_id, 2, NOON)


def test_a_value_that_stays_keeps_its_first_sight_and_all_are_fresh(api: Api, stage: Stage) -> None:
    contact_id = stage.contact(email="b@example.com")
    recent = [stage.identifier(contact_id, "email", f"{letter}@example.com") for letter in "abc"]
    update(api, contact_id, emails=["d@example.com", "a@example.com", "b@example.com"])
    rows = current_values(stage, contact_id, "value, first_seen_at, since, recency")
    assert [row[0][0] for row in rows] == ["d", "a", "b"]
    assert [row[1] == NOON for row in rows] == [False, True, True]
    assert [row[2] for row in rows][1:] == recent[:2]
    recency = [row[3] for row in rows]
    assert min(recency) > max(recent)
    assert recency == sorted(recency, reverse=True)


def test_the_primary_value_is_the_first_from_then_on(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    stage.identifier(contact_id, "tracking_id", "u1")
    update(api, contact_id, names=["Ann"], phones=[])
    Pipeline(stage.connection, stage.space_id).run(event(tracking_id="u1", full_name="Bo", phone="9"))
    assert columns(stage, contact_id, "name, phone") == ("Ann", "9")
    assert values(stage, contact_id, "name") == ["Bo", "Ann"]


def test_an_event_with_a_removed_address_is_somebody_else_s(api: Api, stage: Stage, contact_id: int) -> None:
    update(api, contact_id, emails=["b@example.com"])
    pipeline = Pipeline(stage.connection, stage.space_id)
    removed_event, kept_event = pipeline.run(event(email="a@example.com"), event(email="b@example.com"))
    assert pipeline.find_contact(kept_event) == contact_id
    assert pipeline.find_contact(removed_event) not in {contact_id, None}
    assert pipeline.rows("merges", "id") == []
    assert values(stage, contact_id, "email") == ["b@example.com"]


def test_an_added_address_finds_the_contact(api: Api, stage: Stage, contact_id: int) -> None:
    update(api, contact_id, emails=["  New@Example.com"])
    pipeline = Pipeline(stage.connection, stage.space_id)
    [receipt] = pipeline.run(event(email="new@example.com"))
    assert pipeline.find_contact(receipt) == contact_id


def test_a_contact_without_addresses_is_anonymous(api: Api, stage: Stage) -> None:
    pipeline = Pipeline(stage.connection, stage.space_id)
    [first] = pipeline.run(event(email="a@example.com", trk_token="t"))
    contact_id = pipeline.find_contact(first)
    update(api, contact_id, emails=[])
    [second] = pipeline.run(event(email="b@example.com", trk_token="t"))
    assert pipeline.find_contact(second) == contact_id
    assert columns(stage, contact_id, "email") == ("b@example.com",)


ITEMS = st.lists(st.sampled_from(["a", "b", "c", "d", ""]), max_size=5)
UPDATES = st.lists(
    st.dictionaries(st.sampled_from(["phones", "names", "locations"]), ITEMS, min_size=1), max_size=4
)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(updates=UPDATES)
def test_after_any_updates_the_last_of_each_kind_counts(
    api: Api, stage: Stage, updates: list[dict[str, list[str]]]
) -> None:
    contact_id = stage.contact()
    expected: dict[str, list[str]] = {"phones": [], "names": [], "locations": []}
    for body in updates:
        update(api, contact_id, **body)
        expected |= {name: list(dict.fromkeys(filter(None, items))) for name, items in body.items()}
    for name, items in expected.items():
        assert values(stage, contact_id, COLLECTIONS[name]) == items
        assert columns(stage, contact_id, COLLECTIONS[name]) == (items[0] if items else None,)


# ---------------------------------------------------------------------------- merged contacts


def test_a_merged_id_stands_for_the_canonical_contact(api: Api, stage: Stage) -> None:
    survivor, loser = make_merged_contact(stage)
    before = columns(stage, loser, "*")
    answer = update(api, loser, emails=["new@example.com"], custom_fields={"profile_field_1": "x"})
    assert answer["id"] == survivor
    assert columns(stage, survivor, "email, profile_field_1") == ("new@example.com", "x")
    assert values(stage, survivor, "email") == ["new@example.com"]
    assert current_values(stage, loser) == []
    assert columns(stage, loser, "*") == before


def test_values_of_merged_contacts_are_replaced_too(api: Api, stage: Stage) -> None:
    survivor, loser = make_merged_contact(stage)
    assert sorted(values(stage, survivor, "phone")) == ["1", "2"]
    update(api, survivor, phones=["3"], emails=[])
    assert values(stage, survivor, "phone") == ["3"]
    pipeline = Pipeline(stage.connection, stage.space_id)
    [receipt] = pipeline.run(event(email="old@example.com"))
    assert pipeline.find_contact(receipt) not in {survivor, loser}


def test_a_value_that_came_with_a_merged_contact_becomes_the_survivor_s_own(api: Api, stage: Stage) -> None:
    survivor, loser = make_merged_contact(stage)
    update(api, survivor, phones=["2"])
    rows = current_values(stage, survivor, "kind, value, origin_id, first_seen_at")
    phones = [row[1:] for row in rows if row[0] == "phone"]
    assert [row[:2] for row in phones] == [("2", survivor), ("2", loser)]
    assert phones[0][2] == phones[1][2] < datetime(2026, 1, 1, tzinfo=UTC)


# ------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize("body", [{}, {"company_id": 1}, {"email": "a@example.com", "id": 5}])
def test_something_updatable_is_needed(api: Api, stage: Stage, contact_id: int, body: dict[str, Any]) -> None:
    before = current_values(stage, contact_id)
    response = api.send("PUT", f"/contacts/{contact_id}", json=body)
    assert response.status_code == 422
    rule = "At least one of emails, phones, names, locations, custom_fields must be given."
    assert response.json() == {"message": rule, "errors": {"body": [rule]}}
    assert current_values(stage, contact_id) == before


@pytest.mark.parametrize("name", COLLECTIONS)
@pytest.mark.parametrize("value", [None, "a@example.com", {}, 5])
def test_collections_are_arrays(api: Api, contact_id: int, name: str, value: Any) -> None:
    assert refusal(api, contact_id, {name: value}) == {name: [f"The {name} must be an array."]}


@pytest.mark.parametrize("value", [None, [], "x", 5])
def test_custom_fields_are_an_object(api: Api, contact_id: int, value: Any) -> None:
    errors = {"custom_fields": ["The custom_fields must be an object."]}
    assert refusal(api, contact_id, {"custom_fields": value}) == errors


def test_every_item_at_fault_is_named_and_nothing_changes(api: Api, stage: Stage, contact_id: int) -> None:
    before = current_values(stage, contact_id), columns(stage, contact_id, "*")
    body = {
        "emails": ["new@example.com", "x", ""], "phones": ["1", 2], "names": ["N" * 256],
        "locations": ["x"] * 101, "custom_fields": {"profile_field_17": "x", "other": 1},
    }  # fmt: skip
    assert refusal(api, contact_id, body) == {
        "emails.1": ["The emails.1 must be a valid e-mail address."],
        "emails.2": ["The emails.2 must be a valid e-mail address."],
        "phones.1": ["The phones.1 must be a string of at most 64 characters."],
        "names.0": ["The names.0 must be a string of at most 255 characters."],
        "locations": ["The locations must not have more than 100 items."],
        "custom_fields.profile_field_17": [
            "The custom_fields.profile_field_17 must be a number."],
        "custom_fields.other": [
            "The custom_fields.other must be one of profile_field_1 to profile_field_30."],
    }  # fmt: skip
    assert (current_values(stage, contact_id), columns(stage, contact_id, "*")) == before


@pytest.mark.parametrize("bad_id", ["x", "-1", "1.0", "9" * 19, "%20", "0x1"])
def test_the_id_is_a_number(api: Api, bad_id: str) -> None:
    response = api.send("PUT", f"/contacts/{bad_id}", json={"names": ["x"]})
    assert response.status_code == 422
    assert list(response.json()["errors"]) == ["id"]


def test_the_body_is_judged_before_the_id_is_looked_up(api: Api) -> None:
    assert api.send("PUT", "/contacts/999", json={"names": None}).status_code == 422


def test_a_contact_of_another_space_is_unknown(api: Api, connection: psycopg.Connection) -> None:
    other_stage = make_stage(connection)
    foreign_id = other_stage.contact(name="Ann")
    body = {"names": ["Bo"], "custom_fields": {"profile_field_1": "x"}}
    foreign = api.send("PUT", f"/contacts/{foreign_id}", json=body)
    unknown = api.send("PUT", "/contacts/999999999999999999", json=body)
    assert foreign.status_code == unknown.status_code == 404
    assert foreign.content == unknown.content == b'{"message":"Contact not found."}'
    assert columns(other_stage, foreign_id, "name, profile_field_1") == ("Ann", None)
    assert current_values(other_stage, foreign_id) == []


def test_an_address_of_another_space_does_not_matter(
    api: Api, stage: Stage, connection: psycopg.Connection, contact_id: int
) -> None:
    other_stage = make_stage(connection)
    other_id = other_stage.contact()
    other_stage.identifier(other_id, "email", "shared@example.com")
    before = current_values(other_stage, other_id, "*")
    update(api, contact_id, emails=["shared@example.com"])
    update(api, contact_id, emails=[])
    assert current_values(other_stage, other_id, "*") == before
    assert values(stage, contact_id, "email") == []


def test_it_needs_the_scope(client: httpx.Client, connection: psycopg.Connection) -> None:
    reader = make_stage(connection, scopes=("contacts:read", "contacts:delete", "events:write"))
    path = f"/contacts/{reader.contact()}"
    response = Api(client, reader.key).send("PUT", path, json={"names": ["x"]})
    assert response.status_code == 403
    assert "contacts:write" in response.json()["message"]
