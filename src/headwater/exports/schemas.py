"""JSON schemas of the bodies and answers of the endpoints of exports, for the document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headwater.exports.kinds import KINDS, WHOLE_RANGE
from headwater.http.inputs.parameters import ListParameter, Parameter
from headwater.http.openapi import MOMENT, TEXT, WHOLE, answer, body, object_schema

STATUSES = ("queued", "processing", "completed", "failed")
"""Of an export, and of a schedule's run."""


def _answer(description: str, required: list[str], properties: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "required": required, "properties": properties}
    return answer(description, schema)


QUEUED = _answer(
    "The export is queued.",
    ["export_id", "status", "message"],
    {"export_id": {"type": "integer"}, "status": {"type": "string", "const": "queued"}, "message": TEXT},
)
JOB = _answer(
    "The export as it stands. Poll until it is completed or failed.",
    ["export_id", "status", "created_at"],
    {
        "export_id": {"type": "integer"},
        "status": {"type": "string", "enum": list(STATUSES)},
        "created_at": MOMENT,
        "message": {**TEXT, "description": "Unless completed: how far it is, or why it failed."},
        "download_url": {
            "type": "string",
            "format": "uri",
            "description": "Once completed: the file, or the first of several.",
        },
        "files": {
            "type": "array",
            "description": "Once completed, with `rows_per_file`: every file.",
            "items": object_schema({"download_url": {**TEXT, "format": "uri"}, "rows": WHOLE}),
        },
        "completed_at": MOMENT,
        "expires_at": {**MOMENT, "description": "When the link ends; every answer has a new one."},
    },
)


def body_of(kind: str) -> dict[str, Any]:
    """The request body of creating an export of this kind."""
    everything = {WHOLE_RANGE.name: {"const": True}}
    schema = {
        "type": "object",
        "anyOf": [
            *({"required": list(dates)} for dates in KINDS[kind].times),
            {"required": [WHOLE_RANGE.name], "properties": everything},
        ],
        "properties": properties_of(KINDS[kind].parameters),
    }
    return body(schema)


def properties_of(parameters: Iterable[Parameter[Any] | ListParameter[Any]]) -> dict[str, Any]:
    """The schemas of a body's members."""
    documented = {parameter.name: parameter.openapi() for parameter in parameters}
    return {
        name: {**_schema_of(parameter), "description": parameter["description"]}
        for name, parameter in documented.items()
    }


def _schema_of(parameter: dict[str, Any]) -> dict[str, Any]:
    """Return a member's schema: null replaces an optional member that is absent."""
    schema: dict[str, Any] = parameter["schema"]
    if parameter["required"]:
        return schema
    values = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return {**schema, **values, "type": [schema["type"], "null"]}
