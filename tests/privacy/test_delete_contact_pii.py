"""DELETE /contacts/{id}/pii and DELETE /contacts/pii?email=: which requests are valid, and what is queued."""

from __future__ import annotations

from typing import Any

import httpx
import psycopg
import pytest

from tests.support.factories import Stage, make_stage
from tests.support.reading_fixtures import Api

MESSAGE = "The contact's personal data will be erased within minutes."


def erase(api: Api, path: str, **params: Any) -> httpx.Response:
    return api.send("DELETE", f"/contacts/{path}", params=params)


def queued_erasures(stage: Stage) -> list[tuple[Any, ...]]:
    """Return the Space's erasures: contact, attempts, and whether they are due and done."""
    return stage.connection.execute(
        "SELECT contact_id, attempts, retry_at <= now(), erased_at FROM erasures"
        " WHERE space_id = %s ORDER BY id",
        (stage.space_id,),
    ).fetchall()


def add_contact(stage: Stage, *emails: str) -> int:
    """Store a contact with these addresses."""
    contact_id = stage.contact(email=emails[0])
    for email in emails:
        stage.identifier(contact_id, "email", email)
    return contact_id


def test_it_works(api: Api, stage: Stage) -> None:
    contact_id = add_contact(stage, "ada@example.com")
    response = erase(api, f"{contact_id}/pii")
    assert response.status_code == 202
    assert response.headers["content-type"] == "application/json"
    assert response.json() == {"contact_id": contact_id, "status": "queued", "message": MESSAGE}
    assert queued_erasures(stage) == [(contact_id, 0, True, None)]


@pytest.mark.parametrize(
    "email",
    ["ada@example.com", "  ADA@Example.com ", "ada@old.example"],
    ids=["as it is", "trimmed and in any case", "an alternate one"],
)
def test_by_email(api: Api, stage: Stage, email: str) -> None:
    contact_id = add_contact(stage, "ada@example.com", "ada@old.example")
    add_contact(stage, "bob@example.com")
    response = erase(api, "pii", email=email)
    assert response.status_code == 202
    assert response.json() == {"contact_id": contact_id, "status": "queued", "message": MESSAGE}
    assert queued_erasures(stage) == [(contact_id, 0, True, None)]


def test_a_merged_contact_s_id_and_address_mean_the_survivor(api: Api, stage: Stage) -> None:
    survivor = add_contact(stage, "ada@example.com")
    merged_id = stage.contact(merged_into=survivor, email="ada@old.example")
    stage.identifier(survivor, "email", "ada@old.example", origin_id=merged_id)
    for response in (erase(api, f"{merged_id}/pii"), erase(api, "pii", email="ada@old.example")):
        assert (response.status_code, response.json()["contact_id"]) == (202, survivor)
    assert [row[0] for row in queued_erasures(stage)] == [survivor, survivor]


def replace_emails(api: Api, contact_id: int, *emails: str) -> None:
    response = api.send("PUT", f"/contacts/{contact_id}", json={"emails": emails})
    assert response.status_code == 200


@pytest.mark.parametrize("addresses", [["new@example.com"], []], ids=["replaced", "wiped"])
def test_an_address_the_contact_had(api: Api, stage: Stage, addresses: list[str]) -> None:
    contact_id = add_contact(stage, "ada@example.com")
    replace_emails(api, contact_id, *addresses)
    assert api.get("/contacts", params={"email": "ada@example.com"}).json()["data"] == []
    assert api.get("/contacts/by-email", params={"email": "ada@example.com"}).status_code == 404
    response = erase(api, "pii", email="Ada@Example.com")
    assert (response.status_code, response.json()["contact_id"]) == (202, contact_id)
    assert [row[0] for row in queued_erasures(stage)] == [contact_id]


def test_an_address_a_merged_contact_had(api: Api, stage: Stage) -> None:
    survivor = add_contact(stage, "ada@example.com")
    merged_id = stage.contact(merged_into=survivor, email="ada@old.example")
    stage.identifier(survivor, "email", "ada@old.example", origin_id=merged_id)
    replace_emails(api, survivor, "ada@new.example")
    for email in ("ada@example.com", "ada@old.example", "ada@new.example"):
        assert erase(api, "pii", email=email).json()["contact_id"] == survivor


def test_an_address_one_had_and_another_has_is_a_conflict(api: Api, stage: Stage) -> None:
    former, current = add_contact(stage, "both@example.com"), add_contact(stage, "both@example.com")
    replace_emails(api, former, "only@example.com")
    response = erase(api, "pii", email="both@example.com")
    assert response.status_code == 409
    assert response.json() == {
        "message": "Several contacts have or had this e-mail address.",
        "contact_ids": [former, current],
    }
    assert queued_erasures(stage) == []


def test_an_address_replaced_and_taken_back_and_replaced(api: Api, stage: Stage) -> None:
    contact_id = add_contact(stage, "ada@example.com")
    for email in ("new@example.com", "ada@example.com", "new@example.com"):
        replace_emails(api, contact_id, email)
        for address in ("new@example.com", "ada@example.com"):
            assert erase(api, "pii", email=address).json()["contact_id"] == contact_id


def test_the_mark_is_after_every_receipt_and_before_the_next(api: Api, stage: Stage) -> None:
    event = {"event_name": "purchase", "email": "ada@example.com"}

    def receipt() -> int:
        return int(api.send("POST", "/events/track", json=event).headers["x-receipt-id"])

    before = receipt()
    assert erase(api, f"{stage.contact()}/pii").status_code == 202
    after = receipt()
    row = stage.connection.execute(
        "SELECT receipt_mark FROM erasures WHERE space_id = %s", (stage.space_id,)
    ).fetchone()
    assert row is not None
    assert before < row[0] < after


def test_several_contacts_are_a_conflict_and_nothing_is_queued(api: Api, stage: Stage) -> None:
    contacts = [add_contact(stage, "info@example.com") for _ in range(3)]
    merged_id = stage.contact(merged_into=contacts[0])
    stage.identifier(contacts[0], "email", "info@example.com", origin_id=merged_id)
    response = erase(api, "pii", email="info@example.com")
    assert response.status_code == 409
    assert response.json() == {
        "message": "Several contacts have or had this e-mail address.",
        "contact_ids": contacts,
    }
    assert queued_erasures(stage) == []


@pytest.mark.parametrize("path", ["999999999999999999/pii", "pii?email=nobody@example.com"])
def test_an_unknown_contact(api: Api, stage: Stage, path: str) -> None:
    response = api.send("DELETE", f"/contacts/{path}")
    assert (response.status_code, response.json()) == (404, {"message": "Contact not found."})
    assert queued_erasures(stage) == []


def test_a_contact_of_another_space_is_unknown(
    api: Api, stage: Stage, connection: psycopg.Connection
) -> None:
    other_stage = make_stage(connection)
    contact_id = add_contact(other_stage, "ada@example.com")
    unknown = erase(api, "999999999999999999/pii")
    for response in (erase(api, f"{contact_id}/pii"), erase(api, "pii", email="ada@example.com")):
        assert (response.status_code, response.content) == (404, unknown.content)
    assert queued_erasures(stage) == queued_erasures(other_stage) == []


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("pii", {"email": ["The email is required."]}),
        ("pii?email=", {"email": ["The email is required."]}),
        ("pii?email=%20", {"email": ["The email is required."]}),
        ("pii?id=1", {"email": ["The email is required."]}),
        ("pii?email=ada", {"email": ["The email must be a valid e-mail address."]}),
        ("pii?email=a@b.org,c@d.org", {"email": ["The email must be a valid e-mail address."]}),
        ("pii?email=a@b.org&email=c@d.org", {"email": ["The email must be a single value."]}),
        ("pii?email[]=a@b.org", {"email": ["The email must be a single value."]}),
        ("pii?email=%ff", {"email": ["The email must be valid UTF-8."]}),
        ("pii?email=a%00@b.org", {"email": ["The email must not contain NUL characters."]}),
        ("{id}/pii?email=a@b.org", {"email": ["The email must not be given beside an id."]}),
        ("{id}/pii?email=ada", {"email": ["The email must not be given beside an id."]}),
        ("0/pii", {"id": ["The id must be 1 or more."]}),
    ],
)
def test_exactly_one_of_id_and_email(api: Api, stage: Stage, path: str, error: dict[str, list[str]]) -> None:
    contact_id = add_contact(stage, "a@b.org")
    response = api.send("DELETE", f"/contacts/{path.format(id=contact_id)}")
    assert response.status_code == 422
    first_rules = {name: rules[:1] for name, rules in response.json()["errors"].items()}
    assert first_rules == error
    assert queued_erasures(stage) == []


@pytest.mark.parametrize(
    "text", ["abc", "-1", "+5", "1_000", "%20" + "12", "1.0", "9" * 19, "١٢", "1%0A", "%ff", "1%00"]
)
def test_other_ids_are_invalid(api: Api, text: str) -> None:
    response = api.send("DELETE", f"/contacts/{text}/pii")
    assert response.status_code == 422
    assert list(response.json()["errors"]) == ["id"]


def test_a_blank_email_beside_an_id_counts_as_absent(api: Api, stage: Stage) -> None:
    assert erase(api, f"{stage.contact()}/pii", email="").status_code == 202


def test_it_needs_the_scope(client: httpx.Client, connection: psycopg.Connection) -> None:
    writer = make_stage(connection, scopes=("contacts:read", "contacts:write"))
    contact_id = add_contact(writer, "ada@example.com")
    api = Api(client, writer.key)
    for response in (erase(api, f"{contact_id}/pii"), erase(api, "pii", email="ada@example.com")):
        assert response.status_code == 403
        assert "contacts:delete" in response.json()["message"]
    assert queued_erasures(writer) == []


def test_both_forms_share_a_limit(api: Api, stage: Stage) -> None:
    contact_id = add_contact(stage, "ada@example.com")
    responses = [erase(api, f"{contact_id}/pii"), erase(api, "pii", email="ada@example.com")]
    reset, remaining_calls = (
        [int(response.headers[f"x-ratelimit-{name}"]) for response in responses]
        for name in ("reset", "remaining")
    )
    if reset[0] == reset[1]:  # otherwise a minute ended in between
        assert remaining_calls[1] == remaining_calls[0] - 1
