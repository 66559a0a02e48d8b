"""Decisions have numbers of their own and say the same three things: what, why, what it costs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.sizes import ROOT

DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))


def test_they_are_numbered() -> None:
    numbers = [int(path.name[:4]) for path in DECISIONS]
    assert len(numbers) == len(set(numbers))


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_it_says_what_why_and_what_it_costs(path: Path) -> None:
    text = path.read_text()
    assert re.match(rf"# {int(path.name[:4])}\. \S", text)
    places = [text.find(f"**{part}") for part in ("Decision.", "Why", "What it costs.")]
    assert -1 not in places, places
    assert places[0] < min(places[1:])
