"""The machine-readable description: what the routes say of themselves, and the shared parts."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

PROBLEMS = {
    400: ("BadRequest", "The request is not valid HTTP."),
    401: ("Unauthorized", "Missing or invalid API key."),
    403: ("Forbidden", "The key lacks the scope, or the Space's subscription is inactive."),
    404: ("NotFound", "Nothing by that id in this Space."),
    413: ("TooLarge", "The body is too large."),
    414: ("TargetTooLong", "The path and query are longer than 64 KB."),
    415: ("UnsupportedEncoding", "Compressed bodies are not accepted."),
    422: ("Invalid", "Input that breaks a rule; `errors` names each field."),
    429: ("RateLimited", "The rate limit of this operation is used up."),
    431: ("HeadersTooLarge", "More than 100 headers, or 32 KB of them."),
    503: ("Unavailable", "Temporarily unavailable; nothing was acknowledged, try again."),
}
"""Every way to fail in the same words everywhere: its name among the document's responses, and what
it means.
"""

CONFLICT = 409

OF_ANY_REQUEST = (400, 414, 431)

_ERRORS = {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}}
_MESSAGE = {"type": "string"}
_SCHEMAS: dict[str, Any] = {
    "Error": {"type": "object", "required": ["message"], "properties": {"message": _MESSAGE}},
    "ValidationError": {
        "type": "object",
        "required": ["message", "errors"],
        "properties": {"message": _MESSAGE, "errors": _ERRORS},
    },
}
_WHOLE = {"type": "integer", "minimum": 0}
_LIMITS = {
    "X-RateLimit-Limit": "What the Space may do in a minute.",
    "X-RateLimit-Remaining": "What is left of it.",
    "X-RateLimit-Reset": "When the next minute begins, in Unix seconds.",
}
_LIMIT_HEADERS: dict[str, Any] = {
    name: {"description": told, "required": True, "schema": _WHOLE}
    for name, told in _LIMITS.items()
}
_RETRY: dict[str, Any] = {
    "Retry-After": {"description": "Seconds to wait.", "required": True, "schema": _WHOLE}
}
_CHALLENGE: dict[str, Any] = {
    "WWW-Authenticate": {"required": True, "schema": {"type": "string", "const": "Bearer"}}
}
_HEADERS = {
    401: _CHALLENGE,
    403: _LIMIT_HEADERS,
    404: _LIMIT_HEADERS,
    422: _LIMIT_HEADERS,
    429: _LIMIT_HEADERS | _RETRY,
    503: _RETRY,
}


def answer(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    """A response of JSON, for an operation's `responses`."""
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def body(schema: dict[str, Any]) -> dict[str, Any]:
    """A request's body of JSON, for an operation's `requestBody`."""
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The error responses of an operation, for its `responses`."""
    return {status: {"description": PROBLEMS[status][1]} for status in statuses}


def conflict(description: str, **properties: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    """The 409 of an operation, for its `responses`: when it comes, and what its body has
    beside `message`, each with its schema, as every operation's conflict is its own.
    """
    schema = {
        "type": "object",
        "required": ["message", *properties],
        "properties": {"message": _MESSAGE, **properties},
    }
    return {
        CONFLICT: {
            "description": description,
            "content": {"application/json": {"schema": schema}},
        }
    }


def document(app: FastAPI, paths: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """The OpenAPI document of `app` and of the `paths` that stand outside its routing."""
    told = get_openapi(title=app.title, version=app.version, routes=app.routes)
    told["servers"] = [{"url": "/"}]
    # A copy: whoever adds to the document must not change what the routes say of themselves.
    told["paths"] = deepcopy(dict(sorted({**told.get("paths", {}), **paths}.items())))
    for operations in told["paths"].values():
        for operation in operations.values():
            operation["responses"] = _responses(operation["responses"])
    # FastAPI's own schemas are of its form of a 422, which we never answer with.
    told["components"] = {
        "responses": {name: _problem(status) for status, (name, _) in PROBLEMS.items()},
        "schemas": {**_SCHEMAS, **schemas},
        "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
    }
    told["security"] = [{"key": []}]
    return told


def _responses(told: dict[str, Any]) -> dict[str, Any]:
    """An operation's responses: the good ones with the limit's headers, the bad ones by name but
    for the conflict, which is the operation's own.
    """
    own = {
        str(status): {**response, "headers": {**response.get("headers", {}), **_LIMIT_HEADERS}}
        for status, response in told.items()
        if int(status) < 400 or int(status) == CONFLICT
    }
    named = sorted({int(status) for status in told if str(status) not in own}.union(OF_ANY_REQUEST))
    return own | {
        str(status): {"$ref": f"#/components/responses/{PROBLEMS[status][0]}"} for status in named
    }


def _problem(status: int) -> dict[str, Any]:
    schema = "ValidationError" if status == 422 else "Error"
    return {
        "description": PROBLEMS[status][1],
        "headers": _HEADERS.get(status, {}),
        "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}},
    }
