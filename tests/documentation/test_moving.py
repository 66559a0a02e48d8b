"""The queries of *Move from another tool*: their results are imported unchanged."""

from __future__ import annotations

import csv
import io
import re

from headwater.intake.imports.kinds import KINDS
from tests.documentation.snippets import QUERIED, read_blocks

BLOCKS = [block.text for block in read_blocks() if block.page == "docs/moving.md"]
QUERIES = [text for text in BLOCKS if text.startswith("SELECT")]
_NAMED = re.compile(r"\bAS (\w+),?$", re.MULTILINE)


def columns(query: str) -> list[str]:
    """Return the column names of a query."""
    return _NAMED.findall(query.split("\nFROM ", maxsplit=1)[0])


def header(name: str) -> list[str]:
    return next(csv.reader(io.StringIO(QUERIED[name])))


def test_it_works() -> None:
    visits, purchases, matomo = map(columns, QUERIES)
    assert (visits, purchases) == (header("visits.csv"), header("purchases.csv"))
    assert matomo == visits


def test_every_column_is_a_field() -> None:
    assert set(header("visits.csv")) <= set(KINDS["touchpoints"].fields)
    assert set(header("purchases.csv")) <= set(KINDS["events"].fields)
