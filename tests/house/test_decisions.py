"""Decisions are grouped by subject, state what, why and at what cost, and have a line each in the index."""

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
    return [
        (f"{path.name}#{slug(section.partition(chr(10))[0])}", section)
        for path in SUBJECTS
        for section in re.split(r"^## ", path.read_text(), flags=re.MULTILINE)[1:]
    ]


RECORDS = list_records()


@pytest.mark.parametrize("text", [text for _, text in RECORDS], ids=[address for address, _ in RECORDS])
def test_it_says_what_why_and_what_it_costs(text: str) -> None:
    positions = [text.find(f"**{heading}.**") for heading in ("Decision", "Why", "Cost")]
    assert -1 not in positions
    assert positions == sorted(positions)


def test_the_index_lists_every_record_once() -> None:
    addresses = re.findall(r"\]\(([^)\s]+)\)", INDEX)
    assert sorted(addresses) == sorted(address for address, _ in RECORDS)
