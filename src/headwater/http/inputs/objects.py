"""Arrays and objects: types of JSON bodies, and readers of bodies or command-line pairs.

Every error is recorded under its field's path, such as `emails.0`, so one answer reports all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, TypeVar, cast

from msgspec import Struct

from headwater.http.errors import Errors, Invalid
from headwater.http.inputs.fields import FieldType, Schema
from headwater.http.inputs.suggestions import Names

T = TypeVar("T")

_MOST_LOOKED_AT = 30
"""Maximum unknown members compared with a missing one."""


def parse_body(kind: FieldType[T], body: object) -> T:
    """Return a JSON body's value. Raise Invalid with every error, by field."""
    try:
        return kind.read(body)
    except BrokenRules as broken_rules:
        errors = broken_rules.rules
    except ValueError as error:
        errors = {"body": [str(error)]}
    raise Invalid(write_rules(errors))


def write_rules(errors: Errors) -> Errors:
    """Return broken rules as sentences, by path."""
    return {name: [write_rule(name, rule) for rule in rules] for name, rules in errors.items()}


def read_pairs(pairs: Mapping[str, str], read_pair: Callable[[str, str], None]) -> None:
    """Read settings typed as `KEY=VALUE`, trimmed. Raise Invalid with every error, as `key: rule`."""
    errors: Errors = {}
    for key, typed in pairs.items():
        try:
            read_pair(key, typed.strip())
        except ValueError as error:
            errors[key] = [f"{key}: {error}"]
    if errors:
        raise Invalid(errors)


def write_rule(name: str, rule: str) -> str:
    """Return a broken rule as a sentence, unless it is one."""
    return rule if rule[:1].isupper() else f"The {name} {rule}"


class BrokenRules(ValueError):
    """Errors in parts of a value, by path."""

    def __init__(self, rules: Errors) -> None:
        super().__init__("holds values that break rules.")
        self.rules = rules


class Findings:
    """Reads parts of a value and collects errors by path."""

    def __init__(self) -> None:
        self.rules: Errors = {}

    def read(self, path: str, kind: FieldType[T], value: object) -> T | None:
        """Return a part's value, or None with its errors recorded."""
        try:
            return kind.read(value)
        except BrokenRules as broken_rules:
            for inner, rules in broken_rules.rules.items():
                self.rules.setdefault(f"{path}.{inner}", []).extend(rules)
        except ValueError as error:
            self.add(path, str(error))
        return None

    def add(self, path: str, rule: str) -> None:
        self.rules.setdefault(path, []).append(rule)

    def finish(self) -> None:
        """Raise BrokenRules if any were recorded."""
        if self.rules:
            raise BrokenRules(self.rules)

    def refuse(self) -> None:
        """Raise Invalid if any were recorded, for parts of a body."""
        if self.rules:
            raise Invalid(write_rules(self.rules))


def array_of(
    item: FieldType[T],
    limit: int,
    *,
    min_items: int = 0,
    rule: str = "must be an array.",
    count_rule: str = "",
) -> FieldType[tuple[T, ...]]:
    """Return a type for arrays of one type; an item's errors are under its index."""

    def read(value: object) -> tuple[T, ...]:
        if not isinstance(value, list):
            raise ValueError(rule)
        items = cast("list[object]", value)
        if len(items) < min_items:
            raise ValueError(count_rule or "must have at least one item.")
        if len(items) > limit:
            raise ValueError(count_rule or f"must not have more than {limit} items.")
        findings = Findings()
        parts = [findings.read(str(index), item, text) for index, text in enumerate(items)]
        findings.finish()
        return tuple(cast("list[T]", parts))

    bounds = {"minItems": min_items} if min_items else {}
    return FieldType({"type": "array", **bounds, "maxItems": limit, "items": item.schema}, read)


class Property(Struct, frozen=True):
    """A member of an object."""

    kind: FieldType[Any]
    description: str = ""
    missing: str = ""
    """Error for an object without it; empty if optional."""

    @property
    def schema(self) -> Schema:
        description_member = {"description": self.description} if self.description else {}
        return {**description_member, **self.kind.schema}


def object_of(properties: Mapping[str, Property], *, if_empty: str = "") -> FieldType[dict[str, Any]]:
    """Return a type for objects. Missing properties are left out of the result, unlike null; unknown members
    are ignored. `if_empty` is the error for an object with none of the properties.
    """
    names = Names(properties)

    def read(value: object) -> dict[str, Any]:
        members = _members(value)
        if if_empty and not members.keys() & properties.keys():
            raise ValueError(if_empty)
        findings = Findings()
        values: dict[str, Any] = {}
        for name, field in properties.items():
            if name in members:
                values[name] = findings.read(name, field.kind, members[name])
            elif field.missing:
                unknown = (member for member in members if member not in properties)
                findings.add(name, f"{field.missing}{_misspelling(name, unknown, names)}")
        findings.finish()
        return values

    required = [name for name, field in properties.items() if field.missing]
    schema: Schema = {
        "type": "object",
        **({"required": required} if required else {}),
        **({"anyOf": [{"required": [name]} for name in properties]} if if_empty else {}),
        "properties": {name: field.schema for name, field in properties.items()},
    }
    return FieldType(schema, read)


def _misspelling(name: str, unknown: Iterable[str], names: Names) -> str:
    for word in islice(unknown, _MOST_LOOKED_AT):
        if word.isprintable() and name in names.near(word):
            return f" Is it misspelt as {word}?"
    return ""


def map_of(kinds: Mapping[str, FieldType[T]], unknown: str) -> FieldType[dict[str, T]]:
    """Return a type for objects with optional values by name. `unknown` is the error for any other member."""

    def read(value: object) -> dict[str, T]:
        findings = Findings()
        values: dict[str, T] = {}
        for name, member in _members(value).items():
            if name in kinds:
                values[name] = cast("T", findings.read(name, kinds[name], member))
            else:
                findings.add(name, unknown)
        findings.finish()
        return values

    schema: Schema = {
        "type": "object",
        "properties": {name: kind.schema for name, kind in kinds.items()},
        "additionalProperties": False,
    }
    return FieldType(schema, read)


def _members(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("must be an object.")
    return cast("dict[str, Any]", value)


OBJECT = FieldType[dict[str, Any]]({"type": "object"}, _members)
