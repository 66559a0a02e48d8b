"""Generate the OpenAPI document from the operations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from headwater.endpoints.operations import Operation, PathParameter, Schema
from headwater.http.answers import describe_answer, describe_components
from headwater.http.openapi import CONFLICT, PROBLEMS, TEXT

TITLE = "v1"
VERSION = "1.3.0"
OF_ANY_REQUEST = (400, 414, 431)

_ERRORS = {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}}
# Generated clients have no type for an `anyOf` that says whether `errors` or `reason` is there.
_SCHEMAS: dict[str, Any] = {
    "Error": {"type": "object", "required": ["message"], "properties": {"message": TEXT}},
    "ValidationError": {
        "type": "object",
        "required": ["message"],
        "properties": {"message": TEXT, "errors": _ERRORS, "reason": TEXT},
    },
}
_WHOLE_NUMBER = {"type": "integer", "minimum": 0}
_LIMITS = {
    "X-RateLimit-Limit": "What the Space may do in a minute.",
    "X-RateLimit-Remaining": "What is left of it.",
    "X-RateLimit-Reset": "When the next minute begins, in Unix seconds.",
}
_LIMIT_HEADERS: dict[str, Any] = {
    name: {"description": description, "required": True, "schema": _WHOLE_NUMBER}
    for name, description in _LIMITS.items()
}
_RETRY: dict[str, Any] = {
    "Retry-After": {"description": "Seconds to wait.", "required": True, "schema": _WHOLE_NUMBER}
}
_CHALLENGE: dict[str, Any] = {
    "WWW-Authenticate": {"required": True, "schema": {"type": "string", "const": "Bearer"}}
}
_HEADERS = {
    401: _CHALLENGE,
    403: _LIMIT_HEADERS,
    404: _LIMIT_HEADERS,
    413: _LIMIT_HEADERS,
    415: _LIMIT_HEADERS,
    422: _LIMIT_HEADERS,
    429: _LIMIT_HEADERS | _RETRY,
    503: _RETRY,
}


def build_document(
    operations: Iterable[Operation], prefix: str, schemas: Mapping[str, Schema]
) -> dict[str, Any]:
    """Return the document of the operations below `prefix`; their bodies refer to `schemas` by name."""
    operations = [*operations]
    answers = [answer for operation in operations for answer in (operation.answer, operation.conflict)]
    components = describe_components(answer for answer in answers if isinstance(answer, type))
    paths: dict[str, dict[str, Schema]] = {}
    for operation in operations:
        path_item = paths.setdefault(prefix + operation.path, {})
        path_item[operation.method.lower()] = _describe(operation)
    document: Schema = {
        "openapi": "3.1.0",
        "info": {"title": TITLE, "version": VERSION},
        "paths": dict(sorted(paths.items())),
        "components": {
            "responses": {name: _problem(status) for status, (name, _) in PROBLEMS.items()},
            "schemas": {**_SCHEMAS, **schemas, **components},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"key": []}],
    }
    return _copy(document)


def _copy(value: Any) -> Any:
    """Return an independent copy of a part of the document, without null members. Adding an example to an
    operation must not change another one or the tables.
    """
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        return {name: _copy(member) for name, member in members.items() if member is not None}
    if isinstance(value, list | tuple):
        return [_copy(item) for item in cast("Sequence[Any]", value)]
    return value


def _describe(operation: Operation) -> Schema:
    operation_object: Schema = {
        "tags": [operation.tag],
        "summary": operation.summary,
        "operationId": operation.id,
        "responses": _responses(operation),
    }
    if description := operation.describe():
        operation_object["description"] = description
    path_parameters = [_parameter(parameter) for parameter in operation.path_parameters]
    if parameters := [*path_parameters, *operation.parameters]:
        operation_object["parameters"] = parameters
    if operation.body is not None:
        operation_object["requestBody"] = operation.body
    return operation_object


def _parameter(parameter: PathParameter) -> Schema:
    texts = {"title": parameter.name.replace("_", " ").title(), "description": parameter.description}
    return {
        "name": parameter.name,
        "in": "path",
        "required": True,
        "description": parameter.description,
        "schema": {"type": "string", **texts, **parameter.schema},
    }


def _responses(operation: Operation) -> Schema:
    common_members = {"headers": operation.headers, "links": operation.links}
    answer = _describe_answer(operation.answer)
    if operation.text_types:
        texts = {media_type: {"schema": TEXT} for media_type in operation.text_types}
        answer = {**answer, "content": {**answer["content"], **texts}}
    responses = {operation.status: common_members | answer}
    if operation.conflict is not None:
        responses[CONFLICT] = _describe_answer(operation.conflict)
    shared_statuses = sorted({*operation.error_statuses(), *OF_ANY_REQUEST})
    return {str(status): _limited(response) for status, response in responses.items()} | {
        str(status): {"$ref": f"#/components/responses/{PROBLEMS[status][0]}"} for status in shared_statuses
    }


def _describe_answer(answer: type[Struct] | Schema) -> Schema:
    return describe_answer(answer) if isinstance(answer, type) else answer


def _limited(response: Schema) -> Schema:
    return {**response, "headers": {**response.get("headers", {}), **_LIMIT_HEADERS}}


def _problem(status: int) -> Schema:
    schema = "ValidationError" if status == 422 else "Error"
    return {
        "description": PROBLEMS[status][1],
        "headers": _HEADERS.get(status, {}),
        "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}},
    }
