"""Query parameters: decoded once from the raw bytes, read by definitions that document them too.
The same definitions read the members of a JSON body.

Every broken rule is collected under its parameter's name, so one answer tells all of them.
Parameters that no definition reads are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast
from urllib.parse import unquote_to_bytes, urlencode

from headwater.http.errors import Errors, Invalid
from headwater.http.suggestions import Names

T = TypeVar("T")

_INDEX = re.compile(r"\[[0-9]*\]")
_MEMBER = re.compile(r"\[([0-9]{1,4})\]\[([a-z_]+)\]")
_SINGLE = "="
"""Marks a body's member that is no array; in a query a list of one looks the same."""


class Query:
    """What a client sent after the `?`, and the rules it has broken so far."""

    def __init__(self, raw: bytes) -> None:
        self.errors: Errors = {}
        self.pairs = [self._decode(part) for part in raw.split(b"&") if part]
        self._given: dict[str, list[tuple[str, str]]] = {}
        for full_name, value in self.pairs:
            name, bracket, rest = full_name.partition("[")
            self._given.setdefault(name, []).append((bracket + rest, value))

    @classmethod
    def of_body(cls, body: dict[str, Any]) -> Query:
        """The members of a JSON body: texts and whole numbers, arrays of them, or arrays of objects
        of them. Null counts as absent.
        """
        query = cls(b"")
        for name, value in body.items():
            if isinstance(value, list):
                items = cast("list[Any]", value)
                query._given[name] = list(query._items(name, items))
                if not items:
                    query.refuse(name, "must not be empty.")
            elif value is not None:
                query._given[name] = [(_SINGLE, query._text(name, value))]
        return query

    def _items(self, name: str, items: list[Any]) -> Iterator[tuple[str, str]]:
        for index, item in enumerate(items):
            if isinstance(item, dict):
                members = cast("dict[str, Any]", item)
                given = {member: value for member, value in members.items() if value is not None}
                if not given:
                    self.refuse(name, "must not hold empty objects.")
                for member, value in given.items():
                    yield f"[{index}][{member}]", self._text(name, value)
            else:
                yield "[]", self._text(name, item)

    def _text(self, name: str, value: object) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, str | int):
            return str(value)
        self.refuse(name, "must not hold numbers with fractions, arrays or objects.")
        return ""

    def refuse(self, name: str, rule: str) -> None:
        """Note that the parameter `name` breaks a rule, told as in `Invalid.of`."""
        told = self.errors.setdefault(name, [])
        if (sentence := f"The {name} {rule}") not in told:
            told.append(sentence)

    def finish(self) -> None:
        """Raise Invalid with everything that was refused, if anything was."""
        if self.errors:
            raise Invalid(self.errors)

    def one(self, name: str) -> str | None:
        """The value of a parameter that may be given once. A blank one counts as absent."""
        given = self._given.get(name, [])
        if len(given) > 1 or any(bracket.strip(_SINGLE) for bracket, _ in given):
            self.refuse(name, "must be a single value.")
            return None
        return given[0][1] if given and given[0][1].strip() else None

    def many(self, name: str) -> list[str]:
        """The values of a parameter given as `name=a&name=b`, `name[]=a` or `name[0]=a`."""
        given = self._given.get(name, [])
        if any(bracket and not _INDEX.fullmatch(bracket) for bracket, _ in given):
            self.refuse(name, "must be a list of single values.")
        return [value for _, value in given]

    def values(self, name: str) -> list[str]:
        """The values of a parameter, in whatever form it was given."""
        return [value for _, value in self._given.get(name, [])]

    def objects(self, name: str) -> dict[int, dict[str, str]]:
        """Objects given as `name[0][member]=…`, by their index. Blank members are absent."""
        found: dict[int, dict[str, str]] = {}
        for bracket, value in self._given.get(name, []):
            member = _MEMBER.fullmatch(bracket)
            if member is None:
                self.refuse(name, f"must be given as {name}[0][member]=value.")
                continue
            index, key = int(member[1]), member[2]
            if key in found.setdefault(index, {}):
                self.refuse(f"{name}.{index}.{key}", "must be a single value.")
            found[index][key] = value
        return {index: found[index] for index in sorted(found)}

    def url_with(self, url: str, name: str, value: str) -> str:
        """`url` with this query, the parameter `name` being `value`."""
        kept = [pair for pair in self.pairs if pair[0] != name]
        return f"{url}?{urlencode([*kept, (name, value)])}"

    def _decode(self, part: bytes) -> tuple[str, str]:
        name, _, value = (
            unquote_to_bytes(piece) for piece in part.replace(b"+", b" ").partition(b"=")
        )
        shown = name.decode(errors="replace")
        try:
            texts = name.decode(), value.decode()
        except UnicodeDecodeError:
            self.refuse(shown, "must be valid UTF-8.")
            return shown, ""
        if "\0" in texts[0] or "\0" in texts[1]:
            self.refuse(shown, "must not contain NUL characters.")
        return texts


@dataclass(frozen=True)
class ParameterType(Generic[T]):
    """A type of value: its JSON schema, and how its text is read.

    `parse` raises ValueError with the rule that the text breaks.
    """

    schema: dict[str, Any]
    parse: Callable[[str], T]


def whole_number(low: int, high: int) -> ParameterType[int]:
    """An integer in ASCII digits between two bounds."""

    def parse(text: str) -> int:
        number = int(text) if re.fullmatch("[0-9]{1,18}", text) else low - 1
        if not low <= number <= high:
            raise ValueError(f"must be a whole number from {low} to {high}.")
        return number

    return ParameterType({"type": "integer", "minimum": low, "maximum": high}, parse)


def one_of(values: Sequence[T]) -> ParameterType[T]:
    """One of a closed list of strings or integers."""
    by_text = {str(value): value for value in values}
    names = Names(by_text)

    def parse(text: str) -> T:
        if text not in by_text:
            raise ValueError(names.refusal(text))
        return by_text[text]

    type_name = "integer" if isinstance(values[0], int) else "string"
    return ParameterType({"type": type_name, "enum": list(values)}, parse)


@dataclass(frozen=True, kw_only=True)
class Parameter(Generic[T]):
    """A parameter with a single value."""

    name: str
    kind: ParameterType[T]
    description: str
    required: bool = False
    default: T | None = None
    blank_is_absent: bool = True

    def read(self, query: Query) -> T | None:
        text = query.one(self.name)
        blank = text is None and bool(query.values(self.name)) and self.name not in query.errors
        if blank and not self.blank_is_absent:
            return _parsed(query, self.name, self.kind, "")
        if text is None:
            if self.required and self.name not in query.errors:
                query.refuse(self.name, "is required.")
            return self.default
        return _parsed(query, self.name, self.kind, text)

    def openapi(self) -> dict[str, Any]:
        default = {} if self.default is None else {"default": self.default}
        return {
            "name": self.name, "in": "query", "required": self.required,
            "description": self.description, "schema": {**self.kind.schema, **default},
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ListParameter(Generic[T]):
    """A parameter with a list of values, each given at most once."""

    name: str
    kind: ParameterType[T]
    most: int
    description: str
    default: list[T] = field(default_factory=list[T])

    def read(self, query: Query) -> tuple[T, ...]:
        texts = query.many(self.name)
        if len(texts) > self.most:
            query.refuse(self.name, f"must not have more than {self.most} values.")
            return ()
        if len(set(texts)) < len(texts):
            query.refuse(self.name, "must not have the same value twice.")
        found = [_parsed(query, self.name, self.kind, text) for text in texts]
        return tuple(value for value in found or self.default if value is not None)

    def openapi(self) -> dict[str, Any]:
        default = {"default": self.default} if self.default else {}
        return {
            "name": f"{self.name}[]", "in": "query", "required": False,
            "description": self.description, "style": "form", "explode": True,
            "schema": {
                "type": "array", "minItems": 1, "maxItems": self.most, "uniqueItems": True,
                "items": self.kind.schema, **default,
            },
        }  # fmt: skip


def _parsed(query: Query, name: str, kind: ParameterType[T], text: str) -> T | None:
    try:
        return kind.parse(text)
    except ValueError as error:
        query.refuse(name, str(error))
        return None
