"""The schemas of the public API made short, as a language model reads the list of all tools before
its first question: the same values fit, described in fewer words. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, cast

Schema = dict[str, Any]

LONGEST_ENUM = 25
"""The most values of an answer that are listed; no reader needs a longer list."""

_NUMBERED = re.compile(r"([a-z_]+_)([1-9][0-9]?)")
_FEW = 3
_BLANK = {"pattern": r"^\s*$"}
_UNREAD = ("example",)


def short_arguments(schema: Schema) -> Schema:
    """The schema of arguments. Blank text, which counts as absent, is left out."""
    return _walk(schema, _fold_enum)


def short_answer(schema: Schema) -> Schema:
    """The schema of an answer: without long lists of the values that a text can have."""
    return _walk(schema, _drop_enum)


def _walk(value: Any, shorten_enum: Callable[[Schema], Schema]) -> Any:
    if isinstance(value, list):
        return [_walk(item, shorten_enum) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    schema = cast("Schema", value)
    if isinstance(schema.get("properties"), dict):
        return _walk_object(schema, shorten_enum)
    schema = {name: part for name, part in schema.items() if name not in _UNREAD}
    schema = shorten_enum(_without_blank(schema))
    return {name: _walk(part, shorten_enum) for name, part in schema.items()}


def _walk_object(schema: Schema, shorten_enum: Callable[[Schema], Schema]) -> Schema:
    properties = {
        name: _walk(part, shorten_enum)
        for name, part in cast("dict[str, Schema]", schema["properties"]).items()
    }
    plain, patterns = _fold(properties, set(schema.get("required", ())))
    rest = {
        name: _walk(part, shorten_enum) for name, part in schema.items() if name != "properties"
    }
    return {**rest, "properties": plain, **({"patternProperties": patterns} if patterns else {})}


def _fold(properties: dict[str, Schema], required: set[str]) -> tuple[dict[str, Schema], Schema]:
    """Properties that differ in a number only, as patterns."""
    families: dict[tuple[str, str], list[str]] = {}
    for name, schema in properties.items():
        match = _NUMBERED.fullmatch(name)
        if match is not None and name not in required:
            families.setdefault((match[1], repr(schema)), []).append(name)
    large = [names for names in families.values() if len(names) > _FEW]
    folded = {name for names in large for name in names}
    plain = {name: schema for name, schema in properties.items() if name not in folded}
    return plain, {_pattern(names): properties[names[0]] for names in large}


def _pattern(names: list[str]) -> str:
    """The pattern of names with one stem; `names` has at least one."""
    matches = [cast("re.Match[str]", _NUMBERED.fullmatch(name)) for name in names]
    return f"^{matches[0][1]}({'|'.join(match[2] for match in matches)})$"


def _fold_enum(schema: Schema) -> Schema:
    """Values that differ in a number only, as a pattern."""
    values = schema.get("enum")
    if not isinstance(values, list):
        return schema
    words = cast("list[Any]", values)
    numbered = [word for word in words if isinstance(word, str) and _NUMBERED.fullmatch(word)]
    if len(numbered) <= _FEW or len({word.rstrip("0123456789") for word in numbered}) > 1:
        return schema
    rest = {name: part for name, part in schema.items() if name not in ("enum", "type")}
    others = [word for word in words if word not in numbered]
    numbers = sorted(numbered, key=lambda word: int(word.rpartition("_")[2]))
    either = [{"enum": others}, {"type": "string", "pattern": _pattern(numbers)}]
    return {**rest, "anyOf": either}


def _drop_enum(schema: Schema) -> Schema:
    if len(schema.get("enum", ())) <= LONGEST_ENUM:
        return schema
    return {name: part for name, part in schema.items() if name != "enum"}


def _without_blank(schema: Schema) -> Schema:
    either = schema.get("anyOf")
    if not isinstance(either, list):
        return schema
    choices = cast("list[Schema]", either)
    kept = [choice for choice in choices if not choice.items() >= _BLANK.items()]
    rest = {name: part for name, part in schema.items() if name != "anyOf"}
    return {**kept[0], **rest} if len(kept) == 1 else {**rest, "anyOf": kept}
