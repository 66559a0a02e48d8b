"""The place of a figure in tools' answers: small expressions, and references in arguments.

    1.totals.revenue                            of the first answer
    2.rows[source=email].credited_revenue       a column of the row with a certain value in another
    1.rows[source=email,month=2026-05].events   … in several others
    1.rows[path=paid > email].events            … in a column of lists
    1.rows[0].source                            a column of a row by its index
    1.rows[*].source                            a column of every row
    1.rows.length                               the number of rows
    1.totals.revenue - 2.totals.revenue         also +, * and /, to four decimals, from the left

Rows are lists under `columns`, as in query_report, or objects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

_SIGNS: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}
_PART = re.compile(r"(\w+)(?:\[([^\]]*)\])?(?:\.|$)")


def read(expression: str, answers: Sequence[Any]) -> Any:
    """Return the value of an expression in the answers. Raises LookupError if it is missing."""
    first, *operations = re.split(r" ([-+*/]) ", expression)
    value = _read_one(first, answers)
    for sign, operand in zip(operations[::2], operations[1::2], strict=True):
        value = round(_SIGNS[sign](value, _read_one(operand, answers)), 4)
    return value


def fill_in(arguments: Any, answers: Sequence[Any]) -> Any:
    """Return arguments with each `$` expression replaced by its value in the answers so far."""
    if isinstance(arguments, dict):
        return {name: fill_in(value, answers) for name, value in arguments.items()}
    if isinstance(arguments, list):
        return [fill_in(value, answers) for value in arguments]
    if isinstance(arguments, str) and re.match(r"\$[0-9]", arguments):
        return read(arguments[1:], answers)
    return arguments


def _read_one(expression: str, answers: Sequence[Any]) -> Any:
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", expression):
        return float(expression)  # a plain number in a sum
    call, _, path = expression.partition(".")
    value, columns = answers[int(call) - 1], None
    for name, selector in _PART.findall(path):
        value, columns = _step(value, columns, name)
        if selector:
            value, columns = _choose(value, columns, selector)
    return value


def _step(value: Any, columns: Any, name: str) -> tuple[Any, Any]:
    if name == "length":
        return len(value), None
    if isinstance(value, _Every):
        return [_step(row, columns, name)[0] for row in value.rows], None
    if columns is not None:
        return value[columns.index(name)], None
    if not isinstance(value, dict) or name not in value:
        raise LookupError(name)
    return value[name], value.get("columns") if name == "rows" else None


class _Every:
    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows


def _choose(rows: list[Any], columns: Any, selector: str) -> tuple[Any, Any]:
    if selector == "*":
        return _Every(rows), columns
    if re.fullmatch("-?[0-9]+", selector):
        return rows[int(selector)], columns
    cells = dict(pair.split("=", 1) for pair in selector.split(","))
    for row in rows:
        if all(_format(_step(row, columns, name)[0]) == text for name, text in cells.items()):
            return row, columns
    raise LookupError(selector)


def _format(value: Any) -> str:
    if isinstance(value, list):
        return " > ".join(map(_format, value))
    return "null" if value is None else str(value)
