"""The contents of a row of GET /contacts: tokens, addresses, custom fields and their labels."""

from __future__ import annotations

import httpx
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.people.contacts.field_labels import field_names
from headwater.spaces.custom_fields import SLOTS
from tests.support.factories import Stage, make_stage
from tests.support.people import errors, merge, person, rows
from tests.support.reading_fixtures import RANGE, Api

PRIMARY = ["id", "email", "name", "phone", "location"]
COLUMNS = [column for _, column in SLOTS]
FIELDS = {"include_custom_fields": 1}
LABELLED = {**FIELDS, "use_custom_field_labels": 1}


def test_tokens_are_the_last_five_the_most_recent_first(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    for number in range(7):
        stage.identifier(contact_id, "trk_token", f"token-{number}")
    stage.connection.execute(
        "UPDATE contact_identifiers SET recency = recency + 1000000"
        " WHERE space_id = %s AND value = 'token-0'",
        (stage.space_id,),
    )
    (row,) = rows(api, **RANGE, include_trk_tokens=1)
    assert list(row) == [*PRIMARY, "trk_tokens"]
    assert row["trk_tokens"] == ["token-0", "token-6", "token-5", "token-4", "token-3"]


def test_tokens_of_merged_contacts_are_there_once_each(api: Api, stage: Stage) -> None:
    old, ada = stage.contact(), stage.contact()
    for contact_id, value in ((old, "x"), (ada, "y"), (old, "y"), (ada, "z")):
        stage.identifier(contact_id, "trk_token", value)
    merge(stage, ada, old)
    assert rows(api, **RANGE, include_trk_tokens=1)[0]["trk_tokens"] == ["z", "y", "x"]


def test_no_token_is_an_empty_list(api: Api, stage: Stage) -> None:
    person(stage, "ada@example.com")
    assert rows(api, **RANGE, include_trk_tokens=1)[0]["trk_tokens"] == []


def test_all_emails_are_the_primary_one_then_the_most_recent(api: Api, stage: Stage) -> None:
    ada = person(stage, "first@example.com")
    old = person(stage, "merged@example.com")
    for email in ("second@example.com", "third@example.com"):
        stage.identifier(ada, "email", email)
    stage.identifier(old, "email", "third@example.com")
    merge(stage, old, ada)
    (row,) = rows(api, **RANGE, include_all_emails=1)
    assert list(row) == [*PRIMARY, "emails"]
    assert row["emails"] == [
        "first@example.com", "third@example.com", "second@example.com", "merged@example.com",
    ]  # fmt: skip


def test_a_match_on_another_address_shows_the_primary(api: Api, stage: Stage) -> None:
    person(stage, "first@example.com", "second@example.com")
    (row,) = rows(api, email="second@example.com", include_all_emails=1)
    assert row["email"] == "first@example.com"
    assert row["emails"] == ["first@example.com", "second@example.com"]


def test_no_address_is_an_empty_list(api: Api, stage: Stage) -> None:
    stage.identifier(stage.contact(), "phone", "+44 1")
    assert rows(api, **RANGE, include_all_emails=1)[0]["emails"] == []


def test_all_thirty_fields_are_there_null_where_unset(api: Api, stage: Stage) -> None:
    stage.contact()
    (row,) = rows(api, **RANGE, **FIELDS)
    assert list(row) == [*PRIMARY, *COLUMNS]
    assert {row[column] for column in COLUMNS} == {None}


def test_each_type_of_field_is_shown_as_itself(api: Api, stage: Stage) -> None:
    stage.contact(
        profile_field_1='a "b" \\ \n ü', profile_field_16="12.5000", profile_field_17=-3,
        profile_field_18="123456789012345678901234.0000000001", profile_field_25=0,
        profile_field_26="2026-05-13T00:00:00Z", profile_field_30="2026-05-13T13:58:22.5Z",
    )  # fmt: skip
    response = api.get("/contacts", params={**RANGE, **FIELDS})
    (row,) = response.json()["data"]
    assert {column: row[column] for column in COLUMNS if row[column] is not None} == {
        "profile_field_1": 'a "b" \\ \n ü', "profile_field_16": 12.5, "profile_field_17": -3,
        "profile_field_18": 123456789012345678901234.0000000001, "profile_field_25": 0,
        "profile_field_26": "2026-05-13", "profile_field_30": "2026-05-13T13:58:22.500Z",
    }  # fmt: skip
    assert '"profile_field_16":12.5,' in response.text
    assert '"profile_field_18":123456789012345678901234.0000000001,' in response.text


@pytest.mark.parametrize(
    ("zone", "stored_value", "answered_value"),
    [
        ("UTC", "2026-05-13T00:00:00Z", "2026-05-13"),
        ("America/New_York", "2026-05-13T04:00:00Z", "2026-05-13"),
        ("America/New_York", "2026-05-13T00:00:00Z", "2026-05-13T00:00:00Z"),
        ("Asia/Kolkata", "2026-05-12T18:30:00Z", "2026-05-13"),
        ("America/New_York", "2026-05-13T04:00:00.001Z", "2026-05-13T04:00:00.001Z"),
        # Zones are Headwater's: PostgreSQL reads CET without summer time, and its zones may be older.
        ("CET", "2026-05-12T22:00:00Z", "2026-05-13"),
        ("America/Edmonton", "2026-12-24T06:00:00Z", "2026-12-24"),
        ("Asia/Kathmandu", "1971-01-01T18:30:00Z", "1971-01-02"),
        ("Europe/Berlin", "1889-12-31T23:06:32Z", "1890-01-01"),
        ("Asia/Kolkata", "0001-01-01T18:06:32Z", "0001-01-02"),
        # If clocks skip midnight, a day begins at one. If they repeat it, the day begins at the first
        # midnight.
        ("America/Sao_Paulo", "2018-11-04T03:00:00Z", "2018-11-04"),
        ("America/Havana", "2026-11-01T04:00:00Z", "2026-11-01"),
    ],
)
def test_a_day_is_told_from_a_moment(
    client: httpx.Client, connection: psycopg.Connection, zone: str, stored_value: str, answered_value: str
) -> None:
    stage = make_stage(connection, zone)
    stage.contact(profile_field_26=stored_value)
    (row,) = rows(Api(client, stage.key), **RANGE, **FIELDS)
    assert row["profile_field_26"] == answered_value


def test_labels_replace_the_names_of_fields(api: Api, stage: Stage) -> None:
    stage.label_field("profile_field_2", "Plan")
    stage.contact(profile_field_2="gold", profile_field_3="x")
    (row,) = rows(api, **RANGE, **LABELLED)
    names = ["Plan" if column == "profile_field_2" else column for column in COLUMNS]
    assert list(row) == [*PRIMARY, *names]
    assert (row["Plan"], row["profile_field_3"]) == ("gold", "x")


def test_labels_need_the_fields(api: Api, stage: Stage) -> None:
    stage.label_field("profile_field_2", "Plan")
    stage.contact(profile_field_2="gold")
    assert list(rows(api, **RANGE, use_custom_field_labels=1)[0]) == PRIMARY
    assert "profile_field_2" in rows(api, **RANGE, **FIELDS)[0]


@pytest.mark.parametrize("label", [*PRIMARY, "trk_tokens", "emails", "profile_field_7"])
def test_a_label_that_is_another_member_s_name_is_not_used(api: Api, stage: Stage, label: str) -> None:
    stage.label_field("profile_field_2", label)
    ada = person(stage, "ada@example.com", profile_field_2="gold")
    response = api.get("/contacts", params={**RANGE, **LABELLED, "include_all_emails": 1})
    (row,) = response.json()["data"]
    assert (row["id"], row["email"]) == (ada, "ada@example.com")
    assert row["profile_field_2"] == "gold"
    assert response.text.count(f'"{label}":') <= 1


def test_a_label_of_two_fields_is_not_used(api: Api, stage: Stage) -> None:
    for column in ("profile_field_2", "profile_field_3"):
        stage.label_field(column, "Plan")
    stage.contact(profile_field_2="gold", profile_field_3="silver")
    (row,) = rows(api, **RANGE, **LABELLED)
    assert "Plan" not in row
    assert (row["profile_field_2"], row["profile_field_3"]) == ("gold", "silver")


@pytest.mark.parametrize(
    "label", ["ü" * 255, 'a "quoted" \\ one', "100 %s {x} %(y)s", "':'; --", "\N{SNOWMAN}"]
)
def test_any_text_can_be_a_label(api: Api, stage: Stage, label: str) -> None:
    stage.label_field("profile_field_2", label)
    stage.contact(profile_field_2="gold")
    assert rows(api, **RANGE, **LABELLED)[0][label] == "gold"


@given(labels=st.dictionaries(
    st.sampled_from(COLUMNS), st.sampled_from(["a", "b", "c", *PRIMARY, *COLUMNS[:3]]), max_size=8
))  # fmt: skip
def test_names_never_clash_and_free_labels_are_used(labels: dict[str, str]) -> None:
    names = field_names(labels, PRIMARY)
    assert list(names) == COLUMNS
    assert len({*PRIMARY, *names.values()}) == len(PRIMARY) + len(COLUMNS)
    for column, label in labels.items():
        free = label not in {*PRIMARY, *COLUMNS} and list(labels.values()).count(label) == 1
        assert names[column] == (label if free else column)


def test_everything_at_once(api: Api, stage: Stage) -> None:
    stage.label_field("profile_field_16", "Age")
    contact_id = person(stage, "ada@example.com", profile_field_16=36)
    stage.identifier(contact_id, "trk_token", "t")
    (row,) = rows(api, **RANGE, **LABELLED, include_trk_tokens=1, include_all_emails=1)
    assert list(row)[:7] == [*PRIMARY, "trk_tokens", "emails"]
    assert (row["trk_tokens"], row["emails"], row["Age"]) == (["t"], ["ada@example.com"], 36)


@pytest.mark.parametrize(
    "name", ["include_trk_tokens", "include_all_emails", "include_custom_fields", "use_custom_field_labels"]
)
def test_flags_are_1_or_0(api: Api, stage: Stage, name: str) -> None:
    stage.contact()
    assert list(rows(api, **RANGE, **{name: 0})[0]) == PRIMARY
    for text in ("true", "yes", "2", "-1", "01", "1.0"):
        assert errors(api, **RANGE, **{name: text}) == {name: [f"The {name} must be one of 0, 1."]}
    assert list(errors(api, **RANGE, **{name: [1, 1]})) == [name]
