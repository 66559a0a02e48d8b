"""A few seconds of hostile input of every kind next to honest traffic: no event is lost and no answer is
delayed. `HEADWATER_HOSTILE_SECONDS` makes it longer.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.hostile.campaign import LEAST_HOSTILE, run

SECONDS = float(os.environ.get("HEADWATER_HOSTILE_SECONDS", "4"))


def test_it_works(tmp_path: Path) -> None:
    figures = run(tmp_path, SECONDS, 200)
    assert figures.broken == []
    assert figures.hostile >= LEAST_HOSTILE
    assert figures.accepted >= 50
    assert figures.stored_count >= figures.accepted, "an acknowledged event is missing"
    assert figures.health_at(0.9) < 0.5, "one quadratic request alone takes longer"
    assert figures.growth < 150e6
