"""The machine-readable description: what the routes say of themselves, and the shared parts."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

PROBLEMS = {
    400: "The request is not valid HTTP.",
    401: "Missing or invalid API key.",
    403: "The key lacks the scope, or the Space's subscription is inactive.",
    404: "Nothing by that id in this Space.",
    409: "More than one match, or a claim that is already taken.",
    413: "The body is too large.",
    415: "Compressed bodies are not accepted.",
    422: "Input that breaks a rule; `errors` names each field.",
    429: "The rate limit of this operation is used up.",
    503: "Temporarily unavailable; nothing was acknowledged, trying again is safe.",
}

_ERROR = {"type": "object", "required": ["message"], "properties": {"message": {"type": "string"}}}
_ERRORS = {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}}
_SCHEMAS: dict[str, Any] = {
    "Error": _ERROR,
    "ValidationError": {
        "type": "object",
        "required": ["message", "errors"],
        "properties": {"message": {"type": "string"}, "errors": _ERRORS},
    },
}
_LIMIT_HEADERS = {
    "X-RateLimit-Limit": "What the Space may do in a minute.",
    "X-RateLimit-Remaining": "What is left of it.",
    "X-RateLimit-Reset": "When the next minute begins, in Unix seconds.",
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The error responses of an operation, for its `responses`."""
    return {
        status: {
            "description": PROBLEMS[status],
            "content": {"application/json": {"schema": {"$ref": _ref(status)}}},
        }
        for status in statuses
    }


def _ref(status: int) -> str:
    return f"#/components/schemas/{'ValidationError' if status == 422 else 'Error'}"


def limit_headers() -> dict[str, Any]:
    """The headers of a limited operation's answers."""
    return {
        name: {"description": told, "schema": {"type": "integer"}}
        for name, told in _LIMIT_HEADERS.items()
    }


def document(app: FastAPI, paths: dict[str, Any], schemas: dict[str, Any]) -> bytes:
    """The OpenAPI document of `app` and of the `paths` that stand outside its routing."""
    told = get_openapi(title=app.title, version=app.version, routes=app.routes)
    told["servers"] = [{"url": "/"}]
    told["paths"] = dict(sorted({**told.get("paths", {}), **paths}.items()))
    components: dict[str, Any] = told.setdefault("components", {})
    components["schemas"] = {**components.get("schemas", {}), **_SCHEMAS, **schemas}
    components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    told["security"] = [{"key": []}]
    for operations in told["paths"].values():
        for operation in operations.values():
            for response in operation["responses"].values():
                response.setdefault("headers", limit_headers())
            # FastAPI adds its own form of 422, which we never answer with.
            mine = operation["responses"].get("422", {})
            content = mine.get("content", {}).get("application/json", {})
            if "HTTPValidationError" in str(content.get("schema")):
                operation["responses"]["422"] = problems(422)[422]
    for name in ("HTTPValidationError",):
        components["schemas"].pop(name, None)
    return msgspec.json.encode(told)
