"""Parameters: named values of a query or JSON object. Their definitions read and document them.

Errors are collected by parameter name, so one answer reports all of them. Unknown parameters are ignored.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast
from urllib.parse import unquote_to_bytes, urlencode

import msgspec

from headwater.http.errors import Errors, Invalid
from headwater.http.inputs.fields import REQUIRED, TEXT, FieldType, is_blank, text_of
from headwater.http.json_decoder import decode_typed

T = TypeVar("T")

_INDEX = re.compile(r"\[[0-9]*\]")
_MEMBER_NAME = re.compile("[a-z_]+")
_OBJECTS = msgspec.json.Decoder(list[dict[str, str | int | float]])
_MEMBER = re.compile(rf"\[([0-9]{{1,4}})\]\[({_MEMBER_NAME.pattern})\]")


class Input(ABC):
    """A client's values by name, and their errors so far."""

    def __init__(self, object_name: str = "") -> None:
        """`object_name` is the name of the object that has the values, if it is part of another."""
        self.errors: Errors = {}
        self._prefix = f"{object_name}." if object_name else ""

    def refuse(self, name: str, rule: str) -> None:
        """Record that the parameter `name` breaks a rule, phrased as in `Invalid.of`."""
        path = self._prefix + name
        sentences = self.errors.setdefault(path, [])
        if (sentence := f"The {path} {rule}") not in sentences:
            sentences.append(sentence)

    def read(self, name: str, kind: FieldType[T], value: object) -> T | None:
        try:
            return kind.read(value)
        except ValueError as error:
            self.refuse(name, str(error))
            return None

    def finish(self) -> None:
        """Raise Invalid if anything was refused."""
        if self.errors:
            raise Invalid(self.errors)

    @abstractmethod
    def single(self, name: str) -> object | None:
        """Return a single parameter's value. A blank one counts as missing."""

    @abstractmethod
    def several(self, name: str) -> Sequence[object]:
        """Return the values of a list parameter."""

    @abstractmethod
    def texts(self, name: str) -> list[str]:
        """Return a parameter's values as text, from any form of input."""

    @abstractmethod
    def objects(self, name: str) -> dict[int, dict[str, str]]:
        """Return a parameter's objects by index, with members as text."""


class Query(Input):
    """The query string of an address, decoded once from the raw bytes."""

    def __init__(self, raw: bytes) -> None:
        super().__init__()
        self.pairs = [self._decode(pair) for pair in raw.split(b"&") if pair]
        self._values: dict[str, list[tuple[str, str]]] = {}
        for full_name, value in self.pairs:
            name, bracket, suffix = full_name.partition("[")
            self._values.setdefault(name, []).append((bracket + suffix, value))

    def single(self, name: str) -> str | None:
        values = self._values.get(name, [])
        if len(values) > 1 or any(bracket for bracket, _ in values):
            self.refuse(name, "must be a single value.")
            return None
        return values[0][1] if values and values[0][1].strip() else None

    def several(self, name: str) -> list[str]:
        """Return the values of a parameter given as `name=a&name=b`, `name[]=a` or `name[0]=a`."""
        values = self._values.get(name, [])
        if any(bracket and not _INDEX.fullmatch(bracket) for bracket, _ in values):
            self.refuse(name, "must be a list of single values.")
        return [value for _, value in values]

    def texts(self, name: str) -> list[str]:
        return [value for _, value in self._values.get(name, [])]

    def objects(self, name: str) -> dict[int, dict[str, str]]:
        """Return objects given as a JSON list, or as `name[0][member]=…`."""
        values = self._values.get(name, [])
        if len(values) == 1 and not values[0][0]:
            return self._read_objects(name, values[0][1])
        objects: dict[int, dict[str, str]] = {}
        for bracket, value in values:
            member = _MEMBER.fullmatch(bracket)
            if member is None:
                self.refuse(name, f"must be a JSON list, or be given as {name}[0][member]=value.")
                continue
            index, key = int(member[1]), member[2]
            if key in objects.setdefault(index, {}):
                self.refuse(f"{name}.{index}.{key}", "must be a single value.")
            objects[index][key] = value
        return {index: objects[index] for index in sorted(objects)}

    def _read_objects(self, name: str, text: str) -> dict[int, dict[str, str]]:
        try:
            objects = decode_typed(text.encode(), _OBJECTS.decode, name_fields=False)
        except (Invalid, msgspec.ValidationError):
            self.refuse(name, f"must be a JSON list of objects, or be given as {name}[0][member]=value.")
            return {}
        if "\0" in "".join(text for members in objects for text in members.values() if isinstance(text, str)):
            self.refuse(name, "must not contain NUL characters.")
        return {
            index: {member: str(value) for member, value in members.items()}
            for index, members in enumerate(objects)
        }

    def url_with(self, url: str, name: str, value: str) -> str:
        """Return `url` with this query and the parameter `name` set to `value`."""
        other_pairs = [pair for pair in self.pairs if pair[0] != name]
        return f"{url}?{urlencode([*other_pairs, (name, value)])}"

    def _decode(self, text: bytes) -> tuple[str, str]:
        name, _, value = (unquote_to_bytes(decoded) for decoded in text.replace(b"+", b" ").partition(b"="))
        printable = name.decode(errors="replace")
        try:
            texts = name.decode(), value.decode()
        except UnicodeDecodeError:
            self.refuse(printable, "must be valid UTF-8.")
            return printable, ""
        if "\0" in texts[0] or "\0" in texts[1]:
            self.refuse(printable, "must not contain NUL characters.")
        return texts


class JsonInput(Input):
    """The members of a JSON object: single values, arrays of them, or arrays of objects of them. Null counts
    as missing.
    """

    def __init__(self, members: Mapping[str, object], object_name: str = "") -> None:
        super().__init__(object_name)
        self._singles: dict[str, object] = {}
        self._arrays: dict[str, list[object]] = {}
        for name, value in members.items():
            if isinstance(value, list):
                self._arrays[name] = cast("list[object]", value)
                self._check_items(name)
            elif value is not None:
                self._singles[name] = value
                self.read(name, TEXT, value)

    def single(self, name: str) -> object | None:
        if self._arrays.get(name):
            self.refuse(name, "must be a single value.")
        value = self._singles.get(name)
        return None if is_blank(value) else value

    def several(self, name: str) -> list[object]:
        items = self._items(name)
        values = [item for item in items if not isinstance(item, dict)]
        if name in self._singles or len(values) < len(items):
            self.refuse(name, "must be a list of single values.")
        return values

    def texts(self, name: str) -> list[str]:
        return [text_of(item) for item in self._items(name) if isinstance(item, str | int)]

    def objects(self, name: str) -> dict[int, dict[str, str]]:
        """Return an array's objects. A null member counts as missing."""
        objects: dict[int, dict[str, str]] = {}
        for index, item in enumerate(self._items(name)):
            members = None if name in self._singles else _filled_members(item)
            if members is None or not all(map(_MEMBER_NAME.fullmatch, members)):
                self.refuse(name, f"must be given as {name}[0][member]=value.")
            elif members:
                objects[index] = {key: self.read(name, TEXT, value) or "" for key, value in members.items()}
        return objects

    def _items(self, name: str) -> list[object]:
        single_items = [self._singles[name]] if name in self._singles else []
        return self._arrays.get(name, single_items)

    def _check_items(self, name: str) -> None:
        """Refuse an empty array, and items that are neither text nor objects with text."""
        if not self._arrays[name]:
            self.refuse(name, "must not be empty.")
        for item in self._arrays[name]:
            members = _filled_members(item)
            if members == {}:
                self.refuse(name, "must not hold empty objects.")
            for value in [item] if members is None else members.values():
                self.read(name, TEXT, value)


def _filled_members(item: object) -> dict[str, object] | None:
    if not isinstance(item, dict):
        return None
    members = cast("dict[str, object]", item)
    return {name: value for name, value in members.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Parameter(Generic[T]):
    """A parameter with a single value."""

    name: str
    kind: FieldType[T]
    description: str
    required: bool = False
    default: T | None = None
    blank_is_absent: bool = True

    def read(self, query: Input) -> T | None:
        value = query.single(self.name)
        if value is not None:
            return query.read(self.name, self.kind, value)
        sound = self.name not in query.errors
        if sound and not self.blank_is_absent and query.texts(self.name):
            return query.read(self.name, self.kind, "")
        if sound and self.required:
            query.refuse(self.name, REQUIRED)
        return self.default

    def openapi(self) -> dict[str, Any]:
        default = {} if self.default is None else {"default": self.default}
        return {
            "name": self.name,
            "in": "query",
            "required": self.required,
            "description": self.description,
            "schema": {**self.kind.schema, **default},
        }


@dataclass(frozen=True, kw_only=True)
class ListParameter(Generic[T]):
    """A parameter with a list of values, each given at most once."""

    name: str
    kind: FieldType[T]
    max_values: int
    description: str
    default: list[T] = field(default_factory=list[T])

    def read(self, query: Input) -> tuple[T, ...]:
        values = query.several(self.name)
        if len(values) > self.max_values:
            query.refuse(self.name, f"must not have more than {self.max_values} values.")
            return ()
        texts = query.texts(self.name)
        if len(set(texts)) < len(texts):
            query.refuse(self.name, "must not have the same value twice.")
        values_read = [query.read(self.name, self.kind, value) for value in values]
        return tuple(value for value in values_read or self.default if value is not None)

    def openapi(self) -> dict[str, Any]:
        default = {"default": self.default} if self.default else {}
        return {
            "name": self.name,
            "in": "query",
            "required": False,
            "description": self.description,
            "style": "form",
            "explode": True,
            "schema": {
                "type": "array",
                "minItems": 1,
                "maxItems": self.max_values,
                "uniqueItems": True,
                "items": self.kind.schema,
                **default,
            },
        }
