"""Parts of the OpenAPI document: bodies, answers and every error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
"""Errors in the same words everywhere: the response's name in the document, and its meaning."""

CONFLICT = 409

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}


TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
NUMBER_OR_NULL: Schema = {"type": ["number", "null"]}
MOMENT: Schema = {"type": "string", "format": "date-time"}


def or_null(schema: Schema) -> Schema:
    """Return the schema of an optional member, which null leaves out."""
    values: Schema = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return {**schema, **values, "type": [schema["type"], "null"]}


def object_schema(members: Mapping[str, Schema], *optional: str) -> Schema:
    """Return the schema of an object. Its members are required, except the optional ones."""
    required = [name for name in members if name not in optional]
    return {"type": "object", "required": required, "properties": dict(members)}


def answer(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON response, for an operation's `answer`."""
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def body(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON request body, for an operation's `body`."""
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def file_body(description: str) -> dict[str, Any]:
    """Return a request body that is a raw file, for an operation's `body`, of the type that all
    generators of clients know.
    """
    content = {"schema": {"type": "string", "format": "binary"}}
    return {"required": True, "description": description, "content": {"application/octet-stream": content}}
