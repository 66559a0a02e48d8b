"""All parsing functions of the package, found in its source, and a record of those that were run."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Self

from tests.hostile.patterns import modules, tree

PARSERS = frozenset({
    "loads", "convert", "decode_json", "decode_part", "decode_typed", "decode_storable", "urlsplit",
    "urlparse", "parse_qsl", "parse_qs", "unquote", "unquote_plus", "unquote_to_bytes",
    "ip_address", "IPv6Address", "IPv4Address", "validate_email", "fromisoformat", "strptime",
    "normalize", "is_crawler", "b64decode", "urlsafe_b64decode", "reader", "Decimal", "_suffixes",
    "_extract", "punycode", "parsebytes", "fromstring", "literal_eval", "safe_load",
})  # fmt: skip
"""Names of calls that parse text. Calls of patterns are found separately."""
OF_MODULES = frozenset({("json", "decode"), ("ua_parser", "parse"), ("phonenumbers", "parse")})

Place = tuple[str, str]
"""A file and the qualified name of a function in it."""


@cache
def parsing_functions() -> frozenset[Place]:
    """Return the functions whose own source calls a parser."""
    places: set[Place] = set()
    for name, module in modules().items():
        assert module.__file__ is not None
        file = str(Path(module.__file__))
        places |= {(file, function) for function in _functions(tree(name), _decoders(tree(name)))}
    return frozenset(places)


def _decoders(module: ast.Module) -> set[str]:
    """Return the names of a module's JSON decoders and public suffix lists."""
    names: set[str] = set()
    for statement in module.body:
        if not isinstance(statement, ast.Assign):
            continue
        expression = ast.unparse(statement.value)
        if ".Decoder(" in expression or expression.startswith("TLDExtract("):
            names |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
    return names


def _functions(module: ast.Module, decoders: set[str]) -> set[str]:
    """Return the qualified names of a module's functions that call a parser themselves, not only in nested
    functions.
    """
    functions: set[str] = set()
    pending_nodes: list[tuple[ast.AST, str, str]] = [(module, "", "")]
    while pending_nodes:
        node, function, prefix = pending_nodes.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = f"{prefix}{node.name}"
            prefix = f"{function}.<locals>."
        elif isinstance(node, ast.ClassDef):
            prefix = f"{prefix}{node.name}."
        elif function and isinstance(node, ast.Call) and _parses(node, decoders):
            functions.add(function)
        pending_nodes += [(child, function, prefix) for child in ast.iter_child_nodes(node)]
    return functions


def _parses(call: ast.Call, decoders: set[str]) -> bool:
    function = call.func
    if isinstance(function, ast.Name):
        return function.id in PARSERS or function.id in decoders
    if not isinstance(function, ast.Attribute):
        return False
    owner = function.value
    last = getattr(owner, "attr", getattr(owner, "id", ""))
    return (
        function.attr in PARSERS
        or (function.attr == "decode" and last in decoders)
        or (last, function.attr) in OF_MODULES
    )


class Record:
    """Records which functions of the package run while it is active."""

    def __init__(self) -> None:
        self.codes: set[CodeType] = set()

    def __enter__(self) -> Self:
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            self.codes.add(frame.f_code)

    def places(self) -> set[Place]:
        return {(str(Path(code.co_filename)), code.co_qualname) for code in self.codes}


def run_quietly(run: Callable[[Any], object], value: Any) -> None:
    """Run a reader for recording. Refused input counts, because it was read, too."""
    try:
        run(value)
    except Exception:  # noqa: BLE001 - a refusal is an answer, too
        return
