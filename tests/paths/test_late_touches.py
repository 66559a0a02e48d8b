"""A touch that arrives after a later event of its contact joins its path, even in a stored segment."""

from __future__ import annotations

from uuid import uuid4

import psycopg
import pytest

from headwater.attribution.paths.builder import build_next
from headwater.attribution.paths.upkeep import check_space
from tests.support.pipeline import DAY, T0, Accepted, event, hit, new_stage, touch

TOKEN = f"trk_{uuid4().hex}"


@pytest.mark.parametrize(
    "late_item",
    [
        touch(email="a@example.com", occurred_at=T0 - DAY),
        hit(trk_token=TOKEN, occurred_at=T0 - DAY, url="https://shop.example/?gclid=1"),
    ],
    ids=["touchpoint", "page view"],
)
def test_it_works(connection: psycopg.Connection, late_item: Accepted) -> None:
    stage = new_stage(connection)
    for item in (event(email="a@example.com", trk_token=TOKEN, amount="10"), late_item):
        stage.run(item)
        while build_next(connection, stage.space_id):
            pass
        (day,) = check_space(connection, stage.space_id)
        assert (day.events, day.wrong, day.damaged) == (1, 0, 0)
