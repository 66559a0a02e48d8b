"""The mapping language: where in a delivery a value is, and what is made of it. Pure.

    data.object.customer_details.email | data.object.customer_email
    total > cents
    items[*].price > sum > negative
    note_attributes[name=trk_token].value
    $header.x-request-id
    "a constant"

Alternatives stand between bars: the first that gives a value counts. Each is a path or a
constant, and what is to be made of it after arrows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, cast

import msgspec

from headwater.webhooks.models import MappingInput
from tests.models.path_conversions import CONVERSIONS, Takes

HEADER = "$header"
FORBIDDEN_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie"})
LONGEST = 2000

_decode = msgspec.json.Decoder(float_hook=Decimal).decode

_SPACE = re.compile(r"\s*")
_CONSTANT = re.compile(
    r'"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?![\w.])|(?:true|false)(?![\w.\[])'
)
_STEP = re.compile(
    r'\.?(?P<name>[^\s.\[\]|>()"]+)'
    r"|\[(?P<index>[0-9]{1,6})\]"
    r"|\[(?P<all>\*)\]"
    r'|\["(?P<quoted>[^"]+)"\]'
    r"|\[(?P<key>[^\s=\[\]]+)=(?P<wanted>[^\]]*)\]"
)
_CONVERSION = re.compile(r">\s*(?P<name>[a-z_]+)(?:\(\s*(?P<argument>[^()]*?)\s*\))?")


@dataclass(frozen=True)
class _Member:
    name: str

    def of(self, value: Any) -> Any:
        return cast("dict[str, Any]", value).get(self.name) if isinstance(value, dict) else None


@dataclass(frozen=True)
class _Item:
    index: int

    def of(self, value: Any) -> Any:
        items = cast("list[Any]", value) if isinstance(value, list) else []
        return items[self.index] if self.index < len(items) else None


@dataclass(frozen=True)
class _Having:
    """The first item that has a member with this text."""

    key: str
    wanted: str

    def of(self, value: Any) -> Any:
        for item in cast("list[Any]", value) if isinstance(value, list) else []:
            if isinstance(item, dict):
                members = cast("dict[str, Any]", item)
                if self.key in members and str(members[self.key]) == self.wanted:
                    return members
        return None


@dataclass(frozen=True)
class _Every:
    """What the rest of the path finds in each item."""

    rest: tuple[_Step, ...]

    def of(self, value: Any) -> Any:
        items = cast("list[Any]", value) if isinstance(value, list) else []
        found = [_walk(self.rest, item) for item in items]
        return [each for each in found if each is not None] or None


_Step = _Member | _Item | _Having | _Every


def _walk(steps: Sequence[_Step], value: Any) -> Any:
    for step in steps:
        value = step.of(value)
        if value is None:
            return None
    return value


@dataclass(frozen=True)
class Path:
    """Where a value is."""

    steps: tuple[_Step, ...]
    header: str | None = None

    def find(self, document: MappingInput) -> Any:
        """The value, or None when it is not there."""
        if self.header is not None:
            return document.headers.get(self.header)
        return _walk(self.steps, document.body)


@dataclass(frozen=True)
class _Constant:
    value: Any

    def find(self, _: MappingInput) -> Any:
        return self.value


@dataclass(frozen=True)
class _Conversion:
    name: str
    argument: Path | str | None

    def apply(self, value: Any, document: MappingInput) -> Any:
        argument = self.argument
        if isinstance(argument, Path):
            argument = argument.find(document)
        return CONVERSIONS[self.name].function(value, argument)


@dataclass(frozen=True)
class _Alternative:
    source: Path | _Constant
    conversions: tuple[_Conversion, ...]

    def find(self, document: MappingInput) -> Any:
        value = self.source.find(document)
        for conversion in self.conversions:
            if _absent(value):
                return None
            value = conversion.apply(value, document)
        return None if _absent(value) else value


@dataclass(frozen=True)
class Expression:
    """An expression, ready to be asked."""

    alternatives: tuple[_Alternative, ...]

    def find(self, document: MappingInput) -> Any:
        """The first alternative's value that is there, else None. Raises ValueError, with a rule
        such as "must be a number.", when what is there does not fit.
        """
        for alternative in self.alternatives:
            value = alternative.find(document)
            if value is not None:
                return value
        return None

    def headers(self) -> set[str]:
        """The headers it looks at."""
        paths = [
            path
            for one in self.alternatives
            for path in (one.source, *(conversion.argument for conversion in one.conversions))
        ]
        return {path.header for path in paths if isinstance(path, Path) and path.header}


def _absent(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


@lru_cache(maxsize=4096)
def parse(text: str) -> Expression:
    """Read an expression. Raises ValueError that says where it cannot be read."""
    if len(text) > LONGEST:
        raise ValueError(f"must be at most {LONGEST} characters long.")
    return _Parser(text).expression()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def expression(self) -> Expression:
        alternatives = [self._alternative()]
        while self._next("|"):
            alternatives.append(self._alternative())
        if self._at < len(self._text):
            raise self._unreadable()
        return Expression(tuple(alternatives))

    def whole_path(self) -> Path:
        path = self._path()
        if self._at < len(self._text):
            raise self._unreadable()
        return path

    def _alternative(self) -> _Alternative:
        self._skip()
        constant = _CONSTANT.match(self._text, self._at)
        if constant:
            self._at = constant.end()
            try:
                source = _Constant(_decode(constant[0]))
            except msgspec.DecodeError:
                raise ValueError(f"holds a text that cannot be read: {constant[0]}") from None
        else:
            source = self._path()
        conversions: list[_Conversion] = []
        self._skip()
        while conversion := _CONVERSION.match(self._text, self._at):
            self._at = conversion.end()
            conversions.append(_read_conversion(conversion["name"], conversion["argument"]))
            self._skip()
        return _Alternative(source, tuple(conversions))

    def _path(self) -> Path:
        steps = self._steps()
        if not steps:
            raise self._unreadable()
        return _header_path(steps) if steps[0] == _Member(HEADER) else Path(steps)

    def _steps(self) -> tuple[_Step, ...]:
        steps: list[_Step] = []
        while step := _STEP.match(self._text, self._at):
            self._at = step.end()
            if step["all"]:
                steps.append(_Every(self._steps()))
                break
            steps.append(_read_step(step))
        return tuple(steps)

    def _next(self, sign: str) -> bool:
        self._skip()
        found = self._text.startswith(sign, self._at)
        self._at += found
        return found

    def _skip(self) -> None:
        blank = _SPACE.match(self._text, self._at)
        assert blank is not None
        self._at = blank.end()

    def _unreadable(self) -> ValueError:
        rest = self._text[self._at : self._at + 20]
        return ValueError(f"cannot be read at “{rest}”." if rest else "ends too early.")


def _read_step(step: re.Match[str]) -> _Step:
    if step["index"]:
        return _Item(int(step["index"]))
    if step["key"]:
        return _Having(step["key"], step["wanted"])
    return _Member(step["name"] or step["quoted"])


def _header_path(steps: Sequence[_Step]) -> Path:
    names = [step.name for step in steps if isinstance(step, _Member)]
    if len(steps) != 2 or len(names) != 2:
        raise ValueError(f"must name one header after {HEADER}.")
    header = names[1].lower()
    if header in FORBIDDEN_HEADERS:
        raise ValueError(f"must not read {header}.")
    return Path((), header)


def _read_conversion(name: str, argument: str | None) -> _Conversion:
    known = CONVERSIONS.get(name)
    if known is None:
        raise ValueError(f"names {name}, which is none of {', '.join(CONVERSIONS)}.")
    if (known.takes is Takes.NOTHING) != (not argument):
        needs = "takes nothing" if known.takes is Takes.NOTHING else "needs something"
        raise ValueError(f"names {name}, which {needs} in brackets.")
    if known.takes is Takes.A_PATH:
        return _Conversion(name, _Parser(argument or "").whole_path())
    return _Conversion(name, argument)
