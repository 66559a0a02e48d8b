"""What commands print: JSON for programs, aligned text for people."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

Row = Mapping[str, Any]


def show(result: Row | Sequence[Row], *, as_json: bool) -> None:
    """Print one object or a list of them."""
    if as_json:
        text = json.dumps(result, default=_plain)
    elif isinstance(result, Mapping):
        text = table([(name, plain_text(value)) for name, value in result.items()])
    elif result:
        rows = [[plain_text(value) for value in row.values()] for row in result]
        text = table([list(result[0]), *rows])
    else:
        text = "none"
    say(text)


def say(text: str) -> None:
    """Print a text now, also into a pipe."""
    print(text, flush=True)  # noqa: T201 # printing is this module's work


def table(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Rows of equal length as aligned columns; those numbered in `right` end at one edge."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _plain(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def plain_text(value: Any) -> str:
    """A value on a terminal: control characters, which could drive it, are shown escaped."""
    if value is None or value in ([], {}):
        return "-"
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, Any]", value)
        return ", ".join(f"{name}={plain_text(item)}" for name, item in pairs.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(plain_text, cast("Sequence[Any]", value)))
    text = _plain(value)
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
