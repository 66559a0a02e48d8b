"""The packages of an extra are imported only by the modules that need them, and never at the start: the image
is built without extras.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.support.sizes import ROOT

SOURCE = ROOT / "src" / "headwater"
EXTRAS = ("arro3", "opentelemetry.exporter", "opentelemetry.sdk")
OF_AN_EXTRA = {"base/telemetry/exporters.py", "base/telemetry/metrics_data.py"}
"""Modules that are themselves imported late."""


def imported_modules(module: ast.Module) -> Iterator[str]:
    """Yield the modules that a module imports when it is imported."""
    for node in module.body:
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_it_works() -> None:
    modules_by_extra = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if any(name in path.read_text() for name in EXTRAS)  # few are worth parsing
        and any(name.startswith(EXTRAS) for name in imported_modules(ast.parse(path.read_text())))
    }
    assert modules_by_extra == OF_AN_EXTRA


def test_the_image_is_built_without_them() -> None:
    script = (ROOT / "deploy" / "image" / "compile.py").read_text()
    (left_out,) = re.findall(r"^LEFT_OUT = (.*)$", script, re.MULTILINE)
    assert ast.literal_eval(left_out) == set(EXTRAS) - {"arro3"}
