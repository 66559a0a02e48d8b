"""Convert JSON schemas to Python types for the generated client."""

# ruff: noqa: INP001 # beside a script

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

Schema = Mapping[str, Any]
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
IMPORTED = {
    "Any", "Api", "Decimal", "FileContent", "IO", "Iterator", "Literal", "Mapping", "NotRequired", "Sequence",
    "TypedDict", "date", "datetime",
}  # fmt: skip
NAMES = {
    "Import.kind": "ImportKind",
    "Import.status": "ImportStatus",
    "DeliveryAttempt.status": "DeliveryStatus",
    "DeliveryDetail.status": "DeliveryStatus",
    "list_deliveries.status": "DeliveryStatus",
    "list_deliveries.reason": "DeliveryReason",
    "ReplayDeliveriesBody.reason": "ReplayReason",
    "CreateDestinationBody.platform": "DestinationPlatform",
    "CreateSpendConnectionBody.platform": "SpendPlatformName",
    "list_events.fields": "EventFields",
    "CreateEventExportBody.fields": "EventFields",
    "ComparisonStep.step": "ComparisonStepName",
    "list_credits.credit": "CreditState",
    "get_report.group_by": "ReportGroupBy",
    "get_cohorts.group_by": "CohortGroupBy",
    "get_spend_report.group_by": "SpendGroupBy",
    "PutAdsBody.ads": "AdInputs",
    "PutRatesBody.rates": "RateInputs",
    "PutSpendBody.spend": "SpendInput",
}
"""Type names in the Python client for the fields and parameters whose own names are ambiguous."""
FEW = 4
"""Literals with more values get a name."""


class TypeTable:
    """The types of a document, declared once each."""

    is_input = False
    """Whether the types belong to a request body, which accepts decimals and times as Python values."""

    def __init__(self, components: Mapping[str, Schema]) -> None:
        self._components = components
        self._names: dict[str, str] = {}
        self._reserved = IMPORTED | set(components)
        self.definitions: dict[str, str] = {}

    def expression(self, schema: Schema, name: str) -> str:
        """Return a schema's type; `name` is used if it must be declared."""
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
            return _union(self.expression(choice, f"{name}{n or ''}") for n, choice in parts)
        kind = schema.get("type")
        if isinstance(kind, list):
            return _union(self.expression({**schema, "type": single_kind}, name) for single_kind in kind)
        return self._simple_type(schema, name)

    def resolve(self, schema: Schema) -> Schema:
        """Resolve a reference."""
        return self._components[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema

    def _simple_type(self, schema: Schema, name: str) -> str:
        kind = schema.get("type")
        if kind == "array":
            return f"list[{self.expression(schema.get('items', {}), singular(name))}]"
        if kind == "object":
            values = schema.get("additionalProperties")
            inner = self.expression(values, name) if isinstance(values, Mapping) else "Any"
            return f"dict[str, {inner}]"
        plain = PLAIN.get(str(kind), "Any")
        return _add_converted_types(plain, schema) if self.is_input else plain

    def _enumeration(self, values: list[Any], name: str) -> str:
        plain = [getattr(value, "value", value) for value in values if value is not None]
        text = f"Literal[{', '.join(map(repr, plain))}]"
        kind = text if len(plain) <= FEW else self._declare(name, f"= {text}", repr(sorted(map(repr, plain))))
        return f"{kind} | None" if None in values else kind

    def _object(self, schema: Schema, name: str) -> str:
        required_fields = set(schema.get("required", ()))
        fields: list[str] = []
        for field, inner in schema["properties"].items():
            assert field.isidentifier()
            assert not keyword.iskeyword(field)
            row = f"{name.removesuffix('Answer')}Row"
            type_name = NAMES.get(f"{name}.{field}", row if field == "data" else camel(field))
            kind = self.expression(inner, type_name)
            fields.append(f"{field}: {kind if field in required_fields else f'NotRequired[{kind}]'}")
            if text := inner.get("description"):
                fields.append(_docstring(text))
        return self._declare(name, "\n    ".join(fields), json.dumps(schema, default=str))

    def _declare(self, name: str, definition: str, meaning: str) -> str:
        """Return the name of an equal type, or else the first free name."""
        if meaning in self._names:
            return self._names[meaning]
        free, number = name, 2
        while free in self.definitions or free in self._reserved:
            free, number = f"{name}{number}", number + 1
        self._names[meaning] = free
        self.definitions[free] = definition
        return free

    def source(self) -> str:
        """Return the declarations, dependencies first."""
        return "\n\n".join(
            f"{name}: TypeAlias {text}" if text.startswith("=") else f"class {name}(TypedDict):\n    {text}"
            for name, text in self.definitions.items()
        )


def json_body(operation: Schema) -> Schema | None:
    """Return a JSON body's schema, or None for a file."""
    json_content = operation["requestBody"]["content"].get("application/json")
    return json_content and json_content["schema"]


def camel(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.replace("[]", "").split("_"))


def singular(name: str) -> str:
    """Return the singular of a name."""
    if name.endswith("ies"):
        return f"{name[:-3]}y"
    return name.removesuffix("es") if name.endswith("ches") else name.removesuffix("s")


def _docstring(text: str) -> str:
    plain = text.replace("\\", "\\\\").replace('"', "'")
    return f'"""{plain}"""'


def _add_converted_types(type_text: str, schema: Schema) -> str:
    """Add the Python types that the client converts for numbers, times and days."""
    if type_text == "float":
        return "float | Decimal"
    if type_text == "str" and (pattern := schema.get("pattern")):
        moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
        if re.search(pattern, moment.isoformat()) and not re.search(pattern, "text"):
            return "str | datetime"
        if schema.get("format") == "date":
            return "str | date"
    return type_text


def _union(parts: Iterable[str]) -> str:
    split = [kind for choice in parts for kind in ([choice] if "[" in choice else choice.split(" | "))]
    several = list(dict.fromkeys(split))
    plain = dict.fromkeys(choice.removesuffix(" | None") for choice in several if choice != "None")
    empty = any(choice == "None" or choice.endswith(" | None") for choice in several)
    return " | ".join([*plain, *(["None"] if empty else [])])
