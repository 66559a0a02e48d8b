"""The design record of the authorization server refers to existing tests."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.support.sizes import ROOT

RECORD = ROOT / "docs" / "decisions" / "assistants.md"


def names_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_it_works() -> None:
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", RECORD.read_text(), re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 46))
    references = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", RECORD.read_text())
    assert references
    missing = [
        f"{path}::{name}" for path, name in references
        if not (ROOT / path).exists() or name not in names_in(ROOT / path)
    ]  # fmt: skip
    assert missing == []
    for number, evidence in rows:
        assert "`tests/" in evidence or "Reason:" in evidence, number
