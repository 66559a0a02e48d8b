"""Faults that a developer could make: found in a module's syntax, drawn by a seed and written into its text.
Pure.
"""

# ruff: noqa: INP001 # a part of a script

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random

_BOUNDS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_JUNCTIONS = {ast.And: ast.Or, ast.Or: ast.And}
_SPARED_CALLS = frozenset({"debug", "info", "warning", "error", "exception", "failpoint"})
"""Calls that report something and change nothing."""
_NOT_RUN = frozenset({"annotation", "returns", "decorator_list", "args"})
"""Fields of nodes that are evaluated when a module is imported. A call's arguments are not among them."""


@dataclass(frozen=True)
class Fault:
    """One fault in one module."""

    path: str
    line: int
    start: int
    """The position of the replaced text, in bytes of the file."""
    end: int
    original: str
    replacement: str
    kind: str

    @property
    def name(self) -> str:
        """The fault's module and text, which stay the same when lines move."""
        return f"{self.path}: {' '.join(self.original.split())} -> {' '.join(self.replacement.split())}"

    @property
    def is_statement(self) -> bool:
        """Whether an entire statement is replaced rather than an expression within one."""
        return self.replacement.startswith(("pass", "return "))

    def apply(self, source: str) -> str:
        """Return the module with the fault."""
        data = source.encode()
        assert data[self.start : self.end].decode() == self.original
        return (data[: self.start] + self.replacement.encode() + data[self.end :]).decode()


def find_faults(path: str, source: str) -> list[Fault]:
    """Return every fault that can be made in a module, in the order of its text."""
    places = _Places(path, source)
    faults = [
        places.fault(node, becomes, kind)
        for node in _code(ast.parse(source))
        for becomes, kind in _changes(node)
    ]
    return sorted(faults, key=lambda fault: (fault.start, fault.kind))


def draw_faults(sources: Mapping[str, str], count: int, seed: int) -> list[Fault]:
    """Draw `count` faults from modules by their paths: the same for the same seed."""
    faults = [
        fault for path in sorted(sources) for fault in find_faults(path, sources[path])
    ]  # fmt: skip
    dice = Random(seed)  # noqa: S311 - the same faults for the same seed
    return dice.sample(faults, min(count, len(faults)))


class _Places:
    """The text of a module, by the positions in its syntax tree."""

    def __init__(self, path: str, source: str) -> None:
        self._path = path
        self._data = source.encode()
        self._lines = [0]
        for line in self._data.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))

    def fault(self, node: ast.expr | ast.stmt, replacement: str, kind: str) -> Fault:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self._lines[node.lineno - 1] + node.col_offset
        end = self._lines[node.end_lineno - 1] + node.end_col_offset
        was = self._data[start:end].decode()
        return Fault(self._path, node.lineno, start, end, was, replacement, kind)


def _code(module: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes that run when the module is used rather than imported: the contents of functions
    without annotations and decorators.
    """
    pending_nodes: list[ast.AST] = [module]
    while pending_nodes:
        node = pending_nodes.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                for statement in child.body:
                    yield from _find_nodes(statement)
            else:
                pending_nodes.append(child)


def _find_nodes(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.JoinedStr | ast.Assert):
        return  # parts of an f-string have no positions; assertions are for types
    yield node
    for name, value in ast.iter_fields(node):
        if name in _NOT_RUN and not isinstance(node, ast.Call):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _find_nodes(child)


def _changes(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield each mistaken replacement of a node, and the kind of the mistake."""
    match node:
        case ast.Compare(left, [operator], [right]) if type(operator) in _BOUNDS:
            mutant = ast.Compare(left, [_BOUNDS[type(operator)]()], [right])
            kind = "bound" if isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE) else "test"
            yield f"({ast.unparse(mutant)})", kind
        case ast.BoolOp(operator, values):
            yield f"({ast.unparse(ast.BoolOp(_JUNCTIONS[type(operator)](), values))})", "boolean"
        case ast.UnaryOp(ast.Not(), operand):
            yield f"({ast.unparse(operand)})", "boolean"
        case ast.BinOp(_, ast.Add() | ast.Sub(), ast.Constant(int())):
            yield f"({ast.unparse(node)} + 1)", "off by one"
        case ast.Return(ast.Constant(bool() as answer)):
            yield f"return {not answer}", "boolean"
        case ast.Expr(ast.Call() as call) if _name(call) not in _SPARED_CALLS:
            yield "pass", "deleted call"
        case ast.Expr(ast.Await(ast.Call() as call)) if _name(call) not in _SPARED_CALLS:
            yield "pass", "deleted call"
        case _:
            return


def _name(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))
