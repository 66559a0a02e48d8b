"""GET /contacts/{id}."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import httpx
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.factories import Stage, make_stage
from tests.support.people import merge, person
from tests.support.reading_fixtures import Api

LABELLED = {"use_custom_field_labels": 1}


def get(api: Api, contact_id: int, **params: Any) -> dict[str, Any]:
    response = api.get(f"/contacts/{contact_id}", params=params)
    assert response.status_code == 200, response.text
    return response.json()


def test_it_works(api: Api, stage: Stage) -> None:
    contact_id = stage.contact(
        email="ada@example.com", name="Ada", phone="+44 1", location="London",
        profile_field_1="gold", profile_field_16="12.50", profile_field_26="2026-05-13T00:00:00Z",
        city="London", country="GB", company_id=stage.company(),
    )  # fmt: skip
    for kind, values in {
        "email": ("ada@example.com", "ada@work.example"),
        "phone": ("+44 1",),
        "name": ("Ada", "Ada L.", "Ada Lovelace"),
        "location": ("London",),
        "tracking_id": ("crm-7",),
    }.items():
        for value in values:
            stage.identifier(contact_id, kind, value)
    response = api.get(f"/contacts/{contact_id}")
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.json() == {
        "id": contact_id,
        "emails": ["ada@example.com", "ada@work.example"],
        "phones": ["+44 1"],
        "names": ["Ada", "Ada Lovelace", "Ada L."],
        "locations": ["London"],
        "custom_fields": {
            "profile_field_1": "gold", "profile_field_16": 12.5, "profile_field_26": "2026-05-13",
        },
    }  # fmt: skip
    assert list(response.json()) == [
        "id", "emails", "phones", "names", "locations", "custom_fields",
    ]  # fmt: skip


def test_an_empty_contact(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    assert get(api, contact_id) == {
        "id": contact_id, "emails": [], "phones": [], "names": [], "locations": [],
        "custom_fields": {},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "collection"),
    [("email", "emails"), ("phone", "phones"), ("name", "names"), ("location", "locations")],
)
def test_the_primary_value_comes_first_then_the_most_recent(
    api: Api, stage: Stage, kind: str, collection: str
) -> None:
    contact_id = stage.contact(**{kind: "b"})
    for value in ("a", "b", "c", "d"):
        stage.identifier(contact_id, kind, value)
    stage.connection.execute(
        "UPDATE contact_identifiers SET recency = recency + 1000000 WHERE space_id = %s AND value = 'a'",
        (stage.space_id,),
    )
    assert get(api, contact_id)[collection] == ["b", "a", "d", "c"]


def test_a_primary_value_that_is_listed_nowhere_else_is_there(api: Api, stage: Stage) -> None:
    contact_id = stage.contact(location="Berlin")
    stage.identifier(contact_id, "location", "Paris")
    assert get(api, contact_id)["locations"] == ["Berlin", "Paris"]


def test_what_merged_contacts_had_is_there_once(api: Api, stage: Stage) -> None:
    ada = person(stage, "ada@example.com", "x@example.com")
    old = person(stage, "old@example.com", "ada@example.com", "x@example.com")
    stage.identifier(old, "phone", "+44 1")
    merge(stage, old, ada)
    contact = get(api, ada)
    assert contact["emails"] == ["ada@example.com", "x@example.com", "old@example.com"]
    assert contact["phones"] == ["+44 1"]


def test_a_merged_id_leads_to_the_survivor(api: Api, stage: Stage) -> None:
    survivor = person(stage, "ada@example.com")
    merged_ids = [stage.contact() for _ in range(2)]
    for merged_id in merged_ids:
        merge(stage, merged_id, survivor)
    everything = {"include_trk_tokens": 1, "include_events": 1, "include_browsing_session_data": 1}
    assert get(api, survivor, **everything)["id"] == survivor
    for merged_id in merged_ids:
        assert get(api, merged_id, **everything) == get(api, survivor, **everything)


dates = st.dates(date(1900, 1, 1), date(2100, 12, 31)).map(date.isoformat)
moments = st.integers(-2_000_000_000_000, 4_000_000_000_000).map(
    lambda ms: datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")
)
texts = st.lists(st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1), max_size=4)
fields = st.fixed_dictionaries(
    {},
    optional={
        "profile_field_1": st.text(st.characters(exclude_characters="\0", codec="utf-8")),
        "profile_field_16": st.decimals(-(10**6), 10**6, places=3).map(str),
        "profile_field_26": dates,
        "profile_field_27": moments,
        "profile_field_28": dates.map(lambda day: f"{day}T00:00:00Z"),
    },
)


@given(
    emails=st.permutations(["a@example.com", "b@example.com", "c@example.com"]),
    names=texts,
    fields=fields,
    zone=st.sampled_from(["UTC", "Asia/Kolkata", "America/Sao_Paulo", "America/Havana"]),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_it_shows_what_creating_the_contact_answered(
    client: httpx.Client,
    connection: psycopg.Connection,
    emails: list[str],
    names: list[str],
    fields: dict[str, Any],
    zone: str,
) -> None:
    api = Api(client, make_stage(connection, zone).key)
    body = {"emails": emails, "names": names, "custom_fields": fields}
    response = api.send("POST", "/contacts", json=body)
    assert response.status_code == 201, response.text
    new_contact = response.json()
    del new_contact["message"]
    assert get(api, new_contact["id"]) == new_contact


def test_tokens_are_the_last_five(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    for number in range(7):
        stage.identifier(contact_id, "trk_token", f"t{number}")
    contact = get(api, contact_id, include_trk_tokens=1)
    assert contact["trk_tokens"] == ["t6", "t5", "t4", "t3", "t2"]
    assert get(api, stage.contact(), include_trk_tokens=1)["trk_tokens"] == []


def test_labels_replace_the_names_of_filled_fields(api: Api, stage: Stage) -> None:
    long = "ü" * 255
    for column, label in {
        "profile_field_1": "Plan", "profile_field_2": long, "profile_field_3": "Same",
        "profile_field_4": "Same", "profile_field_5": "profile_field_6", "profile_field_8": "email",
        "profile_field_9": "Unset",
    }.items():  # fmt: skip
        stage.label_field(column, label)
    values = {f"profile_field_{slot}": f"value {slot}" for slot in range(1, 9)}
    contact_id = stage.contact(**values)
    assert get(api, contact_id)["custom_fields"] == values
    assert get(api, contact_id, **LABELLED)["custom_fields"] == {
        "Plan": "value 1", long: "value 2", "profile_field_3": "value 3",
        "profile_field_4": "value 4", "profile_field_5": "value 5", "profile_field_6": "value 6",
        "profile_field_7": "value 7", "email": "value 8",
    }  # fmt: skip


def test_extras_are_there_only_when_asked_for(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    extras = {
        "include_trk_tokens": "trk_tokens",
        "include_events": "events",
        "include_browsing_session_data": "browsing_session_hits",
    }
    for name, member in extras.items():
        assert get(api, contact_id, **{name: 1})[member] == []
        assert member not in get(api, contact_id, **{name: 0})
    contact = get(api, contact_id, **dict.fromkeys(extras, 1))
    assert list(contact)[-3:] == list(extras.values())


@pytest.mark.parametrize(
    "name",
    [
        "include_trk_tokens", "include_events", "hide_direct_touchpoints",
        "use_custom_field_labels", "include_browsing_session_data",
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["/contacts/1", "/contacts/by-email/a@example.com"])
def test_flags_are_1_or_0(api: Api, form: str, name: str) -> None:
    for text in ("true", "2", "no"):
        response = api.get(form, params={name: text})
        assert response.status_code == 422
        assert response.json()["errors"] == {name: [f"The {name} must be one of 0, 1."]}


@pytest.mark.parametrize("text", ["abc", "-1", "+5", "1.0", "9" * 19, "١٢", "%201"])
def test_other_ids_are_invalid(api: Api, text: str) -> None:
    response = api.get(f"/contacts/{text}")
    assert response.status_code == 422
    assert list(response.json()["errors"]) == ["id"]


def test_a_contact_of_another_space_is_unknown(
    api: Api, client: httpx.Client, connection: psycopg.Connection
) -> None:
    other_stage = make_stage(connection)
    contact_id = other_stage.contact()
    foreign, unknown = api.get(f"/contacts/{contact_id}"), api.get("/contacts/999999999999999999")
    assert foreign.status_code == unknown.status_code == 404
    assert foreign.content == unknown.content == b'{"message":"Contact not found."}'
    assert Api(client, other_stage.key).get(f"/contacts/{contact_id}").status_code == 200


def test_it_needs_the_scope(client: httpx.Client, connection: psycopg.Connection) -> None:
    writer = make_stage(connection, scopes=("contacts:write",))
    contact_id = writer.contact()
    for path in (f"/contacts/{contact_id}", "/contacts/by-email/a@example.com"):
        assert Api(client, writer.key).get(path).status_code == 403
        assert Api(client, "trk_sk_unknown").get(path).status_code == 401
