"""Decisions are grouped by subject, say what, why and what it costs, and have a line each in the index."""

from __future__ import annotations

import re

import pytest
from scripts.site_markdown import slug

from tests.support.sizes import ROOT

FOLDER = ROOT / "docs" / "decisions"
INDEX = (FOLDER / "README.md").read_text()
SUBJECTS = sorted(path for path in FOLDER.glob("*.md") if path.name != "README.md")


def list_records() -> list[tuple[str, str]]:
    """Return every record as (its address in the index, its text)."""
    records: list[tuple[str, str]] = []
    for path in SUBJECTS:
        title, *sections = re.split(r"^## ", path.read_text(), flags=re.MULTILINE)
        if path.name[:4].isdigit():
            records.append((path.name, title))
        records += [
            (f"{path.name}#{slug(section.partition(chr(10))[0])}", section)
            for section in sections if not path.name[:4].isdigit()
        ]  # fmt: skip
    return records


RECORDS = list_records()


@pytest.mark.parametrize("text", [text for _, text in RECORDS], ids=[address for address, _ in RECORDS])
def test_it_says_what_why_and_what_it_costs(text: str) -> None:
    positions = [text.find(f"**{part}") for part in ("Decision.", "Why")]
    positions.append(max(text.find("**Cost."), text.find("**What it costs.")))
    assert -1 not in positions, positions
    assert positions[0] < min(positions[1:])


def test_the_index_lists_every_record_once() -> None:
    listed = re.findall(r"\]\(([^)\s]+)\)", INDEX)
    assert {address for address, _ in RECORDS if "#" in address} <= set(listed)
    assert len(listed) == len(set(listed))
