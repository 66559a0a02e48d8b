"""POST /contacts."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import httpx
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from headwater.http.errors import MAX_FAULTS, Invalid
from headwater.people.contacts.inputs import read_new_contact
from headwater.spaces import locks
from headwater.spaces.lock_refusals import lock_refusals
from tests.support.factories import Stage, make_stage
from tests.support.pipeline import Stage as Pipeline
from tests.support.pipeline import event
from tests.support.reading_fixtures import Api

EMAIL = "ada@example.com"
EVERYTHING: dict[str, Any] = {
    "emails": ["ada@example.com", "ada@work.example"],
    "phones": ["+44 1", "+44 2", "+44 3"],
    "names": ["Ada Lovelace", "Ada King"],
    "locations": ["London", "Ockham"],
    "custom_fields": {"profile_field_1": "gold", "profile_field_16": 12.5, "profile_field_26": "2026-01-02"},
}


def create(api: Api, **body: Any) -> dict[str, Any]:
    response = api.send("POST", "/contacts", json={"emails": [EMAIL], **body})
    assert response.status_code == 201, response.text
    return response.json()


def refusal(api: Api, body: Any) -> dict[str, list[str]]:
    response = api.send("POST", "/contacts", json=body)
    assert response.status_code == 422, response.text
    return response.json()["errors"]


def rows(stage: Stage, table: str, columns: str, order: str = "1") -> list[tuple[Any, ...]]:
    query = f"SELECT {columns} FROM {table} WHERE space_id = %s ORDER BY {order}"
    return stage.connection.execute(query, (stage.space_id,)).fetchall()


def test_it_works(api: Api, stage: Stage) -> None:
    before = datetime.now(UTC)
    response = api.send("POST", "/contacts", json=EVERYTHING)
    assert response.status_code == 201, response.text
    answer = response.json()
    contact_id = answer["id"]
    assert type(contact_id) is int
    assert answer == {**EVERYTHING, "id": contact_id, "message": "Contact created."}
    columns = "id, merged_into, company_id, source_mask, email, phone, name, location"
    assert rows(stage, "contacts", columns) == [
        (contact_id, None, None, 0, "ada@example.com", "+44 1", "Ada Lovelace", "London")
    ]
    [(text, number, date, created_at)] = rows(
        stage, "contacts", "profile_field_1, profile_field_16, profile_field_26, created_at"
    )
    assert (text, number, date) == ("gold", Decimal("12.5"), datetime(2026, 1, 2, tzinfo=UTC))
    assert before <= created_at <= datetime.now(UTC)


def test_every_value_is_stored_the_first_being_the_most_recent(api: Api, stage: Stage) -> None:
    contact_id = create(api, **EVERYTHING)["id"]
    identifiers = rows(stage, "contact_identifiers", "kind, value, contact_id", "kind, recency DESC")
    assert identifiers == [
        (kind, value, contact_id)
        for kind in ("email", "location", "name", "phone")
        for value in EVERYTHING[f"{kind}s"]
    ]
    columns = "origin_id = contact_id, first_seen_at = last_seen_at, since = recency"
    assert set(rows(stage, "contact_identifiers", columns)) == {(True, True, True)}
    recency = rows(stage, "contact_identifiers", "recency")
    assert len(set(recency)) == len(recency) == 9


def test_an_address_is_enough(api: Api, stage: Stage) -> None:
    answer = create(api)
    empty_collections = {"phones": [], "names": [], "locations": []}
    expected = {"id": answer["id"], "emails": [EMAIL], **empty_collections, "message": "Contact created."}
    assert answer == expected
    assert rows(stage, "contacts", "email, phone, name, location") == [(EMAIL, None, None, None)]
    assert len(rows(stage, "contact_identifiers", "value")) == 1


def test_it_is_always_a_new_contact(api: Api, stage: Stage) -> None:
    first_id, second_id = create(api)["id"], create(api)["id"]
    assert first_id < second_id
    assert [row[0] for row in rows(stage, "contacts", "id")] == [first_id, second_id]


def test_it_joins_no_company_until_an_event_does(api: Api, stage: Stage) -> None:
    contact_id = create(api, emails=["ann@acme.com"])["id"]
    assert rows(stage, "contacts", "company_id") == [(None,)]
    assert rows(stage, "companies", "id") == []
    Pipeline(stage.connection, stage.space_id).run(event(email="ann@acme.com"))
    [(company_id, domain)] = rows(stage, "companies", "id, domain")
    assert domain == "acme.com"
    assert rows(stage, "contacts", "id, company_id") == [(contact_id, company_id)]


def test_events_find_the_oldest_contact_with_the_address(api: Api, stage: Stage) -> None:
    oldest = create(api, emails=["first@example.com", EMAIL])["id"]
    create(api)
    pipeline = Pipeline(stage.connection, stage.space_id)
    [receipt] = pipeline.run(event(email=EMAIL, full_name="Ann"))
    assert pipeline.find_contact(receipt) == oldest
    assert rows(stage, "contacts", "email, name, merged_into") == [
        ("ada@example.com", None, None), ("first@example.com", "Ann", None),
    ]  # fmt: skip


def test_no_contact_is_older_than_one_with_a_lower_id(api: Api, stage: Stage) -> None:
    future = datetime(2100, 1, 1, tzinfo=UTC)
    stage.contact(created_at=future)
    contact_id = create(api)["id"]
    assert rows(stage, "contacts", "id, created_at")[-1] == (contact_id, future)


def test_addresses_are_trimmed_lower_cased_and_told_once(api: Api, stage: Stage) -> None:
    addresses = ["  Ada@Example.COM ", "b@example.com", "ada@example.com"]
    assert create(api, emails=addresses)["emails"] == ["ada@example.com", "b@example.com"]
    identifiers = rows(stage, "contact_identifiers", "value")
    assert identifiers == [("ada@example.com",), ("b@example.com",)]


def test_repeated_values_collapse_and_blank_ones_are_left_out(api: Api) -> None:
    answer = create(api, phones=["1", "2", "1"], names=["", " ", "Ann"], locations=["\t"])
    assert (answer["phones"], answer["names"], answer["locations"]) == (["1", "2"], ["Ann"], [])


def test_unknown_keys_are_ignored(api: Api, stage: Stage) -> None:
    company_id = stage.company()
    create(api, company_id=company_id, id=1, space_id=1, created_at="2000-01-01", trk_tokens=["t"])
    assert rows(stage, "contacts", "company_id") == [(None,)]
    assert rows(stage, "contact_identifiers", "kind") == [("email",)]


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({}, {"emails": ["The emails is required."]}),
        ({"names": ["Ann"]}, {"emails": ["The emails is required."]}),
        ({"emails": []}, {"emails": ["The emails must have at least one item."]}),
        ({"emails": None}, {"emails": ["The emails must be an array."]}),
        ({"emails": EMAIL}, {"emails": ["The emails must be an array."]}),
        ({"emails": {"0": EMAIL}}, {"emails": ["The emails must be an array."]}),
        ({"emails": [EMAIL] * 101}, {"emails": ["The emails must not have more than 100 items."]}),
    ],
)
def test_addresses_are_required(api: Api, body: Any, errors: dict[str, list[str]]) -> None:
    assert refusal(api, body) == errors


@pytest.mark.parametrize(
    "item", ["", " ", "ada", "ada@", "@example.com", "a b@example.com", "a@b.com,c@d.com",
             "a" * 65 + "@example.com", "a@" + "b" * 250 + ".com", None, 5, True, ["a@example.com"]]
)  # fmt: skip
def test_each_address_must_be_one(api: Api, item: Any) -> None:
    errors = {"emails.1": ["The emails.1 must be a valid e-mail address."]}
    assert refusal(api, {"emails": [EMAIL, item]}) == errors


@pytest.mark.parametrize("name", ["phones", "names", "locations"])
@pytest.mark.parametrize("value", [None, "Ann", {"0": "Ann"}, 5, True])
def test_other_collections_are_arrays(api: Api, name: str, value: Any) -> None:
    errors = {name: [f"The {name} must be an array."]}
    assert refusal(api, {"emails": [EMAIL], name: value}) == errors


@pytest.mark.parametrize(("name", "longest"), [("phones", 64), ("names", 255), ("locations", 255)])
def test_other_values_are_bounded_strings(api: Api, name: str, longest: int) -> None:
    fits = ["ü" * longest]
    assert create(api, **{name: fits})[name] == fits
    for item in ("ü" * (longest + 1), None, 5, 1.5, False, [], {}):
        rule = f"The {name}.1 must be a string of at most {longest} characters."
        assert refusal(api, {"emails": [EMAIL], name: ["x", item]}) == {f"{name}.1": [rule]}
    hundred_values = [f"{number:03}" for number in range(100)]
    assert create(api, **{name: hundred_values})[name] == hundred_values
    rule = f"The {name} must not have more than 100 items."
    assert refusal(api, {"emails": [EMAIL], name: [*hundred_values, "x"]}) == {name: [rule]}


def test_everything_wrong_is_told_at_once_and_nothing_is_stored(api: Api, stage: Stage) -> None:
    body = {"emails": ["x"], "phones": None, "custom_fields": {"nickname": "A"}}
    response = api.send("POST", "/contacts", json=body)
    assert response.status_code == 422
    assert set(response.json()["errors"]) == {"emails.0", "phones", "custom_fields.nickname"}
    assert response.json()["message"].endswith("(and 2 more errors)")
    assert rows(stage, "contacts", "id") == []


def test_text_that_cannot_be_stored_is_named(api: Api) -> None:
    assert set(refusal(api, {"emails": [EMAIL], "names": ["a\0b"]})) == {"names.0"}
    body = b'{"emails": ["ada@example.com"], "custom_fields": {"profile_field_1": "\\ud800"}}'
    response = api.send("POST", "/contacts", content=body)
    assert response.status_code == 422
    assert set(response.json()["errors"]) == {"custom_fields.profile_field_1"}


@pytest.mark.parametrize("body", [b"[]", b"{", b"", b'"x"'])
def test_the_body_is_an_object(api: Api, body: bytes) -> None:
    response = api.send("POST", "/contacts", content=body)
    assert response.status_code == 422
    assert set(response.json()["errors"]) == {"body"}


# -------------------------------------------------------------------------------- around it


def test_one_statement_writes_all_values(api: Api, stage: Stage) -> None:
    """All get the start time of the statement."""
    collections = {name: [f"{number:03}" for number in range(100)] for name in ("phones", "names")}
    create(api, emails=[f"a{number}@example.com" for number in range(100)], **collections)
    stamps = rows(stage, "contact_identifiers", "first_seen_at")
    assert (len(stamps), len(set(stamps))) == (300, 1)


def test_it_needs_the_scope(client: httpx.Client, connection: psycopg.Connection) -> None:
    reader = make_stage(connection, scopes=("contacts:read", "contacts:delete", "events:write"))
    response = Api(client, reader.key).send("POST", "/contacts", json={"emails": [EMAIL]})
    assert response.status_code == 403
    assert "contacts:write" in response.json()["message"]


def test_a_large_or_compressed_body_is_refused(api: Api) -> None:
    large = b'{"emails": ["' + b"a" * (1 << 20) + b'"]}'
    assert api.send("POST", "/contacts", content=large).status_code == 413
    response = api._client.post(
        "/contacts", content=b"x", headers={**api.headers, "Content-Encoding": "gzip"}
    )
    assert response.status_code == 415


def test_a_space_that_stays_locked_is_answered_503(
    api: Api, stage: Stage, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "LOCK_PATIENCE", "50ms")
    with psycopg.connect(database_url) as other_connection:
        lock = "SELECT FROM space_locks WHERE space_id = %s FOR NO KEY UPDATE"
        other_connection.execute(lock, (stage.space_id,))
        before = lock_refusals._value.get()
        with capture_logs() as lines:
            response = api.send("POST", "/contacts", json={"emails": [EMAIL]})
    assert response.status_code == 503
    assert int(response.headers["retry-after"]) > 0
    assert rows(stage, "contacts", "id") == []
    log_line = {"event": "space_kept", "space_id": stage.space_id, "log_level": "warning"}
    assert log_line in lines
    assert lock_refusals._value.get() == before + 1
    create(api)


ITEMS = st.lists(st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=70)))


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(phones=ITEMS, names=ITEMS)
def test_what_is_taken_is_what_was_sent(phones: list[Any], names: list[Any]) -> None:
    """Either the invalid items are named, up to the limit, or the stored values are the sent ones, each once,
    in order.
    """
    wrong = {
        f"{name}.{index}"
        for name, items, longest in (("phones", phones, 64), ("names", names, 255))
        for index, item in enumerate(items)
        if not isinstance(item, str) or len(item) > longest
    }
    body = {"emails": [EMAIL], "phones": phones, "names": names}
    if wrong:
        with pytest.raises(Invalid) as invalid:
            read_new_contact(body)
        assert len(invalid.value.errors) == min(len(wrong), MAX_FAULTS)
        assert set(invalid.value.errors) <= wrong
        return
    collections = read_new_contact(body).collections
    for name, items in (("phones", phones), ("names", names)):
        assert list(collections[name]) == list(dict.fromkeys(item for item in items if item.strip()))
