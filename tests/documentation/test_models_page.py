"""The drawn examples of models are what the models give."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from headwater.attribution.models import MODELS
from tests.models.attribution import Touch, weights
from tests.support.sizes import ROOT

PAGE = (ROOT / "docs" / "models.md").read_text()
SOURCES = ["google_ads", "email", "facebook_ads", "direct"]
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def test_it_works() -> None:
    path = [Touch(at, 1, None, NOON, source) for at, source in enumerate(SOURCES)]
    rows = re.findall(r"^(\w+) +([·█▌].*)$", PAGE, re.MULTILINE)
    assert [model for model, _ in rows] == list(MODELS)
    for model, cells in rows:
        drawn = [re.fullmatch(r"(?:([█▌]+) (\d+)|·)", cell) for cell in re.split(r" {2,}", cells)]
        credit = dict.fromkeys(range(len(SOURCES)), 0)
        credit |= {touch.id: int(part * 100) for touch, part in weights(model, path)}
        assert [int(cell[2] or 0) for cell in drawn if cell] == list(credit.values()), model
        bars = [(cell[1] or "") for cell in drawn if cell]
        assert [bar.count("█") * 10 + bar.count("▌") * 5 for bar in bars] == list(credit.values())
