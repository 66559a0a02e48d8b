"""Limits functions to 45 statements, modules to 260, folders of `src` to 25 modules and `src` to 22 packages.
`make check` runs it. It counts statements, because the formatter decides on lines. An exception states its
reason and must be removed when it is no longer needed.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src" / "headwater"
FOLDERS = ("src", "tests", "bench", "scripts")
FUNCTION_STATEMENTS, MODULE_STATEMENTS = 45, 260
FOLDER_MODULES, PACKAGES = 25, 22
EXCEPTIONS: dict[str, str] = {}
"""The reason why `path` or `path::function` may be longer."""


def statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements inside a module or statement. Expressions contain none."""
    for block in ("body", "orelse", "handlers", "finalbody", "cases"):
        for node in getattr(tree, block, ()):
            if isinstance(node, ast.stmt):
                yield node
            yield from statements(node)


def find_oversized(path: Path, name: str) -> Iterator[tuple[str, str]]:
    """Yield the functions and the module above a limit in one file, with their sizes."""
    all_statements = list(statements(ast.parse(path.read_text(encoding="utf-8"))))
    sizes = {name: (len(all_statements), MODULE_STATEMENTS)}
    for node in all_statements:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            sizes[f"{name}::{node.name}"] = (len(list(statements(node))), FUNCTION_STATEMENTS)
    for location, (size, limit) in sizes.items():
        if size > limit:
            yield location, f"{size} statements, at most {limit}"


def find_crowded(source: Path) -> Iterator[tuple[str, str]]:
    """Yield the folders with too many modules, and the source root if it has too many packages."""
    modules = Counter(path.parent for path in source.rglob("*.py") if path.name != "__init__.py")
    for folder, count in sorted(modules.items()):
        if count > FOLDER_MODULES:
            yield f"src/{folder.relative_to(source.parent)}", f"{count} modules, at most {FOLDER_MODULES}"
    packages = len(list(source.glob("*/__init__.py")))
    if packages > PACKAGES:
        yield f"src/{source.name}", f"{packages} packages, at most {PACKAGES}"


def unformatted(source: Path) -> Iterator[tuple[str, str]]:
    """Yield the modules of the source with lines excluded from formatting."""
    for path in sorted(source.rglob("*.py")):
        count = path.read_text(encoding="utf-8").count("# fmt: skip")
        if count:
            yield f"src/{path.relative_to(source.parent)} (formatter)", f"{count} times `fmt: skip`"


def main() -> int:
    """Print what exceeds a limit, and the exceptions that are no longer needed. Return 1 when there are
    any.
    """
    faults_by_location = {
        location: size
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        for location, size in find_oversized(path, path.relative_to(ROOT).as_posix())
    }
    faults_by_location |= dict(find_crowded(SOURCE)) | dict(unformatted(SOURCE))
    faults = [
        f"{location}: {faults_by_location[location]}"
        for location in faults_by_location
        if location not in EXCEPTIONS
    ]
    needless_exceptions = EXCEPTIONS.keys() - faults_by_location.keys()
    faults += [f"{location}: fits, and is still an exception" for location in sorted(needless_exceptions)]
    print("\n".join(faults) or "sizes: fine")  # noqa: T201 # its output is the report
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
