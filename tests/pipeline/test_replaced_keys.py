"""When the business's event replaces a page's event, later events may use the page's keys."""

from __future__ import annotations

import psycopg
import pytest

from tests.support.pipeline import add_sender, event, new_stage


@pytest.mark.parametrize("sizes", [(3,), (1, 2), (2, 1), (1, 1, 1)])
def test_it_works(connection: psycopg.Connection, sizes: tuple[int, ...]) -> None:
    """The business repeats the page's key without its order, and the page sends the order again. The result
    is the same in one batch or several.
    """
    events = [
        add_sender("browser", event(email="a@example.com", order_id="o3", idempotency_key="k2")),
        add_sender("api_key", event(email="a@example.com", idempotency_key="k2")),
        add_sender("browser", event(email="a@example.com", order_id="o3", idempotency_key="k3")),
    ]
    stage = new_stage(connection)
    for size in sizes:
        now, events = events[:size], events[size:]
        stage.run(*now)
    rows = stage.rows("events", "idempotency_key", "order_id", "sender")
    assert sorted(rows) == [("k2", None, "api_key"), ("k3", "o3", "browser")]
    (duplicate,) = stage.rows("duplicates", "reason", "sender")
    assert duplicate == ("idempotency_key", "browser")
