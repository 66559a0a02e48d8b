"""GET /companies/{id}."""

from __future__ import annotations

import httpx
import psycopg
import pytest

from tests.support.factories import Stage, make_stage
from tests.support.reading_fixtures import Api


def test_it_works(api: Api, stage: Stage) -> None:
    company_id = stage.company(domain="acme.com", external_id="A-1", name="Acme GmbH")
    response = api.get(f"/companies/{company_id}")
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert list(response.json().items()) == [
        ("id", company_id),
        ("domain", "acme.com"),
        ("name", "Acme GmbH"),
        ("external_id", "A-1"),
    ]


def test_absent_claims_are_null(api: Api, stage: Stage) -> None:
    company = api.get(f"/companies/{stage.company()}").json()
    assert (company["domain"], company["external_id"]) == (None, None)


def test_values_come_as_they_are_stored(api: Api, stage: Stage) -> None:
    name = 'Müller & "Söhne" \\ 東京\t'
    company_id = stage.company(external_id=" 007", name=name)
    company = api.get(f"/companies/{company_id}").json()
    assert (company["external_id"], company["name"]) == (" 007", name)


def test_an_unknown_id(api: Api) -> None:
    response = api.get("/companies/999999999999999999")
    assert response.status_code == 404
    assert response.json() == {"message": "Company not found."}


@pytest.mark.parametrize(
    "text", ["abc", "-1", "+5", "1_000", "%20" + "12", "1.0", "9" * 19, "١٢", "1%0A", "%ff", "1%00"]
)
@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_other_ids_are_invalid(api: Api, method: str, text: str) -> None:
    response = api.send(method, f"/companies/{text}")
    assert response.status_code == 422
    assert response.json()["errors"] == {"id": ["The id must be an integer of at most 18 digits."]}


def test_a_company_of_another_space_is_unknown(api: Api, connection: psycopg.Connection) -> None:
    company_id = make_stage(connection).company()
    foreign, unknown = api.get(f"/companies/{company_id}"), api.get("/companies/999999999999999999")
    assert foreign.status_code == unknown.status_code == 404
    assert foreign.content == unknown.content


def test_it_needs_the_scope(client: httpx.Client, connection: psycopg.Connection) -> None:
    writer = make_stage(connection, scopes=("companies:write", "events:read"))
    path = f"/companies/{writer.company()}"
    refusal = Api(client, writer.key).get(path)
    assert refusal.status_code == 403
    assert "companies:read" in refusal.json()["message"]
    assert Api(client, "trk_sk_unknown").get(path).status_code == 401
