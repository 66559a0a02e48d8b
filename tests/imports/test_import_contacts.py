"""`headwater import contacts`: contacts are created or added to, and nothing is dropped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.cli import main
from headwater.intake.imports import importer as import_run
from tests.support.campaigns import campaign_size
from tests.support.factories import Stage, make_stage
from tests.support.importing import Importer
from tests.support.reading_fixtures import Api


def contact(api: Api, contact_id: int) -> dict[str, Any]:
    response = api.get(f"/contacts/{contact_id}")
    assert response.status_code == 200
    body = response.json()
    assert body.pop("id") == contact_id
    return body


def contact_ids(stage: Stage) -> list[int]:
    query = "SELECT id FROM contacts WHERE space_id = %s ORDER BY id"
    return [row[0] for row in stage.connection.execute(query, (stage.space_id,))]


def refusals(file: Path) -> dict[int, dict[str, list[str]]]:
    lines = Path(f"{file}.refused.ndjson").read_text().splitlines()
    return {refusal["row"]: refusal["errors"] for refusal in map(json.loads, lines)}


ADA = {
    "emails": ["ada@b.org", "lovelace@b.org"], "phones": ["1", "2"], "names": ["Ada"],
    "locations": ["London", "Ulm"],
}  # fmt: skip


def test_it_works(importer: Importer, api: Api, stage: Stage) -> None:
    row = {**ADA, "profile_field_1": "gold", "profile_field_16": 1.5, "profile_field_26": "2026-05-13"}
    file = importer.write("c.ndjson", row, {"emails": "nobody"}, {"email": "bob@b.org"})
    report = importer.run("contacts", file, status=1)
    assert (report["rows"], report["stored"], report["refused"]) == (3, 2, 1)
    assert refusals(file) == {2: {"emails.0": ["The emails.0 must be a valid e-mail address."]}}
    ada, bob = contact_ids(stage)
    fields = {"profile_field_1": "gold", "profile_field_16": 1.5, "profile_field_26": "2026-05-13"}
    assert contact(api, ada) == {**ADA, "custom_fields": fields}
    assert contact(api, bob) == {
        "emails": ["bob@b.org"], "phones": [], "names": [], "locations": [], "custom_fields": {},
    }  # fmt: skip


def test_the_columns_of_a_table(importer: Importer, api: Api, stage: Stage) -> None:
    row = {
        "email": "Ada@B.org", "emails": " x@b.org ;ada@b.org;; y@b.org", "phone": "1",
        "phones": "2;3", "name": "Ada", "names": "", "location": "", "locations": "Ulm",
        "profile_field_16": "1.50", "profile_field_1": "", "profile_field_27": "2026-05-13T10:00Z",
    }  # fmt: skip
    assert importer.run("contacts", importer.write("c.csv", row))["stored"] == 1
    [ada] = contact_ids(stage)
    assert contact(api, ada) == {
        "emails": ["ada@b.org", "x@b.org", "y@b.org"], "phones": ["1", "2", "3"],
        "names": ["Ada"], "locations": ["Ulm"],
        "custom_fields": {"profile_field_16": 1.5, "profile_field_27": "2026-05-13T10:00:00Z"},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("row", "errors"),
    [
        ({"name": "Ada"}, {"emails": ["The emails is required."]}),
        ({"emails": [], "email": " "}, {"emails": ["The emails is required."]}),
        ({"emails": 5}, {"emails": ["The emails must be an array."]}),
        ({"email": 5}, {"emails.0": ["The emails.0 must be a valid e-mail address."]}),
        (
            {"email": "a@b.org", "phones": ["1" * 65]},
            {"phones.0": ["The phones.0 must be a string of at most 64 characters."]},
        ),
        (
            {"email": "a@b.org", "profile_field_16": "x"},
            {"custom_fields.profile_field_16":
             ["The custom_fields.profile_field_16 must be a number."]},
        ),
    ],
)  # fmt: skip
def test_what_is_refused(
    importer: Importer, stage: Stage, row: dict[str, Any], errors: dict[str, list[str]]
) -> None:
    file = importer.write("c.ndjson", row)
    assert importer.run("contacts", file, status=1)["refused"] == 1
    assert refusals(file) == {1: errors}
    assert contact_ids(stage) == []


def test_it_adds_to_the_contact_that_has_an_address(importer: Importer, api: Api, stage: Stage) -> None:
    contact_id = api.send(
        "POST", "/contacts",
        json={**ADA, "phones": [], "custom_fields": {"profile_field_1": "gold"}},
    ).json()["id"]  # fmt: skip
    row = {
        "emails": ["new@b.org", "LOVELACE@b.org"], "phones": ["9", "8"], "names": ["Countess"],
        "profile_field_1": "silver", "profile_field_2": "x",
    }  # fmt: skip
    assert importer.run("contacts", importer.write("c.ndjson", row))["stored"] == 1
    assert contact_ids(stage) == [contact_id]
    assert contact(api, contact_id) == {
        "emails": ["ada@b.org", "new@b.org", "lovelace@b.org"], "phones": ["9", "8"],
        "names": ["Ada", "Countess"], "locations": ["London", "Ulm"],
        "custom_fields": {"profile_field_1": "gold", "profile_field_2": "x"},
    }  # fmt: skip


def test_addresses_of_several_contacts(importer: Importer, api: Api, stage: Stage) -> None:
    ids = [
        api.send("POST", "/contacts", json={"emails": [email]}).json()["id"]
        for email in ("a@b.org", "b@b.org", "shared@b.org", "shared@b.org")
    ]
    file = importer.write(
        "c.ndjson", {"emails": ["b@b.org", "a@b.org"]}, {"email": "shared@b.org"},
        {"emails": "a@b.org;c@b.org"},
    )  # fmt: skip
    assert importer.run("contacts", file, status=1)["stored"] == 1
    several = "The emails belong to several contacts:"
    assert refusals(file) == {
        1: {"emails": [f"{several} {ids[0]}, {ids[1]}."]},
        2: {"emails": [f"{several} {ids[2]}, {ids[3]}."]},
    }
    assert contact_ids(stage) == ids


def test_a_merged_contact_s_address_leads_to_the_survivor(importer: Importer, api: Api, stage: Stage) -> None:
    survivor = stage.contact(email="a@b.org")
    merged_id = stage.contact(merged_into=survivor)
    stage.identifier(survivor, "email", "a@b.org")
    stage.identifier(survivor, "email", "old@b.org", origin_id=merged_id)
    row = {"email": "old@b.org", "phone": "1"}
    assert importer.run("contacts", importer.write("c.ndjson", row))["stored"] == 1
    details = contact(api, survivor)
    assert (details["emails"], details["phones"]) == (["a@b.org", "old@b.org"], ["1"])
    assert contact_ids(stage) == [survivor, merged_id]


@pytest.mark.parametrize("chunk", [1, 2, 1000])
def test_rows_of_one_file_meet(
    importer: Importer, api: Api, stage: Stage, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_run, "CHUNK", chunk)
    file = importer.write(
        "c.ndjson", {"email": "a@b.org"}, {"email": "b@b.org", "name": "B"},
        {"emails": ["c@b.org", "b@b.org"], "name": "Bob"}, {"emails": ["a@b.org", "c@b.org"]},
        {"email": "c@b.org", "phone": "1"},
    )  # fmt: skip
    assert importer.run("contacts", file, status=1)["stored"] == 4
    first, second = contact_ids(stage)
    assert refusals(file) == {4: {"emails": [f"The emails belong to several contacts: {first}, {second}."]}}
    details = contact(api, second)
    assert (details["emails"], details["names"], details["phones"]) == (
        ["b@b.org", "c@b.org"], ["B", "Bob"], ["1"],
    )  # fmt: skip


@settings(
    max_examples=campaign_size("HEADWATER_IMPORTED_PEOPLE", 10, 500), deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(
    people=st.lists(
        st.fixed_dictionaries(
            {"emails": st.lists(st.sampled_from(["a@b.org", "b@b.org", "c@b.org"]), min_size=1,
                                max_size=2)},
            optional={"phone": st.sampled_from("12"), "profile_field_1": st.sampled_from("xy")},
        ),
        min_size=1, max_size=8,
    ),
    chunk=st.integers(1, 4),
)  # fmt: skip
def test_chunks_and_repeats_make_no_difference(
    importer: Importer, connection: psycopg.Connection, people: list[Any], chunk: int
) -> None:
    whole_importer, split_importer = (importer.importer_for(make_stage(connection)) for _ in range(2))
    file = whole_importer.write(f"{whole_importer.stage.space_id}.ndjson", *people)
    expected = import_and_read(whole_importer, file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(import_run, "CHUNK", chunk)
        assert import_and_read(split_importer, file) == expected
        assert import_and_read(split_importer, file, "--again") == expected


def import_and_read(importer: Importer, file: Path, *options: str) -> list[tuple[Any, ...]]:
    """Import a file and return the contacts' values, with ids replaced by their order."""
    arguments = [str(file), "--space", str(importer.stage.space_id), *options]
    assert main(["import", "contacts", *arguments]) in (0, 1)
    return importer.stage.connection.execute(
        "SELECT dense_rank() OVER (ORDER BY c.id), c.email, c.phone, c.profile_field_1, i.kind,"
        " i.value, rank() OVER (PARTITION BY c.id ORDER BY i.recency)"
        " FROM contacts c JOIN contact_identifiers i ON i.space_id = c.space_id"
        " AND i.contact_id = c.id WHERE c.space_id = %s ORDER BY 1, 5, 6",
        (importer.stage.space_id,),
    ).fetchall()
