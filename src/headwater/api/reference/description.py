"""The OpenAPI document for readers: operations by subject, and schemas as table rows."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from headwater.api.reference.commands import content_type, curl, pretty
from headwater.api.reference.examples import EXAMPLES, Example

Schema = dict[str, Any]

SHORT_ENUM = 8
"""Longer lists of values are folded."""
_ORDER = (
    "Ingest",
    "Events",
    "Reports",
    "Contacts",
    "Companies",
    "Imports",
    "Exports",
    "Destinations",
    "Ads",
    "Spend",
    "Sources",
)
TAG_DESCRIPTIONS = {
    "Ingest": "Send what happens: conversions, sign-ups, refunds and touchpoints.",
    "Events": "Read events and the sources that are credited with them, correct and delete them.",
    "Reports": "Revenue by source, campaign or ad, and paths to conversion.",
    "Contacts": "The people behind the events: find, create, change and erase them.",
    "Companies": "The businesses that contacts belong to.",
    "Imports": "Files of events, contacts, touchpoints, spend and names of ads.",
    "Exports": "Whole days and ranges as files, made in the background.",
    "Destinations": "Ad platforms that conversions are forwarded to, and what became of each.",
    "Ads": "Names for the ids of campaigns, ad sets and ads.",
    "Spend": "Ad spend, and exchange rates.",
    "Sources": "Paid networks of the Space's own, beside the listed sources.",
}
"""The subjects, which are the document's tags, in reading order."""


class FieldNote(Struct, frozen=True):
    name: str
    kind: str
    is_required: bool
    description: str
    values: list[str]


class ReferenceEntry(Struct, frozen=True):
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
    """The example's path and query."""
    request: str
    response: str
    conflict: str
    """The conflict answer; empty if it never conflicts."""

    @property
    def content_type(self) -> str:
        return content_type(self.request)

    def curl(self, base_url: str) -> str:
        return curl(base_url, self.method, self.target, self.request)

    def contains(self, words: list[str]) -> bool:
        """Return whether all lower-case words are in its texts or names of fields."""
        fields = [field.name for field in (*self.parameters, *self.body)]
        text = " ".join((self.method, self.path, self.id, self.summary, self.description, *fields)).lower()
        return all(word in text for word in words)


def add_tags(document: Schema) -> None:
    used_tags = {tag for _, _, operation in _operations(document) for tag in operation["tags"]}
    tags = [tag for tag in _ORDER if tag in used_tags]
    document["tags"] = [
        {"name": tag, "description": TAG_DESCRIPTIONS.get(tag, "")}
        for tag in [*tags, *sorted(used_tags - {*tags})]
    ]


def describe(document: Schema) -> dict[str, list[ReferenceEntry]]:
    """Return the operations by tag, in the order of the examples."""
    parts = document["components"]["schemas"]
    entries = [_describe(method, path, operation, parts) for method, path, operation in _operations(document)]
    ranks = {name: rank for rank, name in enumerate(EXAMPLES)}
    entries.sort(key=lambda entry: ranks.get(entry[1].id, len(ranks)))
    return {
        tag["name"]: [entry for name, entry in entries if name == tag["name"]] for tag in document["tags"]
    }


def search(subjects: dict[str, list[ReferenceEntry]], search_text: str) -> dict[str, list[ReferenceEntry]]:
    """Return the operations that contain all words, by tag."""
    words = search_text.lower().split()
    matches = {
        name: [entry for entry in entries if entry.contains(words)] for name, entries in subjects.items()
    }
    return {name: entries for name, entries in matches.items() if entries}


def _operations(document: Schema) -> list[tuple[str, str, Schema]]:
    return [
        (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def _describe(method: str, path: str, operation: Schema, parts: Schema) -> tuple[str, ReferenceEntry]:
    example = EXAMPLES.get(operation["operationId"], Example())
    body = operation.get("requestBody", {})
    schema = _resolved(body.get("content", {}).get("application/json", {}).get("schema", {}), parts)
    return operation["tags"][0], ReferenceEntry(
        id=operation["operationId"],
        method=method,
        path=path,
        summary=operation["summary"],
        description=operation.get("description", ""),
        parameters=[
            _field(
                parameter["name"],
                parameter["schema"],
                parts,
                is_required=parameter.get("required", False),
                description=parameter.get("description", ""),
            )
            for parameter in operation.get("parameters", [])
        ],
        body=_members(schema, parts),
        body_about=schema.get("description") or body.get("description", ""),
        answers=[(status, _meaning(answer)) for status, answer in operation["responses"].items()],
        target=example.target(path) if example.path or "{" not in path else path,
        request=pretty(example.body),
        response=pretty(example.response),
        conflict=pretty(example.conflict),
    )


def _meaning(answer: Schema) -> str:
    return answer.get("description") or answer["$ref"].rpartition("/")[2]


def _members(schema: Schema, parts: Schema) -> list[FieldNote]:
    required = set(schema.get("required", ()))
    return [
        _field(name, member, parts, is_required=name in required)
        for name, member in schema.get("properties", {}).items()
    ]


def _field(
    name: str, schema: Schema, parts: Schema, *, is_required: bool, description: str = ""
) -> FieldNote:
    schema = _resolved(schema, parts)
    return FieldNote(
        name=name,
        kind=_kind(schema, parts),
        is_required=is_required,
        description=description or schema.get("description", ""),
        values=[str(value) for value in _values(schema)],
    )


def _resolved(schema: Schema, parts: Schema) -> Schema:
    reference = schema.get("$ref")
    return parts[reference.rpartition("/")[2]] if reference else schema


def _kind(schema: Schema, parts: Schema) -> str:
    """Return the type in words: `text or whole number`, `list of objects`."""
    schema = _resolved(schema, parts)
    options = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    if options and "type" not in schema:
        kinds = [_kind(option, parts) for option in options if option.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    kinds = schema.get("type", "text")
    names = [kinds] if isinstance(kinds, str) else [kind for kind in kinds if kind != "null"]
    return " or ".join(_describe_kind(kind, schema, parts) for kind in names)


def _describe_kind(kind: str, schema: Schema, parts: Schema) -> str:
    if kind == "array":
        return f"list of {_kind(schema.get('items', {}), parts)}"
    words = {"string": "text", "integer": "whole number", "boolean": "true or false"}
    formats = {"email": "e-mail address", "ipv4": "IP address", "ipv6": "IP address"}
    return formats.get(schema.get("format", ""), words.get(kind, kind))


def _values(schema: Schema) -> list[Any]:
    for subschema in (schema, schema.get("items", {}), *schema.get("anyOf", ())):
        if "enum" in subschema:
            return [value for value in subschema["enum"] if value is not None]
    return []
