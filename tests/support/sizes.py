"""Holds functions to 50 lines and files to 400; `make check` runs it. A size is what an editor
shows, docstrings and comments included; an exception names its reason.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
FUNCTION_LINES, FILE_LINES = 50, 400
EXCEPTIONS: dict[str, str] = {}
"""`path` or `path::function` to the reason why it may be longer."""


def too_long(path: Path, name: str) -> list[str]:
    """What is over a limit in one file, as `place: size`."""
    text = path.read_text(encoding="utf-8")
    sizes = {name: (text.count("\n"), FILE_LINES)}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            sizes[f"{name}::{node.name}"] = (length, FUNCTION_LINES)
    return [
        f"{place}: {size} lines, at most {limit}"
        for place, (size, limit) in sizes.items()
        if size > limit and place not in EXCEPTIONS
    ]


def main() -> int:
    found = [
        line
        for folder in ("src", "tests", "bench")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line in too_long(path, path.relative_to(ROOT).as_posix())
    ]
    print("\n".join(found) or "sizes: fine")  # noqa: T201 # its output is the report
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
