"""Layout of text for a terminal: aligned columns and titled sections, at most 100 columns wide."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

WIDTH = 100


def align(rows: Sequence[Sequence[str]], right_columns: Sequence[int] = ()) -> str:
    """Align rows of equal length; columns in `right_columns` are aligned right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if number in right_columns else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def section(title: str, text: str) -> str:
    """Return a text under its title; "" without text."""
    return f"{title}\n{text}" if text.strip() else ""


def join_sections(sections: Sequence[str]) -> str:
    return "\n\n".join(text for text in sections if text)


def list_values(pairs: Sequence[tuple[str, Any]]) -> str:
    """Return an indented line per name and value; long values are wrapped."""
    width = max((len(name) for name, _ in pairs), default=0) + 2
    return "\n".join(
        textwrap.fill(
            plain_text(value),
            WIDTH,
            initial_indent=f"  {name.ljust(width)}",
            subsequent_indent=" " * (width + 2),
            break_on_hyphens=False,
        )
        for name, value in pairs
    )


def wrap(text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="  ")


def plain_text(value: Any) -> str:
    """Return a value with control characters escaped, which could drive the terminal."""
    if value is None or value in ([], {}):
        return "-"
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, Any]", value)
        return ", ".join(f"{plain_text(name)}={plain_text(item)}" for name, item in pairs.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(plain_text, cast("Sequence[Any]", value)))
    text = to_text(value)
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def to_text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
