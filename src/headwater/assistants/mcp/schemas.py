"""The schemas of tools made short, as a language model reads the list of all tools before its first
question. What it needs to fill in an argument stays: types, short lists of values, defaults, and
words. Long lists stand once, in a resource; and every rule that is left out here is enforced where
the argument is read, and named by the refusal. Pure.
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
"""Long lists of values: the most common ones, and the resource that has all."""
LONG_PATTERNS = {SOURCE["pattern"]: _SOURCES, REPORT_SOURCE["pattern"]: _SOURCES}
"""The same of values that a pattern describes."""

STAND_ELSEWHERE = ("As in list_events.", "As in query_report.")
"""Words of arguments that are left out: the instructions to assistants say where they stand."""

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
"""Conditions on a value besides its type; also that an object has no other members."""
_NUMBERED = re.compile(r"([a-z_]+_)[1-9][0-9]?")
_FEW = 3
"""Properties that differ in a number only are listed singly up to here."""


def short_arguments(schema: Schema, *, with_null: bool) -> Schema:
    """The schema of an object of arguments, to be listed; `with_null` where null means something
    else than leaving an argument out.
    """
    short = _short(schema)
    if not short.get("required"):
        del short["required"]
    properties = cast("dict[str, Schema]", short.get("properties", {}))
    for part in properties.values():
        if part.get("description") in STAND_ELSEWHERE:
            del part["description"]
    if properties and not with_null:
        short["properties"] = {name: _without_null(part) for name, part in properties.items()}
    return short


def outline(schema: Schema) -> Schema | None:
    """Return the schema of an answer for the list of tools: only members with a description, without their
    contents. None if no member has one.
    """
    members = cast("dict[str, Schema]", schema["properties"])
    described = {
        name: {"type": _short(member)["type"], "description": member["description"]}
        for name, member in members.items()
        if "description" in member
    }
    return {"type": "object", "properties": described} if described else None


def _without_null(schema: Schema) -> Schema:
    if "anyOf" in schema:
        choices = [choice for choice in cast("list[Schema]", schema["anyOf"]) if choice != NULL]
        rest = {name: part for name, part in schema.items() if name != "anyOf"}
        return {**choices[0], **rest} if len(choices) == 1 else {**rest, "anyOf": choices}
    if "type" in schema:
        names = [name for name in _type_names(schema) if name != "null"]
        return {**schema, "type": _one_or_list(names)}
    return schema


def _short(schema: Schema) -> Schema:
    """A schema by its types, values and words."""
    if isinstance(schema.get("properties"), dict):
        return _short_object(schema)
    if (words := _long_list(schema)) is not None:
        return {"type": "string", "description": words}
    kept = {name: part for name, part in schema.items() if name not in _RULES}
    if isinstance(kept.get("items"), dict):
        kept["items"] = _short(kept["items"])
    if kept.get("enum") == [0, 1]:  # which its words say
        del kept["enum"]
    if isinstance(kept.get("anyOf"), list):
        return _short_choice(kept)
    return kept


def _long_list(schema: Schema) -> str | None:
    if (words := LONG_PATTERNS.get(schema.get("pattern", ""))) is not None:
        return words
    values = schema.get("enum")
    return LONG_LISTS.get(frozenset(cast("list[Any]", values))) if isinstance(values, list) else None


def _short_choice(schema: Schema) -> Schema:
    """Merge a choice between types into one list of types, if only the type differs."""
    choices = [_short(choice) for choice in cast("list[Schema]", schema["anyOf"])]
    rest = {name: part for name, part in schema.items() if name != "anyOf"}
    if any(choice.keys() != {"type"} for choice in choices):
        return {**rest, "anyOf": _distinct(choices)}
    return {"type": _types(choices), **rest}


def _types(schemas: list[Schema]) -> str | list[str]:
    """The types of schemas that have one each or a list of them."""
    return _one_or_list([name for schema in schemas for name in _type_names(schema)])


def _type_names(schema: Schema) -> list[str]:
    types: str | list[str] = schema["type"]
    return [types] if isinstance(types, str) else types


def _one_or_list(names: list[str]) -> str | list[str]:
    distinct = list(dict.fromkeys(names))
    return distinct[0] if len(distinct) == 1 else distinct


def _distinct(schemas: list[Schema]) -> list[Schema]:
    return [schema for place, schema in enumerate(schemas) if schema not in schemas[:place]]


def _short_object(schema: Schema) -> Schema:
    members = cast("dict[str, Schema]", schema["properties"])
    properties = {name: _short(part) for name, part in members.items()}
    plain, patterns = _fold(properties, set(schema.get("required", ())))
    rest = {name: part for name, part in schema.items() if name not in ("properties", *_RULES)}
    described = {"properties": plain, "patternProperties": patterns}
    return {**rest, **{name: part for name, part in described.items() if part}}


def _fold(properties: dict[str, Schema], required: set[str]) -> tuple[dict[str, Schema], Schema]:
    """Merge properties whose names differ only in a number into patterns with all of their types."""
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
