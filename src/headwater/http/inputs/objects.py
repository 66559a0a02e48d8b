"""Arrays and objects of fields: the types of JSON bodies, and readers of whole inputs, whether a body or
pairs typed at a command line.

Every broken rule is recorded under the path of its field, such as `emails.0`, so one answer reports all of
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar, cast

from headwater.http.errors import Errors, Invalid
from headwater.http.inputs.fields import FieldType, Schema
from headwater.http.inputs.suggestions import Names

T = TypeVar("T")

_MOST_LOOKED_AT = 30
"""The unknown members of an object that are compared with a missing one."""


def parse_body(kind: FieldType[T], body: object) -> T:
    """The value of a JSON body. Raises Invalid with every rule that it breaks, by field."""
    try:
        return kind.read(body)
    except BrokenRules as broken:
        errors = broken.rules
    except ValueError as error:
        errors = {"body": [str(error)]}
    raise Invalid({name: [_sentence(name, rule) for rule in rules] for name, rules in errors.items()})


def read_pairs(pairs: Mapping[str, str], read: Callable[[str, str], None]) -> None:
    """Read settings that people type as `KEY=VALUE`, each text without the blanks around it. Raises
    Invalid with every rule that is broken, as `key: rule`.
    """
    errors: Errors = {}
    for key, typed in pairs.items():
        try:
            read(key, typed.strip())
        except ValueError as error:
            errors[key] = [f"{key}: {error}"]
    if errors:
        raise Invalid(errors)


def _sentence(name: str, rule: str) -> str:
    """A broken rule in a whole sentence, which some rules of whole bodies are already."""
    return rule if rule[:1].isupper() else f"The {name} {rule}"


class BrokenRules(ValueError):
    """Rules that parts of a value break, by the path to each from the value."""

    def __init__(self, rules: Errors) -> None:
        super().__init__("holds values that break rules.")
        self.rules = rules


class Findings:
    """Reads the parts of a value, and keeps the rules that they break by their paths."""

    def __init__(self) -> None:
        self.rules: Errors = {}

    def read(self, path: str, kind: FieldType[T], value: object) -> T | None:
        """Return the part as its type has it, or None with its broken rules kept."""
        try:
            return kind.read(value)
        except BrokenRules as broken:
            for inner, rules in broken.rules.items():
                self.rules.setdefault(f"{path}.{inner}", []).extend(rules)
        except ValueError as error:
            self.add(path, str(error))
        return None

    def add(self, path: str, rule: str) -> None:
        """Keep a rule that a part breaks."""
        self.rules.setdefault(path, []).append(rule)

    def finish(self) -> None:
        """Raise BrokenRules with everything that was kept, if anything was."""
        if self.rules:
            raise BrokenRules(self.rules)


def array_of(
    item: FieldType[T], most: int, *, least: int = 0, rule: str = "must be an array.", count_rule: str = ""
) -> FieldType[tuple[T, ...]]:
    """An array of values of one type; what is wrong with an item stands under its index."""

    def read(value: object) -> tuple[T, ...]:
        if not isinstance(value, list):
            raise ValueError(rule)
        items = cast("list[object]", value)
        if len(items) < least:
            raise ValueError(count_rule or "must have at least one item.")
        if len(items) > most:
            raise ValueError(count_rule or f"must not have more than {most} items.")
        findings = Findings()
        parts = [findings.read(str(index), item, part) for index, part in enumerate(items)]
        findings.finish()
        return tuple(cast("list[T]", parts))

    bounds = {"minItems": least} if least else {}
    return FieldType({"type": "array", **bounds, "maxItems": most, "items": item.schema}, read)


@dataclass(frozen=True)
class Property:
    """A member of an object."""

    kind: FieldType[Any]
    description: str = ""
    missing: str = ""
    """The rule that an object without it breaks; none where it may be absent."""

    @property
    def schema(self) -> Schema:
        described = {"description": self.description} if self.description else {}
        return {**described, **self.kind.schema}


def object_of(properties: Mapping[str, Property], *, if_empty: str = "") -> FieldType[dict[str, Any]]:
    """An object, read as the properties that it has: what is absent is missing from the result, so
    that it differs from null. Other members are ignored. `if_empty` is the rule that an object
    with none of the properties breaks.
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
    """A further sentence that names what may have been meant by a missing name, or nothing."""
    for word in islice(unknown, _MOST_LOOKED_AT):
        if word.isprintable() and name in names.near(word):
            return f" Is it misspelt as {word}?"
    return ""


def map_of(kinds: Mapping[str, FieldType[T]], unknown: str) -> FieldType[dict[str, T]]:
    """An object of values by name, all of them optional. `unknown` is the rule that any other
    member breaks.
    """

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


def _members(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError("must be an object.")
    return cast("dict[str, object]", value)
