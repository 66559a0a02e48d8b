"""Translation of expressions of 0.1.0, whose webhooks had their own language, to JMESPath. Pure.

    total > minor(currency) | items[*].price > sum > negative

Bars separated alternatives, arrows preceded conversions, `[key=text]` picked an item of a list,
`$header.name` a header. For every delivery a translation has the value, or the error, of its
original.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache

_HEADER = "$header"
_SPACE = re.compile(r"\s*")
_CONSTANT = re.compile(
    r'"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?![\w.])|(?:true|false)(?![\w.\[])'
)
_STEP = re.compile(
    r'\.?(?P<name>[^\s.\[\]|>()"]+)'
    r"|\[(?P<index>[0-9]{1,6})\]"
    r"|(?P<every>\[\*\])"
    r'|\["(?P<quoted>[^"]+)"\]'
    r"|\[(?P<key>[^\s=\[\]]+)=(?P<wanted>[^\]]*)\]"
)
_CONVERSION = re.compile(r">\s*(?P<name>[a-z_]+)(?:\(\s*(?P<argument>[^()]*?)\s*\))?")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SIMPLE = re.compile(r"[\w.]*(?:\[[0-9]+\][\w.]*)*")
_PLAIN_TEXT = re.compile(r"[^'\\`\x00-\x1f]*")
_NUMERIC = re.compile(r"[-+.0-9eE]+")

_OF_A_VALUE = {
    "cents": "from_minor_units", "negative": "negative", "sum": "total",
    "milliseconds": "from_milliseconds", "source": "url_source", "host": "url_host",
}  # fmt: skip
_WITH_A_PATH = {"minor": "from_minor_units", "minus": "subtract", "within": "absolute_url"}


_UNMISTAKABLE = re.compile(
    rf">\s*(?:parameter|{'|'.join([*_OF_A_VALUE, *_WITH_A_PATH])})\b|\|\s*[\w$]"
)
"""Syntax that is useless in JMESPath, where an arrow compares and a bar reads what precedes it."""


def modernise(text: str) -> str | None:
    """Return the translation of a text that can only be an expression of 0.1.0, or None."""
    if not _UNMISTAKABLE.search(text):
        return None
    try:
        return translate(text)
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def translate(text: str) -> str:
    """Return an expression of 0.1.0 as JMESPath. Raises ValueError for any other text."""
    return _Translation(text).expression()


class _Translation:
    """An expression, and the position that it has been read to."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def expression(self) -> str:
        alternatives = [self._alternative()]
        while self._text.startswith("|", self._at):
            self._at += 1
            alternatives.append(self._alternative())
        self._must_end()
        return alternatives[0] if len(alternatives) == 1 else _call("not_blank", *alternatives)

    def whole_path(self) -> str:
        path = self._path()
        self._must_end()
        return path

    def _alternative(self) -> str:
        self._skip_blanks()
        start = self._at
        value = self._take(_CONSTANT)
        value = self._path() if value is None else _constant(value[0])
        may_be_empty = "[*]" not in self._text[start : self._at]
        self._skip_blanks()
        while conversion := self._take(_CONVERSION):
            name, argument = conversion["name"], conversion["argument"]
            value = _converted(value, name, argument, may_be_empty=may_be_empty)
            may_be_empty = False
            self._skip_blanks()
        return value

    def _path(self) -> str:
        first = self._take(_STEP)
        if first is None:
            raise ValueError(f"is no expression of 0.1.0: {self._text}")
        if _member(first) == _HEADER:
            return self._header()
        return self._steps(first)

    def _header(self) -> str:
        name = self._take(_STEP)
        if name is None or _member(name) is None or self._take(_STEP):
            raise ValueError(f"is no expression of 0.1.0: {self._text}")
        return _call("header", _text(_member(name) or ""))

    def _steps(self, step: re.Match[str] | None) -> str:
        """Return the path from a step on, with a pipe after each list with a picked item."""
        path = ""
        while step:
            if step["every"]:
                return self._every(path)
            path = _picked(path, step) if step["key"] else _stepped(path, step)
            step = self._take(_STEP)
        return path

    def _every(self, path: str) -> str:
        """Return the rest of the path applied to every item; null rather than an empty list."""
        rest = self._steps(self._take(_STEP))
        if _SIMPLE.fullmatch(rest):
            projected = f".{rest}" if rest and not rest.startswith("[") else rest
        else:
            projected = f".{_call('not_null', rest)}"
        return f"({path}[*]{projected} || `null`)"

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return match

    def _skip_blanks(self) -> None:
        self._take(_SPACE)

    def _must_end(self) -> None:
        if self._at < len(self._text):
            raise ValueError(f"is no expression of 0.1.0: {self._text}")


def _member(step: re.Match[str]) -> str | None:
    return step["name"] or step["quoted"]


def _stepped(path: str, step: re.Match[str]) -> str:
    if step["index"]:
        return f"{path}[{int(step['index'])}]"
    name = _name(_member(step) or "")
    return f"{path}.{name}" if path else name


def _picked(path: str, step: re.Match[str]) -> str:
    return f"{path}[?{_condition(_name(step['key']), step)}] | [0]"


def _condition(key: str, step: re.Match[str]) -> str:
    """Return the condition that a member equals a text, which was compared as Python prints it."""
    wanted = step["wanted"]
    equal = f"{key}=={_text(wanted)}"
    match wanted:
        case "True" | "False":
            return f"{equal} || {key}==`{wanted.lower()}`"
        case "None":
            there = f"type(@)=='object' && contains(keys(@), {_text(step['key'])})"
            return f"{equal} || {there} && {key}==`null`"
        case _ if _NUMERIC.fullmatch(wanted):
            return f"to_string({key})=={_text(wanted)}"
        case _:
            return equal


def _constant(text: str) -> str:
    if "." in text and not text.startswith('"'):
        return _call("number", _text(text))  # as it is written, to the last digit
    value = json.loads(text)
    return _text(value) if isinstance(value, str) else f"`{text}`"


def _converted(value: str, name: str, argument: str | None, *, may_be_empty: bool) -> str:
    if (name in _OF_A_VALUE) != (not argument):
        raise ValueError(f"is no conversion of 0.1.0: {name}")
    if name == "sum" and may_be_empty:
        # An empty list added up to 0, but `[*]` gave no list where it had no values.
        return _call("not_null", _call("total", value), f"({value})==`[]` && `0` || `null`")
    if name in _OF_A_VALUE:
        return _call(_OF_A_VALUE[name], value)
    if name == "parameter":
        return _call("url_parameter", value, _text(argument or ""))
    if name not in _WITH_A_PATH:
        raise ValueError(f"is no conversion of 0.1.0: {name}")
    return _call(_WITH_A_PATH[name], value, _Translation(argument or "").whole_path())


def _call(function: str, *arguments: str) -> str:
    return f"{function}({', '.join(arguments)})"


def _name(text: str) -> str:
    return text if _IDENTIFIER.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _text(text: str) -> str:
    if _PLAIN_TEXT.fullmatch(text):
        return f"'{text}'"
    return "`" + json.dumps(text).replace("`", "\\u0060") + "`"
