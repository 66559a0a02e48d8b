"""Tools: name, description, arguments, answer and domain function.

Arguments are described by the definitions that read the public API's parameters, so both always agree.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct

from headwater.assistants.mcp.context import ToolContext
from headwater.assistants.mcp.schemas import Schema, outline, short_arguments
from headwater.http.answers import inline_schema
from headwater.http.errors import MAX_FAULTS, Conflict, Invalid, NotFound, Problem, shorten
from headwater.http.inputs.fields import BLANK
from headwater.http.inputs.objects import write_rule
from headwater.http.inputs.parameters import ListParameter, Parameter
from headwater.http.openapi import object_schema

Arguments = dict[str, Any]
Call = Callable[[ToolContext, Arguments], Awaitable[Any]]


ID: Schema = {"type": "integer", "minimum": 1}
NEXT_CURSOR: Schema = {"type": ["string", "null"]}


@dataclass(frozen=True)
class Tool:
    """A tool. `call` raises Problem for a failure that the assistant can fix."""

    name: str
    title: str
    description: str
    answer: type[Struct] | Schema
    """The type of `call`'s answer, or its JSON schema: an object."""
    call: Call
    arguments: Mapping[str, Schema] = field(default_factory=dict[str, Schema])
    required: tuple[str, ...] = ()
    writes: bool = False
    destructive: bool = False
    """Whether a call may remove existing data."""
    idempotent: bool = False
    """Whether repeating a call changes nothing more."""
    clears: bool = False
    """Whether a null argument removes a value; otherwise null means missing."""
    hint: str = ""
    """Advice for a call whose subject does not exist."""

    @cached_property
    def input_schema(self) -> Schema:
        """Return a schema that forbids additional arguments."""
        return short_arguments(
            {"type": "object", "properties": dict(self.arguments), "required": list(self.required)},
            with_null=self.clears,
        )

    @cached_property
    def output_schema(self) -> Schema | None:
        """Return only members with a description, for the tool list."""
        return outline(self.answer_schema)

    @cached_property
    def answer_schema(self) -> Schema:
        return inline_schema(self.answer) if isinstance(self.answer, type) else self.answer

    def check(self, arguments: Arguments) -> None:
        """Raise Invalid for unknown or missing arguments."""
        unknown = (name for name in arguments if name not in self.arguments)
        errors = {name: [f"There is no argument {shorten(name)}."] for name in islice(unknown, MAX_FAULTS)}
        for name in islice(errors, 1):  # the list is long, so once is enough
            there_are = ", ".join(self.arguments) or "none"
            errors[name] = [f"There is no argument {shorten(name)}; there are: {there_are}."]
        errors |= {
            name: [f"The {name} is required."]
            for name in self.required
            if name not in arguments or (arguments[name] is None and not _takes_null(self.arguments[name]))
        }
        if errors:
            raise Invalid(errors)

    def explain(self, problem: Problem) -> str:
        lines = [problem.message]
        if isinstance(problem, Invalid):
            lines = [write_rule(name, rule) for name, rules in problem.errors.items() for rule in rules]
        elif isinstance(problem, Conflict):
            lines.append(msgspec.json.encode(problem.extra).decode())
        elif isinstance(problem, NotFound) and self.hint:
            lines.append(self.hint)
        return "\n".join(lines)


def _takes_null(schema: Schema) -> bool:
    choices = schema.get("anyOf", [schema])
    return any("null" in choice.get("type", ()) for choice in choices)


def describe_arguments(*parameters: Parameter[Any] | ListParameter[Any]) -> dict[str, Schema]:
    descriptions = {parameter.name: parameter.openapi() for parameter in parameters}
    return {
        name: {**_filled(parameter["schema"]), "description": parameter["description"]}
        for name, parameter in descriptions.items()
    }


def _filled(schema: Schema) -> Schema:
    """Remove the blank text that queries allow."""
    if "anyOf" not in schema:
        return schema
    return schema | {"anyOf": [choice for choice in schema["anyOf"] if choice != BLANK]}


def as_in(tool: str, arguments: Mapping[str, Schema]) -> dict[str, Schema]:
    """Keep only the types of another tool's arguments: the tool list has their descriptions, values and
    defaults once.
    """
    return {
        name: {**without_values(schema), "description": f"As in {tool}."}
        for name, schema in arguments.items()
    }


def without_values(schema: Schema) -> Schema:
    """Remove values and default, which another tool lists. Yes or no stays, so that true is read as 1."""
    short = {
        name: value for name, value in schema.items() if name not in ("enum", "default") or value == [0, 1]
    }
    return short | {"items": {"type": short["items"]["type"]}} if "items" in short else short


def make_page_schema(row: Schema, **other_properties: Schema) -> Schema:
    """Add members besides the rows; rows omit null."""
    rows = {"type": "array", "items": partial(row)}
    return object_schema({"rows": rows, "next_cursor": NEXT_CURSOR, **other_properties}, *other_properties)


def partial(row: Schema) -> Schema:
    """Make all members optional."""
    if "anyOf" in row:
        return {"anyOf": [partial(choice) for choice in row["anyOf"]]}
    return {name: value for name, value in row.items() if name != "required"}


def make_schema(answer: type[Struct] | Mapping[str, Any]) -> Schema:
    return (
        inline_schema(answer) if isinstance(answer, type) else answer["content"]["application/json"]["schema"]
    )


def make_bare_schema(answer: type[Struct] | Mapping[str, Any]) -> Schema:
    return without_words(make_schema(answer))


def without_words(schema: Schema) -> Schema:
    """Remove descriptions of self-explanatory members."""
    members: dict[str, Schema] = schema["properties"]
    plain = {
        name: {key: value for key, value in member.items() if key != "description"}
        for name, member in members.items()
    }
    return {**schema, "properties": plain}


def rows_schema(page: type[Struct]) -> Schema:
    return make_schema(page)["properties"]["data"]["items"]
