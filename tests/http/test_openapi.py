"""The OpenAPI document: complete, valid, and generated only from the operations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from headwater.api.operations import OPERATIONS, RATE_LIMITS
from headwater.endpoints.operations import Operation
from headwater.http.openapi import PROBLEMS
from tests.conftest import Running

API = "/public-api/v1"
LIMIT_HEADERS = {"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"}

FILES = {
    "create_event_import", "create_order_import", "create_contact_import", "create_touchpoint_import",
    "create_spend_import", "create_ad_import",
}  # fmt: skip
"""Operations whose body is a file."""
ASYNCHRONOUS = {
    "create_event", "create_events", "create_touchpoints", "delete_contact_pii",
    "delete_contact_pii_by_email", "create_event_export", "create_contact_export",
    "create_company_export", "create_export_runs", *FILES,
}  # fmt: skip
"""Operations that return before their work is done."""
CREATING = {
    "create_contact", "create_destination", "create_export_schedule", "create_spend_connection",
    "create_trained_model", "create_watched_file",
}  # fmt: skip
FINDING = {"find_contact_by_email", "delete_contact_pii_by_email"}
"""Operations whose query refers to something that may not exist."""
IDEMPOTENT = {"delete_event"}
"""Operations that return the same for a missing thing as for an existing one."""
CONFLICTS = {
    "delete_contact_pii_by_email": ["message", "contact_ids"],
    "update_company": ["message", "field", "conflicting_company_id"],
    "get_contact_by_email": ["message", "contact_ids"],
    "find_contact_by_email": ["message", "contact_ids"],
    **{name: ["message"] for name in sorted(FILES)},
}
"""The operations that can conflict, and the members of that answer."""
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


def answer_schema(response: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    schema = response["content"]["application/json"]["schema"]
    name = schema.get("$ref", "").rpartition("/")[2]
    return document["components"]["schemas"][name] if name else schema


def test_it_works(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    assert (document["info"]["title"], document["info"]["version"]) == ("v1", "1.3.0")
    assert document["security"] == [{"key": []}]
    assert document["components"]["securitySchemes"]["key"]["scheme"] == "bearer"


def test_it_is_sound(document: dict[str, Any]) -> None:
    import schemathesis  # noqa: PLC0415 - slow to import, so not in every process

    schemathesis.openapi.from_dict(document).validate()


def test_every_route_is_in_it_and_nothing_else(document: dict[str, Any]) -> None:
    routes = {(operation.method, API + operation.path) for operation in OPERATIONS}
    assert {(method, path) for method, path, _ in operations(document)} == routes
    assert len(routes) == len(OPERATIONS)


def test_every_status_is_in_it(document: dict[str, Any]) -> None:
    described_statuses = {
        operation["operationId"]: {int(status) for status in operation["responses"]}
        for _, _, operation in operations(document)
    }
    assert described_statuses == {operation.id: statuses(operation) for operation in OPERATIONS}


def statuses(operation: Operation) -> set[int]:
    """Return the statuses that an operation can return, from its properties."""
    names_something = bool(operation.path_parameters) or operation.id in FINDING
    rules = {
        202: operation.id in ASYNCHRONOUS,
        201: operation.id in CREATING,
        200: operation.id not in ASYNCHRONOUS | CREATING,
        404: names_something and operation.id not in IDEMPOTENT,
        409: operation.id in CONFLICTS,
        413: operation.body is not None,
        415: operation.body is not None,
    }
    return OF_ALL | {status for status, applies in rules.items() if applies}


def test_answers_in_csv_are_in_it(document: dict[str, Any]) -> None:
    with_csv = {
        path
        for _, path, operation in operations(document)
        for status, response in operation["responses"].items()
        if status == "200" and "text/csv" in response["content"]
    }
    reports = {path for path in document["paths"] if path.startswith(f"{API}/reports")}
    assert with_csv == reports


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    references = set(re.findall(r'"\$ref": "#/components/(\w+)/(\w+)"', json.dumps(document)))
    assert references
    for kind, name in references:
        assert name in document["components"][kind]
    components = {(kind, name) for kind in ("responses", "schemas")
                  for name in document["components"][kind]}  # fmt: skip
    assert components == references


def test_nothing_of_the_framework_s_own_errors_leaks_in(document: dict[str, Any]) -> None:
    assert "HTTPValidationError" not in document["components"]["schemas"]
    schema = document["components"]["schemas"]["ValidationError"]
    assert schema["required"] == ["message"]
    assert list(schema["properties"]) == ["message", "errors", "reason"]


def test_errors_and_limits_are_described(document: dict[str, Any]) -> None:
    responses = document["components"]["responses"]
    for response in responses.values():
        schema = response["content"]["application/json"]["schema"]["$ref"]
        assert schema.endswith(("/Error", "/ValidationError"))
    assert set(responses["RateLimited"]["headers"]) == {*LIMIT_HEADERS, "Retry-After"}
    assert set(responses["Unavailable"]["headers"]) == {"Retry-After"}
    for name in ("Forbidden", "NotFound", "TooLarge", "UnsupportedEncoding", "Invalid"):
        assert set(responses[name]["headers"]) == LIMIT_HEADERS
    assert set(responses["Unauthorized"]["headers"]) == {"WWW-Authenticate"}
    for _, _, operation in operations(document):
        good = [response for status, response in operation["responses"].items() if int(status) < 400]
        assert all(set(response["headers"]) >= LIMIT_HEADERS for response in good)
    assert RATE_LIMITS  # every operation must have a rate limit bucket, or it couldn't be called


def test_a_conflict_is_the_operation_s_own(document: dict[str, Any]) -> None:
    """The members next to `message` differ, so no operation may use a shared response."""
    assert "409" not in {str(status) for status in PROBLEMS}
    conflicts = {
        operation["operationId"]: operation["responses"]["409"]
        for _, _, operation in operations(document)
        if "409" in operation["responses"]
    }
    for response in conflicts.values():
        assert set(response["headers"]) == LIMIT_HEADERS
    schemas = {name: answer_schema(response, document) for name, response in conflicts.items()}
    assert {name: schema["required"] for name, schema in schemas.items()} == CONFLICTS
    assert all(list(schema["properties"]) == schema["required"] for schema in schemas.values())


def test_every_operation_is_named_and_told(document: dict[str, Any]) -> None:
    for _, path, operation in operations(document):
        assert operation["summary"], path
        assert operation["tags"], path
        for parameter in operation.get("parameters", []):
            assert parameter["description"], (path, parameter["name"])


def test_example_dates_are_a_range(document: dict[str, Any]) -> None:
    for method, path, operation in operations(document):
        examples = {
            parameter["name"]: parameter["schema"].get("example", "")
            for parameter in operation.get("parameters", [])
            if parameter["name"] in ("start_date", "end_date")
        }
        assert not any(examples.values()) or examples["start_date"] < examples["end_date"], (method, path)
