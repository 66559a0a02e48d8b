"""API answers as typed structs.

Fields are the JSON members, in order. `Annotated[type, Meta(description=...)]` adds what name and type can't
say; the default `UNSET` marks an optional member. The JSON, the OpenAPI component and the client types are
generated from the struct and share its name, except for a final `Answer`, added if another class has the
name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from inspect import cleandoc
from typing import Annotated, Any, Generic, TypeVar, cast

import msgspec
from msgspec import Meta, Struct

from headwater.http.openapi import Schema, answer

Row = TypeVar("Row")

COMPONENTS = "#/components/schemas/"
_SUFFIX = re.compile(rb'("(?:#/components/schemas/)?\w+?)Answer"')

Uri = Annotated[str, Meta(extra_json_schema={"format": "uri"})]
Moment = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
"""An instant already formatted as text."""
Instant = Annotated[datetime, Meta(tz=True)]
"""An instant, with its offset from UTC."""


_ENCODER = msgspec.json.Encoder(decimal_format="number")


class Message(Struct, frozen=True):
    """Confirmation of a change."""

    message: str


class DataList(Struct, Generic[Row], frozen=True):
    """All rows of a short list."""

    data: list[Row]


class DataPage(Struct, Generic[Row], frozen=True):
    """One page of a list."""

    data: list[Row]
    path: Annotated[Uri, Meta(description="The address of the list.")]
    per_page: int
    next_cursor: str | None
    next_page_url: str | None
    prev_cursor: str | None
    prev_page_url: str | None


def encode_answer(answer: Any) -> bytes:
    """Return an answer as JSON. Decimals are numbers with all their digits."""
    return _ENCODER.encode(answer)


def describe_answer(kind: type[Struct]) -> Schema:
    """Return an OpenAPI response, described by the struct's docstring."""
    return answer(cleandoc(kind.__doc__ or ""), _refer(kind))


def describe_components(kinds: Iterable[type[Struct]]) -> dict[str, Schema]:
    _, schemas = msgspec.json.schema_components(kinds, ref_template=COMPONENTS + "{name}")
    text = msgspec.json.encode(schemas).replace(b'"type":"string","format":"decimal"', b'"type":"number"')
    components: dict[str, Schema] = msgspec.json.decode(_SUFFIX.sub(rb'\1"', text))
    for schema in components.values():
        del schema["title"]
        if "description" in schema:
            schema["description"] = cleandoc(schema["description"])
    return components


def inline_schema(kind: type[Struct]) -> Schema:
    return _inline(_refer(kind), describe_components([kind]))


def _refer(kind: type[Struct]) -> Schema:
    return {"$ref": COMPONENTS + kind.__name__.removesuffix("Answer")}


def _inline(value: Any, components: dict[str, Schema]) -> Any:
    if isinstance(value, list):
        return [_inline(item, components) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    members = cast("Schema", value)
    reference = members.get("$ref")
    if isinstance(reference, str):
        component = components[reference.removeprefix(COMPONENTS)]
        # A struct's docstring describes the struct, not the member that holds it.
        members = {name: member for name, member in component.items() if name != "description"} | members
        del members["$ref"]
    return {name: _inline(member, components) for name, member in members.items()}
