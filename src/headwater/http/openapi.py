"""Parts of the OpenAPI document: how a body and its answers are described, and every way in
which a request can fail.
"""

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
"""Every way to fail in the same words everywhere: its name among the document's responses, and what
it means.
"""

CONFLICT = 409

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
WHOLE: Schema = {"type": "integer"}
WHOLE_OR_NULL: Schema = {"type": ["integer", "null"]}
NUMBER_OR_NULL: Schema = {"type": ["number", "null"]}
MOMENT: Schema = {"type": "string", "format": "date-time"}
MOMENT_OR_NULL: Schema = {"type": ["string", "null"], "format": "date-time"}


def object_schema(members: Mapping[str, Schema], *optional: str) -> Schema:
    """Return the schema of an object with these members, all required but the optional ones."""
    required = [name for name in members if name not in optional]
    return {"type": "object", "required": required, "properties": dict(members)}


def with_optional(schema: Schema, **members: Schema) -> Schema:
    """Return the schema of an object with members that it may have besides."""
    return {**schema, "properties": {**schema["properties"], **members}}


def data_schema(row: Schema) -> Schema:
    """Return the schema of an answer with all rows of a short list under `data`."""
    return object_schema({"data": {"type": "array", "items": row}})


def answer(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return a response of JSON, for an operation's `answer`."""
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def body(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a request's body of JSON, for an operation's `body`."""
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def file_body(description: str) -> dict[str, Any]:
    """Return a request's body that is a file, for an operation's `body`: sent as it is."""
    content = {"schema": {"type": "string", "format": "binary"}}
    types = ("text/csv", "application/octet-stream")
    return {"required": True, "description": description, "content": dict.fromkeys(types, content)}


def conflict(description: str, **properties: dict[str, Any]) -> dict[str, Any]:
    """Return an operation's `conflict`: its condition, and the members of its body beside `message` with
    their schemas, because every operation's conflict differs.
    """
    return answer(description, object_schema({"message": TEXT, **properties}))
