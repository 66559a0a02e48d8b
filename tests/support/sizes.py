"""Holds functions to 50 lines and files to 350; `make check` runs it. A size is what an editor
shows, docstrings and comments included; an exception names its reason, and goes with it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
FOLDERS = ("src", "tests", "bench", "scripts")
FUNCTION_LINES, FILE_LINES = 50, 350
EXCEPTIONS: dict[str, str] = {}
"""`path` or `path::function` to the reason why it may be longer."""


def oversized(path: Path, name: str) -> Iterator[tuple[str, str]]:
    """What is over a limit in one file: its place, and how long it is."""
    text = path.read_text(encoding="utf-8")
    sizes = {name: (text.count("\n"), FILE_LINES)}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            sizes[f"{name}::{node.name}"] = (length, FUNCTION_LINES)
    for place, (size, limit) in sizes.items():
        if size > limit:
            yield place, f"{size} lines, at most {limit}"


def main() -> int:
    """Print what is too long and the exceptions that are needed no more; 1 when there are any."""
    too_long = {
        place: size
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        for place, size in oversized(path, path.relative_to(ROOT).as_posix())
    }
    faults = [f"{place}: {too_long[place]}" for place in too_long if place not in EXCEPTIONS]
    unneeded = EXCEPTIONS.keys() - too_long.keys()
    faults += [f"{place}: fits, and is still an exception" for place in sorted(unneeded)]
    print("\n".join(faults) or "sizes: fine")  # noqa: T201 # its output is the report
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
