"""Reads the OpenAPI document for people: operations by subject, and schemas as rows of a table."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from headwater.reference.examples import EXAMPLES, Example

Schema = dict[str, Any]

SHORT_ENUM = 8
"""Longer lists of values are folded away."""
_FIRST = ("event_name", "email", "amount", "trk_source", "idempotency_key")
"""What is enough of a purchase to begin with."""
_ORDER = ("Ingest", "Events", "Contacts", "Companies", "Exports", "Destinations", "Ads")
ABOUT = {
    "Ingest": "Send what happens: conversions, sign-ups, refunds and touchpoints.",
    "Events": "Read events and the sources that are credited with them, correct and delete them.",
    "Contacts": "The people behind the events: find, create, change and erase them.",
    "Companies": "The businesses that contacts belong to.",
    "Exports": "Whole days and ranges as files, made in the background.",
    "Destinations": "Ad platforms that conversions are forwarded to, and what became of each.",
    "Ads": "Names for the ids of campaigns, ad sets and ads.",
}
"""Subjects, which are the document's tags, in the order in which somebody needs them."""


@dataclass(frozen=True)
class FieldNote:
    """A parameter, or a member of a body."""

    name: str
    kind: str
    is_required: bool
    description: str
    values: list[str]
    """What it can be, where that is a list."""


@dataclass(frozen=True)
class ReferenceEntry:
    """One operation as the page shows it."""

    id: str
    method: str
    path: str
    summary: str
    description: str
    parameters: list[FieldNote]
    body: list[FieldNote]
    body_about: str
    answers: list[tuple[str, str]]
    """Status and meaning."""
    target: str
    """Path and query of the example."""
    request: str
    """The example's body, as text."""
    response: str

    def curl(self, base_url: str) -> str:
        """The example as a command."""
        method = "" if self.method == "GET" else f"-X {self.method} "
        lines = [f"curl --globoff {method}'{base_url}{self.target}'"]
        lines.append("  -H 'Authorization: Bearer YOUR_KEY'")
        if self.request:
            lines.append("  -H 'Content-Type: application/json'")
            lines.append(f"  -d '{self.request}'")
        return " \\\n".join(lines)


def add_tags(document: Schema) -> None:
    """Say what the subjects are, in their order."""
    used = {tag for _, _, operation in _operations(document) for tag in operation["tags"]}
    known = [tag for tag in _ORDER if tag in used]
    document["tags"] = [
        {"name": tag, "description": ABOUT.get(tag, "")}
        for tag in [*known, *sorted(used - {*known})]
    ]


def describe(document: Schema) -> dict[str, list[ReferenceEntry]]:
    """Every operation, by tag; those of a tag in the order of the examples."""
    parts = document["components"]["schemas"]
    found = [_describe(method, path, operation, parts) for method, path, operation in
             _operations(document)]  # fmt: skip
    ranks = {name: rank for rank, name in enumerate(EXAMPLES)}
    found.sort(key=lambda each: ranks.get(each[1].id, len(ranks)))
    return {
        tag["name"]: [each for name, each in found if name == tag["name"]]
        for tag in document["tags"]
    }


def first_call(operation: ReferenceEntry) -> ReferenceEntry:
    """An operation with the least that its example needs."""
    body = {name: EXAMPLES[operation.id].body[name] for name in _FIRST}
    return replace(operation, request=_pretty(body))


def _operations(document: Schema) -> list[tuple[str, str, Schema]]:
    return [
        (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def _describe(method: str, path: str, told: Schema, parts: Schema) -> tuple[str, ReferenceEntry]:
    example = EXAMPLES.get(told["operationId"], Example())
    schema = _resolved(
        told.get("requestBody", {})
        .get("content", {})
        .get("application/json", {})
        .get("schema", {}),
        parts,
    )
    return told["tags"][0], ReferenceEntry(
        id=told["operationId"],
        method=method,
        path=path,
        summary=told["summary"],
        description=told.get("description", ""),
        parameters=[
            _field(each["name"], each["schema"], parts, is_required=each.get("required", False),
                   about=each.get("description", ""))
            for each in told.get("parameters", [])
        ],
        body=_members(schema, parts),
        body_about=schema.get("description", ""),
        answers=[(status, _meaning(answer, parts)) for status, answer in told["responses"].items()],
        target=example.target(path) if example.path or "{" not in path else path,
        request=_pretty(example.body),
        response=_pretty(example.response),
    )  # fmt: skip


def _meaning(answer: Schema, parts: Schema) -> str:
    del parts
    return answer.get("description") or answer["$ref"].rpartition("/")[2]


def _pretty(value: Any) -> str:
    return "" if value is None else json.dumps(value, indent=2, ensure_ascii=False)


def _members(schema: Schema, parts: Schema) -> list[FieldNote]:
    required = set(schema.get("required", ()))
    return [
        _field(name, each, parts, is_required=name in required)
        for name, each in schema.get("properties", {}).items()
    ]


def _field(
    name: str, schema: Schema, parts: Schema, *, is_required: bool, about: str = ""
) -> FieldNote:
    schema = _resolved(schema, parts)
    return FieldNote(
        name=name,
        kind=_kind(schema, parts),
        is_required=is_required,
        description=about or schema.get("description", ""),
        values=[str(value) for value in _values(schema)],
    )


def _resolved(schema: Schema, parts: Schema) -> Schema:
    reference = schema.get("$ref")
    return parts[reference.rpartition("/")[2]] if reference else schema


def _kind(schema: Schema, parts: Schema) -> str:
    """The type in words: `text or whole number`, `list of objects`."""
    schema = _resolved(schema, parts)
    options = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    if options and "type" not in schema:
        kinds = [_kind(option, parts) for option in options if option.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    kinds = schema.get("type", "text")
    names = [kinds] if isinstance(kinds, str) else [kind for kind in kinds if kind != "null"]
    return " or ".join(_named(kind, schema, parts) for kind in names)


def _named(kind: str, schema: Schema, parts: Schema) -> str:
    if kind == "array":
        return f"list of {_kind(schema.get('items', {}), parts)}"
    words = {"string": "text", "integer": "whole number", "boolean": "true or false"}
    formats = {"email": "e-mail address", "ipv4": "IP address", "ipv6": "IP address"}
    return formats.get(schema.get("format", ""), words.get(kind, kind))


def _values(schema: Schema) -> list[Any]:
    for each in (schema, schema.get("items", {}), *schema.get("anyOf", ())):
        if "enum" in each:
            return [value for value in each["enum"] if value is not None]
    return []
