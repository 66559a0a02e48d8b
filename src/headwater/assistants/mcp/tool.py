"""The definition of a tool: its name, its description, its arguments, the shape of its answer, and the domain
function behind it.

The definitions that read parameters of the public API also describe the arguments, so the two cannot differ.
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
from headwater.http.inputs.parameters import ListParameter, Parameter
from headwater.http.openapi import object_schema

Arguments = dict[str, Any]
Call = Callable[[ToolContext, Arguments], Awaitable[Any]]

ID: Schema = {"type": "integer", "minimum": 1}
NEXT_CURSOR: Schema = {"type": ["string", "null"]}


@dataclass(frozen=True)
class Tool:
    """One tool. `call` raises Problem for a failure that the assistant can mend."""

    name: str
    title: str
    description: str
    answer: type[Struct] | Schema
    """The type of the answer of `call`, or its JSON schema: an object."""
    call: Call
    arguments: Mapping[str, Schema] = field(default_factory=dict[str, Schema])
    required: tuple[str, ...] = ()
    writes: bool = False
    destructive: bool = False
    """True when a call may take something away that was there before."""
    idempotent: bool = False
    """True when the same call again changes nothing more."""
    clears: bool = False
    """True when null for an argument takes away what was there; else it is as if left out."""
    hint: str = ""
    """Advice for a call whose subject does not exist."""

    @cached_property
    def input_schema(self) -> Schema:
        """Return the JSON schema of the arguments, without additional ones."""
        return short_arguments(
            {"type": "object", "properties": dict(self.arguments), "required": list(self.required)},
            with_null=self.clears,
        )

    @cached_property
    def output_schema(self) -> Schema | None:
        """Return the JSON schema of the answer in the list of tools: the members with a description."""
        return outline(self.answer_schema)

    @cached_property
    def answer_schema(self) -> Schema:
        """Return the JSON schema of the answer."""
        return inline_schema(self.answer) if isinstance(self.answer, type) else self.answer

    def check(self, arguments: Arguments) -> None:
        """Raise Invalid for arguments that are unknown or missing."""
        unknown = (name for name in arguments if name not in self.arguments)
        errors = {name: [f"There is no argument {shorten(name)}."] for name in islice(unknown, MAX_FAULTS)}
        for name in islice(errors, 1):  # the list is long, and once is enough
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
        """Explain a problem and its remedy to an assistant."""
        lines = [problem.message]
        if isinstance(problem, Invalid):
            lines = [_named(name, rule) for name, rules in problem.errors.items() for rule in rules]
        elif isinstance(problem, Conflict):
            lines.append(msgspec.json.encode(problem.extra).decode())
        elif isinstance(problem, NotFound) and self.hint:
            lines.append(self.hint)
        return "\n".join(lines)


def _takes_null(schema: Schema) -> bool:
    choices = schema.get("anyOf", [schema])
    return any("null" in choice.get("type", ()) for choice in choices)


def _named(name: str, rule: str) -> str:
    return rule if rule[:1].isupper() else f"The {name} {rule}"


def arguments_of(*parameters: Parameter[Any] | ListParameter[Any]) -> dict[str, Schema]:
    """Arguments read by these definitions."""
    described = {parameter.name: parameter.openapi() for parameter in parameters}
    return {
        name: {**_filled(parameter["schema"]), "description": parameter["description"]}
        for name, parameter in described.items()
    }


def _filled(schema: Schema) -> Schema:
    """The schema of a value without the blank text that an address may have in its place."""
    if "anyOf" not in schema:
        return schema
    return schema | {"anyOf": [each for each in schema["anyOf"] if each != BLANK]}


def as_in(tool: str, arguments: Mapping[str, Schema]) -> dict[str, Schema]:
    """Return arguments that another tool describes, with their types alone: the list of tools has
    their words, values and defaults once.
    """
    return {
        name: {**without_values(schema), "description": f"As in {tool}."}
        for name, schema in arguments.items()
    }


def without_values(schema: Schema) -> Schema:
    """Return the schema of an argument without its values and default, which another lists."""
    short = {name: part for name, part in schema.items() if name not in ("enum", "default")}
    return short | {"items": {"type": short["items"]["type"]}} if "items" in short else short


def list_of(row: Schema, **also: Schema) -> Schema:
    """The schema of one page of a list, with members beside the rows; a row leaves out what is
    null.
    """
    rows = {"type": "array", "items": partial(row)}
    return object_schema({"rows": rows, "next_cursor": NEXT_CURSOR, **also}, *also)


def partial(row: Schema) -> Schema:
    """The schema of an object any of whose members may be left out."""
    if "anyOf" in row:
        return {"anyOf": [partial(choice) for choice in row["anyOf"]]}
    return {name: part for name, part in row.items() if name != "required"}


def schema_of(answer: type[Struct] | Mapping[str, Any]) -> Schema:
    """The schema of a body or an answer of the public API."""
    return (
        inline_schema(answer) if isinstance(answer, type) else answer["content"]["application/json"]["schema"]
    )


def answer_of(answer: type[Struct] | Mapping[str, Any]) -> Schema:
    """The schema of an answer of the public API whose members go without saying."""
    return without_words(schema_of(answer))


def without_words(schema: Schema) -> Schema:
    """The schema of an answer whose members go without saying."""
    members: dict[str, Schema] = schema["properties"]
    plain = {
        name: {key: part for key, part in member.items() if key != "description"}
        for name, member in members.items()
    }
    return {**schema, "properties": plain}


def rows_schema(page: type[Struct]) -> Schema:
    """The schema of the rows of a list of the public API."""
    return schema_of(page)["properties"]["data"]["items"]
