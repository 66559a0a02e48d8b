"""When the business reports an order itself, the page's event leaves the columns of its day, too: otherwise a
report would count the order twice.
"""

from __future__ import annotations

import psycopg
import pytest

from headwater.attribution.paths.builder import build_next
from headwater.attribution.paths.upkeep import check_space
from tests.support.pipeline import add_sender, event, new_stage


@pytest.mark.parametrize("key", ["order_id", "idempotency_key"])
def test_it_works(connection: psycopg.Connection, key: str) -> None:
    stage = new_stage(connection)
    for sender in ("browser", "webhook"):
        stage.run(add_sender(sender, event(email="a@example.com", amount="10", **{key: "o1"})))
        while build_next(connection, stage.space_id):
            pass
        (day,) = check_space(connection, stage.space_id)
        assert (day.events, day.wrong, day.damaged) == (1, 0, 0), sender
