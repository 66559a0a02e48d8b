"""The drawn examples match the results of the models."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from headwater.attribution.models import MODELS
from tests.models.attribution import Touch, weights
from tests.support.sizes import ROOT

PAGE = (ROOT / "docs" / "attribution.md").read_text()
SOURCES = ["google_ads", "email", "facebook_ads", "direct"]
TRAINED_MODEL = dict(
    zip(SOURCES, (Fraction(4, 10), Fraction(2, 10), Fraction(3, 10), Fraction(1, 10)), strict=True)
)
DAYS = [1, 15, 20, 21]
NUMBERS = {"eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13}
FIRST = datetime(2026, 5, 1, 12, tzinfo=UTC)
COUNTED = re.compile(rf"\b({'|'.join(NUMBERS)}) (?:attribution |\[)?models", re.IGNORECASE)


def test_it_works() -> None:
    path = [
        Touch(index, 1, None, FIRST + timedelta(days=day - 1), source)
        for index, (day, source) in enumerate(zip(DAYS, SOURCES, strict=True))
    ]
    rows = re.findall(r"^(\w+) +([·█▌].*)$", PAGE, re.MULTILINE)
    assert [model for model, _ in rows] == list(MODELS)
    for model, cells in rows:
        matches = [re.fullmatch(r"(?:([█▌]+) (\d+)|·)", cell) for cell in re.split(r" {2,}", cells)]
        credit = dict.fromkeys(range(len(SOURCES)), 0)
        credit |= {touch.id: round(fraction * 100) for touch, fraction in weights(model, path, TRAINED_MODEL)}
        assert [int(cell[2] or 0) for cell in matches if cell] == list(credit.values()), model
        bars = [(cell[1] or "") for cell in matches if cell]
        lengths = [bar.count("█") * 10 + bar.count("▌") * 5 for bar in bars]
        assert lengths == [5 * round(percent / 5) for percent in credit.values()], model


def test_every_page_counts_as_many_models() -> None:
    """They state the number of all models, except the page on performance, which covers only some."""
    numbers_by_page = {
        path.name: [NUMBERS[word.lower()] for word in COUNTED.findall(path.read_text())]
        for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
        if path.name != "performance.md"
    }
    stated_numbers = {name: numbers for name, numbers in numbers_by_page.items() if numbers}
    assert {"README.md", "attribution.md", "console.md", "reports.md"} <= set(stated_numbers)
    assert {number for numbers in stated_numbers.values() for number in numbers} == {len(MODELS)}
