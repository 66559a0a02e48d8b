"""The OpenAPI document: complete, sound, and told apart from what the framework would say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from fastapi.routing import APIRoute

from headwater.app import ROUTERS
from headwater.http.openapi import PROBLEMS
from headwater.http.rate_limits import PER_MINUTE
from headwater.ingest.schemas import INGEST_PATHS
from tests.conftest import Running

API = "/public-api/v1"
LIMIT_HEADERS = {"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"}

STATUSES = {
    "create_event": {202, 413, 415},
    "create_events": {202, 413, 415},
    "create_touchpoints": {202, 413, 415},
    "list_events": {200},
    "get_event": {200, 404},
    "update_event": {200, 404, 413, 415},
    "delete_event": {200},
    "get_receipt": {200, 404},
    "create_contact": {201, 413, 415},
    "update_contact": {200, 404, 413, 415},
    "attach_contact_company": {200, 404, 413, 415},
    "detach_contact_company": {200, 404},
    "delete_contact_pii": {202, 404},
    "delete_contact_pii_by_email": {202, 404, 409},
    "list_ads": {200},
    "put_ads": {200, 413, 415},
    "list_companies": {200},
    "get_company": {200, 404},
    "update_company": {200, 404, 409, 413, 415},
    "list_contacts": {200},
    "get_contact": {200, 404},
    "get_contact_by_email": {200, 404, 409},
    "find_contact_by_email": {200, 404, 409},
    "list_platforms": {200},
    "list_destinations": {200},
    "create_destination": {201, 413, 415},
    "get_destination": {200, 404},
    "update_destination": {200, 404, 413, 415},
    "delete_destination": {200, 404},
    **{f"{verb}_destination": {200, 404} for verb in ("pause", "resume", "test")},
    "list_deliveries": {200, 404},
    "list_event_deliveries": {200, 404},
    "get_delivery": {200, 404},
    "replay_deliveries": {200, 404, 413, 415},
    **{f"create_{kind}_export": {202, 413, 415} for kind in ("event", "contact", "company")},
    **{f"get_{kind}_export": {200, 404} for kind in ("event", "contact", "company")},
}
CONFLICTS = {
    "delete_contact_pii_by_email": ["message", "contact_ids"],
    "update_company": ["message", "field", "conflicting_company_id"],
    "get_contact_by_email": ["message", "contact_ids"],
    "find_contact_by_email": ["message", "contact_ids"],
}
"""The operations that can conflict, and what the answer then holds."""
OF_ALL = {400, 401, 403, 414, 422, 429, 431, 503}


@pytest.fixture(scope="module")
def document(server: Running) -> dict[str, Any]:
    response = httpx.get(f"{server.base_url}{API}/openapi.json")
    assert response.headers["content-type"] == "application/json"
    return response.json()


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def test_it_works(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    assert (document["info"]["title"], document["info"]["version"]) == ("v1", "1.3.0")
    assert document["security"] == [{"key": []}]
    assert document["components"]["securitySchemes"]["key"]["scheme"] == "bearer"


def test_it_is_sound(document: dict[str, Any]) -> None:
    schemathesis.openapi.from_dict(document).validate()


def test_every_route_is_in_it_and_nothing_else(document: dict[str, Any]) -> None:
    routes = {
        (method, API + route.path_format)
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods
    }
    ingest = {(method.upper(), path) for path, told in INGEST_PATHS.items() for method in told}
    assert {(method, path) for method, path, _ in operations(document)} == routes | ingest


def test_every_status_is_in_it(document: dict[str, Any]) -> None:
    told = {
        operation["operationId"]: {int(status) for status in operation["responses"]}
        for _, _, operation in operations(document)
    }
    assert told == {name: statuses | OF_ALL for name, statuses in STATUSES.items()}


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    references = set(re.findall(r'"\$ref": "#/components/(\w+)/(\w+)"', json.dumps(document)))
    assert references
    for kind, name in references:
        assert name in document["components"][kind]
    kept = {(kind, name) for kind in ("responses", "schemas")
            for name in document["components"][kind]}  # fmt: skip
    assert kept == references


def test_nothing_of_the_framework_s_own_errors_leaks_in(document: dict[str, Any]) -> None:
    assert "HTTPValidationError" not in document["components"]["schemas"]
    assert document["components"]["schemas"]["ValidationError"]["required"] == ["message", "errors"]


def test_errors_and_limits_are_described(document: dict[str, Any]) -> None:
    responses = document["components"]["responses"]
    for response in responses.values():
        schema = response["content"]["application/json"]["schema"]["$ref"]
        assert schema.endswith(("/Error", "/ValidationError"))
    assert set(responses["RateLimited"]["headers"]) == {*LIMIT_HEADERS, "Retry-After"}
    assert set(responses["Unavailable"]["headers"]) == {"Retry-After"}
    assert set(responses["Unauthorized"]["headers"]) == {"WWW-Authenticate"}
    for _, _, operation in operations(document):
        good = [each for status, each in operation["responses"].items() if int(status) < 400]
        assert all(set(each["headers"]) >= LIMIT_HEADERS for each in good)
    assert PER_MINUTE  # every operation is limited: it has a bucket, or could not be called


def test_a_conflict_is_the_operation_s_own(document: dict[str, Any]) -> None:
    """What stands beside `message` differs, so no operation may leave it to a common response."""
    assert "409" not in {str(status) for status in PROBLEMS}
    told = {
        operation["operationId"]: operation["responses"]["409"]
        for _, _, operation in operations(document)
        if "409" in operation["responses"]
    }
    for response in told.values():
        assert set(response["headers"]) == LIMIT_HEADERS
    schemas = {
        name: response["content"]["application/json"]["schema"] for name, response in told.items()
    }
    assert {name: schema["required"] for name, schema in schemas.items()} == CONFLICTS
    assert all(list(schema["properties"]) == schema["required"] for schema in schemas.values())


def test_every_operation_is_named_and_told(document: dict[str, Any]) -> None:
    for _, path, operation in operations(document):
        assert operation["summary"], path
        assert operation["tags"], path
        for parameter in operation.get("parameters", []):
            assert parameter["description"], (path, parameter["name"])
