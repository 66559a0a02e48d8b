"""PUT /companies/{id}."""

from __future__ import annotations

import json
import threading
from typing import Any

import httpx
import psycopg
import pytest

from tests.support.factories import NOON, Stage, make_stage
from tests.support.lock_waits import is_waited_for
from tests.support.reading_fixtures import Api
from tests.support.waiting import wait_until

ACME: dict[str, Any] = {"domain": "acme.com", "external_id": "A-1", "name": "Acme"}
NOTHING_GIVEN = "At least one of domain, external_id or name must be provided."


def put(api: Api, company_id: int, body: Any) -> httpx.Response:
    return api.send("PUT", f"/companies/{company_id}", content=json.dumps(body))


def change_company(api: Api, company_id: int, body: dict[str, Any]) -> dict[str, Any]:
    """Change a company, and check that the answer equals the stored row."""
    response = put(api, company_id, body)
    assert response.status_code == 200, response.text
    assert api.get(f"/companies/{company_id}").json() == response.json()
    return response.json()


def errors(api: Api, company_id: int, body: Any) -> dict[str, list[str]]:
    """Return the errors of a refused body, and check that nothing changed."""
    before = api.get(f"/companies/{company_id}").content
    response = put(api, company_id, body)
    assert response.status_code == 422, response.text
    assert api.get(f"/companies/{company_id}").content == before
    return response.json()["errors"]


@pytest.fixture
def acme(stage: Stage) -> int:
    return stage.company(**ACME)


def test_it_works(api: Api, acme: int) -> None:
    response = put(api, acme, {"domain": "acme.org", "external_id": "B-2", "name": "Acme Two"})
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert list(response.json().items()) == [
        ("id", acme),
        ("domain", "acme.org"),
        ("external_id", "B-2"),
        ("name", "Acme Two"),
    ]
    assert api.get(f"/companies/{acme}").json() == response.json()


@pytest.mark.parametrize(
    ("body", "difference"),
    [
        ({"domain": "x.com"}, {"domain": "x.com"}),
        ({"external_id": "x"}, {"external_id": "x"}),
        ({"name": "x"}, {"name": "x"}),
        ({"domain": None}, {"domain": None}),
        ({"external_id": None, "name": "x"}, {"external_id": None, "name": "x"}),
    ],
)
def test_what_is_not_given_stays(
    api: Api, acme: int, body: dict[str, Any], difference: dict[str, Any]
) -> None:
    assert change_company(api, acme, body) == {"id": acme, **ACME, **difference}


def test_unknown_keys_are_ignored(api: Api, acme: int) -> None:
    body = {"name": "x", "id": 1, "space_id": 1, "created_at": None, "note": [1]}
    assert change_company(api, acme, body) == {"id": acme, **ACME, "name": "x"}


@pytest.mark.parametrize("body", [{}, {"id": 7, "domains": "x.com", "Name": "x"}])
def test_something_known_is_needed(api: Api, acme: int, body: dict[str, Any]) -> None:
    response = put(api, acme, body)
    assert response.status_code == 422
    assert response.json() == {"message": NOTHING_GIVEN, "errors": {"body": [NOTHING_GIVEN]}}


@pytest.mark.parametrize("body", [[], "x", 1, None])
def test_other_bodies_are_refused(api: Api, acme: int, body: Any) -> None:
    assert errors(api, acme, body) == {"body": ["The body must be a JSON object."]}


# --------------------------------------------------------------------------------- the fields


@pytest.mark.parametrize(
    ("value", "stored_value"),
    [
        ("  ACME.Org \n", "acme.org"),
        ("acme.co.uk", "acme.co.uk"),
        ("acme-x.com.", "acme-x.com"),
        ("WWW.acme-x.com", "acme-x.com"),
        ("www.com", "www.com"),
        ("MÜNCHEN.de", "xn--mnchen-3ya.de"),
        ("www.xn--mnchen-3ya.de.", "xn--mnchen-3ya.de"),
        ("straße.de", "xn--strae-oqa.de"),
        ("  " + "a" * 63 + ".com ", "a" * 63 + ".com"),
        ("", None), (" \t ", None), (None, None),
    ],
)  # fmt: skip
def test_domains_are_accepted(api: Api, acme: int, value: str | None, stored_value: str | None) -> None:
    assert change_company(api, acme, {"domain": value})["domain"] == stored_value


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        *((text, "must be a domain below a public suffix, such as acme.com or acme.co.uk.") for text in
          ("a b.com", "a\tb", "a@acme.com", "https://acme.com", "acme.com/x", "a\u00a0b", "a\x7fb",
           "a\x85b", "a\x01b", ".", "-", "localhost", "com", "co.uk", "192.0.2.1", "acme.example",
           "shop.com:8080", "acme.com..", "a..com", "-a.com", "a" * 64 + ".com", "ü" * 255)),
        ("eu.acme.co.uk", "must be acme.co.uk: companies are grouped by their registrable domain."),
        *((text, "must be a company's own domain: anyone can have an address at gmail.com.") for text in
          ("gmail.com", "www.gmail.com", "mail.GMAIL.com")),
        ("a" * 256, "must be at most 255 characters long."),
        *((value, "must be a string or null.") for value in (1, 1.5, True, ["x.com"], {})),
    ],
)  # fmt: skip
def test_bad_domains_are_refused(api: Api, acme: int, value: Any, rule: str) -> None:
    assert errors(api, acme, {"domain": value}) == {"domain": [f"The domain {rule}"]}


@pytest.mark.parametrize(
    ("value", "stored_value"),
    [
        (" Ab-1 ", "Ab-1"), ("a b", "a b"), ("0042", "0042"), ("x" * 190, "x" * 190),
        (" " + "ü" * 190, "ü" * 190), (42, "42"), (0, "0"), (-7, "-7"),
        (18446744073709551616, "18446744073709551616"),
        ("", None), ("  ", None), (None, None),
    ],
)  # fmt: skip
def test_external_ids_are_accepted(api: Api, acme: int, value: Any, stored_value: str | None) -> None:
    assert change_company(api, acme, {"external_id": value})["external_id"] == stored_value


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        ("x" * 191, "must be at most 190 characters long."),
        (int("9" * 191), "must be at most 190 characters long."),
        *((value, "must be a string, an integer or null.")
          for value in (1.5, 1.0, True, False, ["x"], {"a": 1})),
    ],
)  # fmt: skip
def test_bad_external_ids_are_refused(api: Api, acme: int, value: Any, rule: str) -> None:
    assert errors(api, acme, {"external_id": value}) == {"external_id": [f"The external_id {rule}"]}


@pytest.mark.parametrize(
    ("value", "stored_value"), [(" Acme & Söhne ", "Acme & Söhne"), ("x", "x"), ("ü" * 255 + " ", "ü" * 255)]
)
def test_names_are_accepted(api: Api, acme: int, value: str, stored_value: str) -> None:
    assert change_company(api, acme, {"name": value})["name"] == stored_value


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        *((text, "must have 1 to 255 characters.") for text in ("", " \n ", "x" * 256)),
        *((value, "must be a string.") for value in (None, 1, 1.5, True, ["x"], {})),
    ],
)
def test_bad_names_are_refused(api: Api, acme: int, value: Any, rule: str) -> None:
    assert errors(api, acme, {"name": value, "domain": "x.com"}) == {"name": [f"The name {rule}"]}


def test_every_broken_rule_is_told(api: Api, acme: int) -> None:
    messages = errors(api, acme, {"domain": 1, "external_id": True, "name": None})
    assert list(messages) == ["domain", "external_id", "name"]


def test_text_that_cannot_be_stored_is_refused(api: Api, acme: int) -> None:
    assert errors(api, acme, {"name": "a\0b"}) == {"name": ["The name holds a NUL character."]}
    for raw in (b'{"external_id": "\\ud800"}', b'{"external_id": "\xff"}'):
        response = api.send("PUT", f"/companies/{acme}", content=raw)
        assert (response.status_code, list(response.json()["errors"])) == (422, ["external_id"])


# ------------------------------------------------------------------------------------- claims


@pytest.mark.parametrize(("field", "value"), [("domain", " ACME.com "), ("external_id", " A-1 ")])
def test_a_claim_of_another_company_is_a_conflict(
    api: Api, stage: Stage, acme: int, field: str, value: str
) -> None:
    other_company = stage.company(domain="other.com", external_id="O-1", name="Other")
    before = api.get(f"/companies/{other_company}").content
    everything = {"domain": "free.com", "external_id": "free", "name": "Free"}
    response = put(api, other_company, {**everything, field: value})
    assert response.status_code == 409
    assert list(response.json().items()) == [
        ("message", f"The {field} belongs to another company."),
        ("field", field),
        ("conflicting_company_id", acme),
    ]
    assert api.get(f"/companies/{other_company}").content == before
    assert api.get(f"/companies/{acme}").json() == {"id": acme, **ACME}


def test_of_two_conflicts_the_domain_is_told(api: Api, stage: Stage, acme: int) -> None:
    second = stage.company(external_id="B-2")
    third = stage.company()
    conflict = put(api, third, {"external_id": "B-2", "domain": "acme.com"}).json()
    assert (conflict["field"], conflict["conflicting_company_id"]) == ("domain", acme)
    conflict = put(api, third, {"external_id": "B-2", "domain": "x.com"}).json()
    assert (conflict["field"], conflict["conflicting_company_id"]) == ("external_id", second)


def test_an_integer_conflicts_with_its_digits(api: Api, stage: Stage, acme: int) -> None:
    other_company = stage.company(external_id="42")
    assert put(api, acme, {"external_id": 42}).json()["conflicting_company_id"] == other_company


@pytest.mark.usefixtures("acme")
def test_external_ids_differ_by_case(api: Api, stage: Stage) -> None:
    assert change_company(api, stage.company(), {"external_id": "a-1"})["external_id"] == "a-1"


def test_a_company_s_own_values_are_no_conflict(api: Api, acme: int) -> None:
    assert change_company(api, acme, ACME) == {"id": acme, **ACME}
    assert change_company(api, acme, {"domain": "ACME.COM"}) == {"id": acme, **ACME}


def test_several_companies_may_have_neither(api: Api, stage: Stage, acme: int) -> None:
    stage.company()
    company = change_company(api, acme, {"domain": None, "external_id": ""})
    assert (company["domain"], company["external_id"]) == (None, None)


def test_a_released_claim_can_be_taken(api: Api, stage: Stage, acme: int) -> None:
    other_company = stage.company()
    change_company(api, acme, {"domain": None, "external_id": None})
    company = change_company(api, other_company, {"domain": "acme.com", "external_id": "A-1"})
    assert (company["domain"], company["external_id"]) == ("acme.com", "A-1")


@pytest.mark.usefixtures("acme")
def test_the_same_values_in_another_space_are_no_conflict(
    client: httpx.Client, connection: psycopg.Connection
) -> None:
    other_stage = make_stage(connection)
    company = change_company(Api(client, other_stage.key), other_stage.company(), ACME)
    assert {name: company[name] for name in ACME} == ACME


def test_membership_and_stamps_stay(api: Api, stage: Stage, acme: int) -> None:
    contact_id = stage.contact(company_id=acme)
    event_id = stage.event(contact_id, company_id=acme)
    change_company(api, acme, {"domain": None, "external_id": None, "name": "Acme Two"})
    assert api.get(f"/events/{event_id}").json()["company_id"] == str(acme)
    rows = stage.connection.execute(
        "SELECT c.company_id, o.created_at FROM contacts c JOIN companies o"
        " ON o.space_id = c.space_id AND o.id = c.company_id WHERE c.space_id = %s",
        (stage.space_id,),
    ).fetchall()
    assert rows == [(acme, NOON)]


def test_it_waits_for_whoever_holds_the_space(api: Api, stage: Stage, acme: int, database_url: str) -> None:
    """A batch in progress may be creating a company with the requested domain."""
    answers: list[httpx.Response] = []
    thread = threading.Thread(target=lambda: answers.append(put(api, acme, {"domain": "new.com"})))
    with psycopg.connect(database_url) as batch:
        batch.execute("SELECT FROM space_locks WHERE space_id = %s FOR NO KEY UPDATE", (stage.space_id,))
        thread.start()
        wait_until(lambda: is_waited_for(stage.connection, batch))
        row = batch.execute(
            "INSERT INTO companies (space_id, domain, name, created_at)"
            " VALUES (%s, 'new.com', 'new.com', now()) RETURNING id",
            (stage.space_id,),
        ).fetchone()
        batch.commit()
    thread.join()
    assert row is not None
    assert answers[0].status_code == 409
    assert answers[0].json()["conflicting_company_id"] == row[0]


# ------------------------------------------------------------------------------------- access


@pytest.mark.usefixtures("acme")
def test_an_unknown_company(api: Api) -> None:
    for body in ({"name": "x"}, {"domain": "acme.com"}):
        response = put(api, 999999999999999999, body)
        assert (response.status_code, response.json()) == (404, {"message": "Company not found."})


@pytest.mark.usefixtures("acme")
def test_a_company_of_another_space_is_unknown(
    client: httpx.Client, api: Api, connection: psycopg.Connection
) -> None:
    other_stage = make_stage(connection)
    foreign_id = other_stage.company(**ACME)
    # This Space has a company with `acme.com`, which the answer must not reveal either.
    foreign, unknown = (put(api, company_id, ACME) for company_id in (foreign_id, 999999999999999999))
    assert foreign.status_code == unknown.status_code == 404
    assert foreign.content == unknown.content
    assert Api(client, other_stage.key).get(f"/companies/{foreign_id}").json()["name"] == "Acme"


def test_the_request_is_read_before_the_company(api: Api) -> None:
    assert put(api, 999999999999999999, {}).status_code == 422


def test_it_needs_the_scope(client: httpx.Client, connection: psycopg.Connection) -> None:
    reader = make_stage(connection, scopes=("companies:read", "contacts:write"))
    company_id = reader.company()
    refusal = put(Api(client, reader.key), company_id, {"name": "x"})
    assert refusal.status_code == 403
    assert "companies:write" in refusal.json()["message"]
    assert put(Api(client, "trk_sk_unknown"), company_id, {"name": "x"}).status_code == 401
