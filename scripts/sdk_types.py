"""JSON schemas as types of Python: the names and definitions that the generated client declares."""

# ruff: noqa: INP001 # beside a script

from __future__ import annotations

import json
import keyword
from collections.abc import Iterable, Mapping
from typing import Any

Schema = Mapping[str, Any]
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
IMPORTED = {
    "Any", "Api", "FileContent", "IO", "Iterator", "Literal", "Mapping", "NotRequired", "Sequence",
    "TypedDict",
}  # fmt: skip
FEW = 4
"""So many values stand where they are used; more get a name."""


class TypeTable:
    """The types of a document, each declared once however often its schema stands in it."""

    def __init__(self, components: Mapping[str, Schema]) -> None:
        self._components = components
        self._names: dict[str, str] = {}
        self._reserved = IMPORTED | set(components)
        self.definitions: dict[str, str] = {}

    def expression(self, schema: Schema, name: str) -> str:
        """The type of a schema; `name` is what it is called if it has to be declared."""
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            self._reserved.discard(name)
            return self.expression(self._components[name], name)
        if "const" in schema or "enum" in schema:
            return self._enumeration(schema.get("enum") or [schema["const"]], name)
        if "properties" in schema:
            return self._object(schema, name)
        if choices := schema.get("anyOf") or schema.get("oneOf"):
            parts = enumerate(choices)
            return _union(self.expression(part, f"{name}{n or ''}") for n, part in parts)
        kind = schema.get("type")
        if isinstance(kind, list):
            return _union(self.expression({**schema, "type": each}, name) for each in kind)
        return self._simple(schema, name)

    def resolve(self, schema: Schema) -> Schema:
        """The schema itself, where one refers to it by name."""
        return self._components[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema

    def _simple(self, schema: Schema, name: str) -> str:
        kind = schema.get("type")
        if kind == "array":
            return f"list[{self.expression(schema.get('items', {}), singular(name))}]"
        if kind == "object":
            values = schema.get("additionalProperties")
            inner = self.expression(values, name) if isinstance(values, Mapping) else "Any"
            return f"dict[str, {inner}]"
        return PLAIN.get(str(kind), "Any")

    def _enumeration(self, values: list[Any], name: str) -> str:
        plain = [getattr(value, "value", value) for value in values if value is not None]
        text = f"Literal[{', '.join(map(repr, plain))}]"
        kind = text if len(plain) <= FEW else self._declare(name, f"= {text}", text)
        return f"{kind} | None" if None in values else kind

    def _object(self, schema: Schema, name: str) -> str:
        required = set(schema.get("required", ()))
        fields: list[str] = []
        for field, inner in schema["properties"].items():
            assert field.isidentifier()
            assert not keyword.iskeyword(field)
            row = f"{name.removesuffix('Answer')}Row"
            kind = self.expression(inner, row if field == "data" else camel(field))
            fields.append(f"{field}: {kind if field in required else f'NotRequired[{kind}]'}")
            if text := inner.get("description"):
                fields.append(_docstring(text))
        return self._declare(name, "\n    ".join(fields), json.dumps(schema, default=str))

    def _declare(self, name: str, definition: str, meaning: str) -> str:
        """The name of a declared type: that of an equal one, or the first that is free."""
        if meaning in self._names:
            return self._names[meaning]
        free, number = name, 2
        while free in self.definitions or free in self._reserved:
            free, number = f"{name}{number}", number + 1
        self._names[meaning] = free
        self.definitions[free] = definition
        return free

    def source(self) -> str:
        """The declarations, in an order in which each stands behind those that it names."""
        return "\n\n".join(
            f"{name}: TypeAlias {text}" if text.startswith("=") else f"class {name}(TypedDict):\n    {text}"
            for name, text in self.definitions.items()
        )


def json_body(operation: Schema) -> Schema | None:
    """The schema of a body of JSON; None for a body that is a file."""
    described = operation["requestBody"]["content"].get("application/json")
    return described and described["schema"]


def camel(name: str) -> str:
    """A name of a class."""
    return "".join(part[:1].upper() + part[1:] for part in name.replace("[]", "").split("_"))


def singular(name: str) -> str:
    """What one of many is called."""
    if name.endswith("ies"):
        return f"{name[:-3]}y"
    return name.removesuffix("es") if name.endswith("ches") else name.removesuffix("s")


def _docstring(text: str) -> str:
    plain = text.replace("\\", "\\\\").replace('"', "'")
    return f'"""{plain}"""'


def _union(parts: Iterable[str]) -> str:
    several = list(dict.fromkeys(parts))
    plain = dict.fromkeys(part.removesuffix(" | None") for part in several if part != "None")
    empty = any(part == "None" or part.endswith(" | None") for part in several)
    return " | ".join([*plain, *(["None"] if empty else [])])
