"""Every regular expression of the package, found in its modules and its source, with the hardest texts for
it.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from re import _parser as parser  # type: ignore[attr-defined]
from types import ModuleType, UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from msgspec import Meta, Struct

import headwater
from headwater.forwarding.deliveries.id_forms import FORMS
from headwater.forwarding.platforms.platform import Platform

FUNCTIONS = frozenset({
    "compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer",
})  # fmt: skip
HEADWATER = r"(?<!\w)Headwater(?!\w)"
LOCAL: Mapping[tuple[str, str], list[str]] = {
    ("headwater.assistants.oauth.clients", 'rf"(?<!\\w){re.escape(brand)}(?!\\w)"'): [
        r"(?<!\w)Headwater(?!\w)"
    ],
    ("headwater.http.inputs.period_words", "pattern"): [],  # in the module's table, where it is found
    ("headwater.forwarding.destinations.inputs", "pattern"): [],  # of a platform, found as name_pattern
    ("headwater.http.inputs.account_settings", "pattern"): [],  # found in the platforms' settings
    ("headwater.forwarding.deliveries.id_forms", "pattern"): [form.pattern for form in FORMS.values()],
    ("headwater.intake.imports.spend_reader", "plain_form"): [
        "\t".join([r"[0-9]{1,12}(?:\.[0-9]{1,6})?", *["[0-9]{1,15}"] * 2, r"\\N"])
    ],
}
"""Expressions that functions build from values outside their module, written out."""


@dataclass(frozen=True)
class Use:
    """A pattern, and the methods that it is used with."""

    location: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]

    def run(self, text: str) -> object:
        value: Any = text if isinstance(self.pattern.pattern, str) else text.encode()
        for method in self.methods:
            if method in ("sub", "subn"):
                getattr(self.pattern, method)("", value)
            elif method == "finditer":
                list(self.pattern.finditer(value))
            else:
                getattr(self.pattern, method)(value)
        return None


@cache
def modules() -> dict[str, ModuleType]:
    """Return every module of the package, imported."""
    names = [info.name for info in pkgutil.walk_packages(headwater.__path__, "headwater.")]
    return {name: importlib.import_module(name) for name in names if not name.endswith("__main__")}


@cache
def tree(name: str) -> ast.Module:
    """Return a module's syntax tree."""
    path = modules()[name].__file__
    assert path is not None
    return ast.parse(Path(path).read_text(encoding="utf-8"))


@cache
def _nodes(name: str) -> list[ast.AST]:
    """Return every node of a module's syntax tree."""
    return list(ast.walk(tree(name)))


@cache
def _nodes_at_top(name: str) -> frozenset[ast.AST]:
    """Return the nodes that run when a module is imported, except in its classes."""
    definitions = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return frozenset(
        node
        for statement in tree(name).body
        if not isinstance(statement, definitions)
        for node in ast.walk(statement)
    )


@cache
def all_uses() -> list[Use]:
    """Return every pattern of the package. Fail when a pattern in the source can't be evaluated."""
    uses: dict[tuple[str, str, frozenset[str]], Use] = {}
    for name, module in modules().items():
        for use in (*_patterns_in_values(name, module), *_patterns_in_source(name)):
            key = (use.location, str(use.pattern.pattern), use.methods)
            uses.setdefault(key, use)
    return list(uses.values())


def _patterns_in_values(name: str, module: ModuleType) -> Iterator[Use]:
    for variable, value in vars(module).items():
        for pattern in _patterns_in(value, 4):
            methods = _called_methods(name, variable) if isinstance(value, re.Pattern) else None
            yield Use(f"{name}.{variable}", pattern, methods or frozenset({"search"}))
        if isinstance(value, type) and issubclass(value, Platform) and value.name_pattern:
            pattern = re.compile(value.name_pattern, re.ASCII)
            yield Use(f"{name}.{variable}.name_pattern", pattern, frozenset({"fullmatch"}))


def _patterns_in(value: Any, depth: int) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, Meta) and value.pattern is not None:
        yield re.compile(value.pattern)
    elif depth and isinstance(value, type) and issubclass(value, Struct):
        yield from _field_patterns(value, depth - 1)
    elif (depth and get_origin(value) is Annotated) or (depth and isinstance(value, UnionType)):
        yield from _patterns_in(get_args(value), depth - 1)
    elif depth and isinstance(value, tuple | list | set | frozenset):
        for item in value:  # type: ignore[reportUnknownVariableType]
            yield from _patterns_in(item, depth - 1)
    elif depth and isinstance(value, dict):
        for item in value.values():  # type: ignore[reportUnknownVariableType]
            yield from _patterns_in(item, depth - 1)


@cache
def _field_patterns(struct: type, depth: int) -> tuple[re.Pattern[Any], ...]:
    # Without the struct's own names, because a member can have the name of its type.
    hints = get_type_hints(struct, localns={}, include_extras=True).values()
    return tuple(pattern for hint in hints for pattern in _patterns_in(hint, depth))


def _called_methods(name: str, variable: str) -> frozenset[str] | None:
    """Return the methods that are called on a module's variable. For a public variable, search all modules.
    For one that is only passed on, return the methods that its module calls on a `pattern`. Return None
    without any.
    """
    private = variable.startswith("_")
    methods = _calls()[name if private else ""].get(variable) or _calls()[name].get("pattern")
    return frozenset(methods) if methods else None


@cache
def _calls() -> dict[str, dict[str, set[str]]]:
    """Return the pattern methods called on variables, by module, and under "" for all modules."""
    methods_by_variable: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for name in modules():
        for node in _nodes(name):
            if isinstance(node, ast.Attribute) and node.attr in FUNCTIONS:
                variable = getattr(node.value, "id", getattr(node.value, "attr", None))
                if variable is not None:
                    methods_by_variable[name][variable].add(node.attr)
                    methods_by_variable[""][variable].add(node.attr)
    return methods_by_variable


def _patterns_in_source(name: str) -> Iterator[Use]:
    for node in _nodes(name):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Attribute) and _is_name(function.value, "re"):
            methods = frozenset({function.attr} - {"compile"} or {"search"})
            is_found = function.attr == "compile" and node in _nodes_at_top(name)
            if function.attr in FUNCTIONS and not is_found:
                yield from _evaluate_pattern(name, node.args[0], methods, _flags(node))
        for keyword in node.keywords:
            if keyword.arg == "pattern":
                yield from _evaluate_pattern(name, keyword.value, frozenset({"search"}), 0)


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _flags(node: ast.Call) -> int:
    for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
        if isinstance(argument, ast.Attribute) and _is_name(argument.value, "re"):
            return int(getattr(re, argument.attr))
    return 0


def _evaluate_pattern(name: str, node: ast.expr, methods: frozenset[str], flags: int) -> Iterator[Use]:
    text = ast.unparse(node)
    location = f"{name}:{node.lineno}"
    try:
        value = eval(text, dict(vars(modules()[name])))
    except NameError:
        listed_patterns = [
            patterns for key, patterns in LOCAL.items() if key[0] == name and _is_same(key[1], text)
        ]
        assert listed_patterns, f"{location}: the pattern {text} depends on a local value; add it to LOCAL"
        for pattern in listed_patterns[0]:
            yield Use(location, re.compile(pattern, flags), methods)
        return
    if isinstance(value, re.Pattern):
        yield Use(location, value, methods)
    elif value is not None:
        yield Use(location, re.compile(value, flags), methods)


def _is_same(pattern: str, other_pattern: str) -> bool:
    return ast.dump(ast.parse(pattern)) == ast.dump(ast.parse(other_pattern))


MOST_SIGNS = 9
MOST_WORDS = 6
EVERYWHERE = ("a", "0", " ", ":", '"', "\\")
ENDS = ("", "!\n", "z")
"""No end, an end that few patterns continue with, and one that few end before."""


def hard_units(pattern: str | bytes) -> list[tuple[str, str, str]]:
    """Return beginnings, repeated units and ends, drawn from the pattern: its words, its characters alone and
    in pairs, and characters it doesn't expect.
    """
    text = pattern if isinstance(pattern, str) else pattern.decode("latin-1")
    signs, words = _signs_and_words(parser.parse(text))
    alphabet = list(dict.fromkeys([*signs, *EVERYWHERE]))[: MOST_SIGNS + len(EVERYWHERE)]
    pairs = ["".join(pair) for pair in product(alphabet[:MOST_SIGNS], repeat=2)]
    units = list(dict.fromkeys([*alphabet, *pairs, *words]))
    beginnings = ["", *words[:2]]
    return [(begin, unit, end) for begin in beginnings for unit in units for end in ENDS]


def hard_text(prefix: str, unit: str, end: str, size: int) -> str:
    """Return a text of about this size."""
    return prefix + unit * (size // len(unit)) + end


def _signs_and_words(tree: Any) -> tuple[list[str], list[str]]:
    signs: dict[str, None] = {}
    words: dict[str, None] = {}
    _draw(tree, signs, words)
    return list(signs), list(words)[:MOST_WORDS]


_SAMPLES = {"DIGIT": "0", "SPACE": " ", "WORD": "a", "NOT_DIGIT": "a", "NOT_SPACE": "a",
            "NOT_WORD": "-"}  # fmt: skip


def _draw(nodes: Any, signs: dict[str, None], texts: dict[str, None]) -> None:
    word = ""
    for operation, value in nodes:
        name = str(operation)
        if name == "LITERAL":
            word += chr(value)
            signs[chr(value)] = None
            continue
        if len(word) > 1:
            texts[word] = None
        word = ""
        if name == "IN":
            for kind, member in value:
                _draw_member(str(kind), member, signs)
        else:
            for inner in _subpatterns(value):
                _draw(inner, signs, texts)
    if len(word) > 1:
        texts[word] = None


def _draw_member(kind: str, member: Any, signs: dict[str, None]) -> None:
    if kind == "LITERAL":
        signs[chr(member)] = None
    elif kind == "RANGE":
        signs[chr(member[0])] = None
    elif kind == "CATEGORY":
        signs[_SAMPLES[str(member).removeprefix("CATEGORY_")]] = None


def _subpatterns(value: Any) -> Iterator[Any]:
    if isinstance(value, parser.SubPattern):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:  # type: ignore[reportUnknownVariableType]
            yield from _subpatterns(item)
