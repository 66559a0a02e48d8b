"""One Space never sees or touches another: every operation of the document that takes an id or a
cursor is tried with those of another Space. An operation without a row here fails the test.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import psycopg
import pytest

from tests.conftest import Running, client_for
from tests.factories import Stage, make_stage

UNKNOWN = "999999999999999999"
RANGE = {"start_date": "2026-01-01 00:00:00", "end_date": "2026-12-31 23:59:59"}
TENANT_TABLES = """
SELECT c.table_name FROM information_schema.columns c JOIN information_schema.tables t
    USING (table_schema, table_name)
WHERE c.table_schema = 'public' AND c.column_name = 'space_id' AND t.table_type = 'BASE TABLE'
    AND c.table_name <> 'rate_limits'
ORDER BY 1
"""
EVENT = {"event_name": "purchase", "email": "ada@example.com"}

TAKES_AN_ID: dict[str, tuple[int, dict[str, Any] | None]] = {
    "get_event": (404, None),
    "update_event": (404, {"amount": 1}),
    "delete_event": (200, None),
    "get_receipt": (404, None),
    "update_contact": (404, {"names": ["Eve"]}),
    "attach_contact_company": (404, {"company_id": 1}),
    "detach_contact_company": (404, None),
    "get_contact": (404, None),
    "get_contact_by_email": (404, None),
}
"""What an unknown id is answered with, and the body to send."""

TAKES_A_CURSOR = {"list_events", "list_contacts"}
TAKES_NEITHER = {"create_event", "create_events", "create_contact", "find_contact_by_email"}

ADDRESS, NOBODY_S_ADDRESS = "grace@example.com", "nobody@example.com"
"""One that only a contact of the second Space has, and an unknown one."""


@dataclass(frozen=True)
class Operation:
    """An operation of the document."""

    method: str
    path: str
    name: str
    parameters: list[dict[str, Any]]


@dataclass(frozen=True)
class Two:
    """Two Spaces, the second with an event of a contact, and a client of the first."""

    mine: httpx.Client
    other: Stage
    others: httpx.Client
    event_id: int
    contact_id: int


@pytest.fixture
def two(server: Running, connection: psycopg.Connection, stage: Stage) -> Iterator[Two]:
    other = make_stage(connection)
    for each in (stage, other):
        for _ in range(2):
            contact_id = each.contact(company_id=each.company())
        each.touchpoint(contact_id, "google_ads")
        event_id = [each.event(contact_id, amount=5) for _ in range(3)][-1]
    other.identifier(contact_id, "email", ADDRESS)
    with client_for(server, stage.key) as mine, client_for(server, other.key) as others:
        yield Two(mine, other, others, event_id, contact_id)


@pytest.fixture(scope="module")
def operations(server: Running) -> dict[str, Operation]:
    paths = httpx.get(f"{server.base_url}/public-api/v1/openapi.json").json()["paths"]
    found = [
        Operation(method.upper(), path.removeprefix("/public-api/v1"), told["operationId"],
                  told.get("parameters", []))
        for path, methods in paths.items()
        for method, told in methods.items()
    ]  # fmt: skip
    return {operation.name: operation for operation in found}


def rows_of(stage: Stage) -> dict[str, list[Any]]:
    """Everything stored for a Space."""
    tables = [name for (name,) in stage.connection.execute(TENANT_TABLES).fetchall()]
    assert {"events", "contacts", "inbox", "api_keys"} <= set(tables)
    query = "SELECT t::text FROM {} t WHERE space_id = %s ORDER BY 1"
    return {
        table: stage.connection.execute(query.format(table), (stage.space_id,)).fetchall()
        for table in tables
    }


def test_every_operation_has_its_row(operations: dict[str, Operation]) -> None:
    with_id = {name for name, each in operations.items() if "{" in each.path}
    with_cursor = {
        name
        for name, each in operations.items()
        if any(parameter["name"] == "cursor" for parameter in each.parameters)
    }
    assert with_id == set(TAKES_AN_ID)
    assert with_cursor == TAKES_A_CURSOR
    assert set(operations) == with_id | with_cursor | TAKES_NEITHER


@pytest.mark.parametrize("name", TAKES_AN_ID)
def test_the_id_of_another_space_is_like_an_unknown_one(
    two: Two, operations: dict[str, Operation], name: str
) -> None:
    status, body = TAKES_AN_ID[name]
    operation = operations[name]
    before_id, _, after_id = re.split(r"(\{\w+\})", operation.path)
    foreign_id = foreign_ids(two)[before_id]
    before = rows_of(two.other)
    foreign, unknown = (
        two.mine.request(operation.method, f"{before_id}{each}{after_id}", json=body)
        for each in (foreign_id, NOBODY_S_ADDRESS if foreign_id == ADDRESS else UNKNOWN)
    )
    assert foreign.status_code == unknown.status_code == status
    assert foreign.content == unknown.content
    assert foreign.headers.keys() == unknown.headers.keys()
    assert rows_of(two.other) == before


def foreign_ids(two: Two) -> dict[str, int | str]:
    """Ids that are good in the other Space, by what stands before them in a path."""
    receipt = two.others.post("/events/track", json=EVENT).headers["x-receipt-id"]
    assert two.others.get(f"/receipts/{receipt}").status_code == 200
    return {
        "/events/": two.event_id, "/receipts/": int(receipt), "/contacts/": two.contact_id,
        "/contacts/by-email/": ADDRESS,
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted(TAKES_A_CURSOR))
def test_the_cursor_of_another_space_is_like_a_made_up_one(
    two: Two, operations: dict[str, Operation], name: str
) -> None:
    path = operations[name].path
    given = two.others.get(path, params={**RANGE, "per_page": 1}).json()["next_cursor"]
    own = two.others.get(path, params={**RANGE, "per_page": 1, "cursor": given})
    assert (own.status_code, len(own.json()["data"])) == (200, 1)
    foreign, made_up = (
        two.mine.get(path, params={**RANGE, "per_page": 1, "cursor": cursor})
        for cursor in (given, "A" * len(given))
    )
    assert foreign.status_code == made_up.status_code == 422
    assert foreign.content == made_up.content


def test_a_list_holds_only_its_own_space(two: Two) -> None:
    fields = ["id", "space_id", "profile_id"]
    credited = {"sources": "google_ads", "attribution_model": "linear", "attribution_window": 0}
    for asked in ({}, credited, {**credited, "query_mode": "company"}):
        params = {**RANGE, **asked, "fields": fields, "space_id": two.other.space_id}
        response = two.mine.get("/events", params=params)
        assert response.status_code == 200
        rows = response.json()["data"]
        assert len(rows) == 3
        assert {row["space_id"] for row in rows}.isdisjoint({str(two.other.space_id)})
        assert two.event_id not in {row["id"] for row in rows}


def test_an_address_of_another_space_is_unknown(two: Two) -> None:
    for path in (f"/contacts/by-email/{ADDRESS}", f"/contacts/by-email?email={ADDRESS}"):
        assert two.others.get(path).json()["id"] == two.contact_id
        assert two.mine.get(path).status_code == 404
    assert len(two.others.get("/contacts", params={"email": ADDRESS}).json()["data"]) == 1
    assert two.mine.get("/contacts", params={"email": ADDRESS}).json()["data"] == []


@pytest.mark.parametrize("path", ["/events/track", "/events/batch"])
def test_a_space_named_in_a_request_is_not_heard(
    two: Two, stage: Stage, connection: psycopg.Connection, path: str
) -> None:
    before = rows_of(two.other)
    naming = {"space_id": two.other.space_id, "id": two.event_id, "contact_id": 1, "company_id": 1}
    event = {**EVENT, **naming}
    body = {**naming, "events": [event]} if path.endswith("batch") else event
    response = two.mine.post(path, json=body, params={"space_id": two.other.space_id})
    assert response.status_code == 202
    stored = connection.execute(
        "SELECT count(*) FROM inbox WHERE space_id = %s", (stage.space_id,)
    ).fetchone()
    assert stored == (1,)
    assert rows_of(two.other) == before


def test_a_change_reaches_only_its_own_space(two: Two) -> None:
    before = rows_of(two.other)
    mine = two.mine.get("/events", params={**RANGE, "per_page": 1}).json()["data"][0]["id"]
    body = {"amount": 1, "space_id": two.other.space_id, "id": two.event_id}
    assert two.mine.put(f"/events/{mine}", json=body).status_code == 200
    assert two.mine.get(f"/events/{mine}").json()["amount"] == 1
    assert two.mine.delete(f"/events/{mine}", params={"id": two.event_id}).status_code == 200
    assert rows_of(two.other) == before
