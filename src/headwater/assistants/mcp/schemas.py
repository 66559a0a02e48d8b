"""Shorten tool schemas, because a language model reads them all before its first question.

Everything needed to fill in an argument stays: types, short value lists, defaults and descriptions. Long
lists are in a resource. Omitted rules are enforced, and explained, when the argument is read. Pure.
"""

from __future__ import annotations

import re
from typing import Any, cast

from headwater.events.accepted import EVENT_NAMES
from headwater.http.inputs.fields import NULL
from headwater.spaces.known_values import REPORT_SOURCE, SOURCE

Schema = dict[str, Any]

_SOURCES = "google_ads, facebook_ads, google_organic, ai_chat_gpt, email, direct, …: trk://sources"
LONG_LISTS: dict[frozenset[Any], str] = {
    frozenset(EVENT_NAMES): "purchase, sign_up, lead_generated, subscribe, custom_event_1, …: "
    "trk://event-names"
}
"""Long value lists: the most common ones, and the resource with all."""
LONG_PATTERNS = {SOURCE["pattern"]: _SOURCES, REPORT_SOURCE["pattern"]: _SOURCES}
"""The same for values described by a pattern."""

STAND_ELSEWHERE = ("As in list_events.", "As in query_report.")
"""Descriptions to omit; the instructions to assistants refer to their source."""

_RULES = {
    "pattern",
    "format",
    "example",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minimum",
    "maximum",
    "additionalProperties",
}
"""Schema rules omitted, besides the type; also the one that forbids other members."""
_NUMBERED = re.compile(r"([a-z_]+_)[1-9][0-9]?")
_FEW = 3
"""Maximum number of properties, differing only in a number, that are listed separately."""


def short_arguments(schema: Schema, *, with_null: bool) -> Schema:
    """Shorten an arguments object; `with_null` if null differs from a missing argument."""
    short = _shorten(schema)
    if not short.get("required"):
        del short["required"]
    properties = cast("dict[str, Schema]", short.get("properties", {}))
    for member in properties.values():
        if member.get("description") in STAND_ELSEWHERE:
            del member["description"]
    if properties and not with_null:
        short["properties"] = {name: _without_null(member) for name, member in properties.items()}
    return short


def outline(schema: Schema) -> Schema | None:
    """Return only described members, without their contents. None if no member has a description."""
    members = cast("dict[str, Schema]", schema["properties"])
    outlines = {
        name: {"type": _shorten(member)["type"], "description": member["description"]}
        for name, member in members.items()
        if "description" in member
    }
    return {"type": "object", "properties": outlines} if outlines else None


def _without_null(schema: Schema) -> Schema:
    if "anyOf" in schema:
        choices = [choice for choice in cast("list[Schema]", schema["anyOf"]) if choice != NULL]
        other_members = {name: value for name, value in schema.items() if name != "anyOf"}
        return {**choices[0], **other_members} if len(choices) == 1 else {**other_members, "anyOf": choices}
    if "type" in schema:
        names = [name for name in _type_names(schema) if name != "null"]
        return {**schema, "type": _one_or_list(names)}
    return schema


def _shorten(schema: Schema) -> Schema:
    if isinstance(schema.get("properties"), dict):
        return _short_object(schema)
    if (words := _long_list(schema)) is not None:
        return {"type": "string", "description": words}
    members = {name: value for name, value in schema.items() if name not in _RULES}
    if isinstance(members.get("items"), dict):
        members["items"] = _shorten(members["items"])
    if members.get("enum") == [0, 1]:  # the description says so
        del members["enum"]
    if isinstance(members.get("anyOf"), list):
        return _short_choice(members)
    return members


def _long_list(schema: Schema) -> str | None:
    if (words := LONG_PATTERNS.get(schema.get("pattern", ""))) is not None:
        return words
    values = schema.get("enum")
    return LONG_LISTS.get(frozenset(cast("list[Any]", values))) if isinstance(values, list) else None


def _short_choice(schema: Schema) -> Schema:
    """Merge types into a list, if only the type differs."""
    choices = [_shorten(choice) for choice in cast("list[Schema]", schema["anyOf"])]
    other_members = {name: value for name, value in schema.items() if name != "anyOf"}
    if any(choice.keys() != {"type"} for choice in choices):
        return {**other_members, "anyOf": _distinct(choices)}
    return {"type": _types(choices), **other_members}


def _types(schemas: list[Schema]) -> str | list[str]:
    return _one_or_list([name for schema in schemas for name in _type_names(schema)])


def _type_names(schema: Schema) -> list[str]:
    types: str | list[str] = schema["type"]
    return [types] if isinstance(types, str) else types


def _one_or_list(names: list[str]) -> str | list[str]:
    distinct_names = list(dict.fromkeys(names))
    return distinct_names[0] if len(distinct_names) == 1 else distinct_names


def _distinct(schemas: list[Schema]) -> list[Schema]:
    return [schema for index, schema in enumerate(schemas) if schema not in schemas[:index]]


def _short_object(schema: Schema) -> Schema:
    members = cast("dict[str, Schema]", schema["properties"])
    properties = {name: _shorten(value) for name, value in members.items()}
    plain, patterns = _fold(properties, set(schema.get("required", ())))
    other_members = {name: value for name, value in schema.items() if name not in ("properties", *_RULES)}
    property_members = {"properties": plain, "patternProperties": patterns}
    return {**other_members, **{name: value for name, value in property_members.items() if value}}


def _fold(properties: dict[str, Schema], required: set[str]) -> tuple[dict[str, Schema], Schema]:
    """Merge properties whose names differ only in a number into patterns with all their types."""
    families: dict[str, list[str]] = {}
    for name in properties:
        match = _NUMBERED.fullmatch(name)
        if match is not None and name not in required:
            families.setdefault(match[1], []).append(name)
    large = {stem: names for stem, names in families.items() if len(names) > _FEW}
    folded = {name for names in large.values() for name in names}
    plain = {name: schema for name, schema in properties.items() if name not in folded}
    return plain, {
        f"^{stem}[0-9]+$": {"type": _types([properties[name] for name in names])}
        for stem, names in large.items()
    }
