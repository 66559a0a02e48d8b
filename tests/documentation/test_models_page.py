"""The drawn examples of models are what the models give."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from headwater.attribution.models import MODELS
from tests.models.attribution import Touch, weights
from tests.support.sizes import ROOT

PAGE = (ROOT / "docs" / "models.md").read_text()
SOURCES = ["google_ads", "email", "facebook_ads", "direct"]
FIT = dict(
    zip(SOURCES, (Fraction(4, 10), Fraction(2, 10), Fraction(3, 10), Fraction(1, 10)), strict=True)
)
DAYS = [1, 15, 20, 21]
FIRST = datetime(2026, 5, 1, 12, tzinfo=UTC)


def test_it_works() -> None:
    path = [
        Touch(at, 1, None, FIRST + timedelta(days=day - 1), source)
        for at, (day, source) in enumerate(zip(DAYS, SOURCES, strict=True))
    ]
    rows = re.findall(r"^(\w+) +([·█▌].*)$", PAGE, re.MULTILINE)
    assert [model for model, _ in rows] == list(MODELS)
    for model, cells in rows:
        drawn = [re.fullmatch(r"(?:([█▌]+) (\d+)|·)", cell) for cell in re.split(r" {2,}", cells)]
        credit = dict.fromkeys(range(len(SOURCES)), 0)
        credit |= {touch.id: round(part * 100) for touch, part in weights(model, path, FIT)}
        assert [int(cell[2] or 0) for cell in drawn if cell] == list(credit.values()), model
        bars = [(cell[1] or "") for cell in drawn if cell]
        lengths = [bar.count("█") * 10 + bar.count("▌") * 5 for bar in bars]
        assert lengths == [5 * round(part / 5) for part in credit.values()], model
