"""GET /reports: the figures as JSON and as CSV, and refused queries."""

from __future__ import annotations

import csv
import io
import time
from datetime import timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from headwater.attribution.paths.builder import build_next
from headwater.attribution.paths.upkeep import forget_space
from headwater.reports.engine import report as report_module
from headwater.reports.engine import report_reader
from tests.support.factories import NOON, Stage
from tests.support.reading_fixtures import Api

MAY = {"start_date": "2026-05-01 00:00:00", "end_date": "2026-05-31 23:59:59"}


def report(api: Api, **parameters: Any) -> dict[str, Any]:
    response = api.get("/reports", params={**MAY, **parameters})
    assert response.status_code == 200, response.text
    return response.json()


def sell(stage: Stage) -> None:
    """Store an order of 100 with two sources, a refund of 30, and an order without a touch."""
    contact_id = stage.contact(name="Ada Byron")
    stage.touchpoint(contact_id, "google_ads", occurred_at=NOON - timedelta(days=2))
    stage.touchpoint(contact_id, "ai_chat_gpt", occurred_at=NOON - timedelta(days=1))
    stage.event(contact_id, amount=Decimal(100))
    stage.event(contact_id, amount=Decimal(-30))
    stage.event(stage.contact(), amount=Decimal("20.5"))


def test_it_works(api: Api, stage: Stage) -> None:
    sell(stage)
    answer = report(
        api, **{"measures[]": ["credited_revenue", "share", "orders"], "group_by[]": "channel"},
        attribution_model="linear",
    )  # fmt: skip
    assert answer["columns"] == ["channel", "credited_revenue", "share", "orders"]
    assert answer["rows"] == [["ai", 35, 0.3867, 1], ["paid", 35, 0.3867, 1]]
    assert answer["totals"] == {"credited_revenue": 70, "share": 0.7735, "orders": 2}
    assert answer["unattributed"]["credited_revenue"] == 20.5
    assert answer["unattributed"]["reasons"]["no_touch"]["orders"] == 1
    assert answer["overall"] == {"credited_revenue": 90.5, "share": 1, "orders": 2}
    assert answer["event_names"] == {"purchase": 3}
    assert answer["first_event"] == answer["last_event"] == "2026-05-13 12:00:00"
    assert answer["period"] == MAY


def test_the_same_before_and_after_building(api: Api, stage: Stage) -> None:
    sell(stage)
    parameters = {"measures[]": ["revenue", "refunds", "average_order_value", "contacts"],
                  "group_by[]": ["source", "contact"]}  # fmt: skip
    live = strip_snapshot(report(api, **parameters))
    forget_space(stage.connection, stage.space_id)
    assert strip_snapshot(report(api, **parameters)) == live
    while build_next(stage.connection, stage.space_id):
        pass
    assert strip_snapshot(report(api, **parameters)) == live


def strip_snapshot(answer: dict[str, Any]) -> dict[str, Any]:
    """Return a report without its snapshot."""
    return {name: value for name, value in answer.items() if name != "snapshot"}


def test_models_side_by_side(api: Api, stage: Stage) -> None:
    sell(stage)
    models = ["first_touch", "linear"]
    answer = report(api, **{"measures[]": "credited_revenue", "attribution_models[]": models})
    assert answer["columns"] == [
        "source", "credited_revenue_first_touch", "credited_revenue_linear",
    ]  # fmt: skip
    assert answer["rows"] == [["google_ads", 70, 35], ["ai_chat_gpt", 0, 35]]
    assert answer["attribution_model"] == models


def test_a_month_is_compared_with_the_month_before(api: Api) -> None:
    answer = report(api, **{"measures[]": "revenue"}, compare="previous_period")
    assert answer["compared_period"] == {
        "start_date": "2026-04-01 00:00:00", "end_date": "2026-04-30 23:59:59",
    }  # fmt: skip


def test_csv_has_the_same_figures(api: Api, stage: Stage) -> None:
    sell(stage)
    stage.touchpoint(stage.contact(), "email", campaign_name="=1+1")
    parameters = {**MAY, "measures[]": ["credited_revenue", "share"], "group_by[]": ["source", "day"]}
    answer = api.get("/reports", params=parameters).json()
    response = api.get("/reports", params=parameters, accept="text/csv")
    assert response.headers["content-type"].startswith("text/csv")
    header, *rows = csv.reader(io.StringIO(response.text))
    assert header == answer["columns"]
    assert [[row[0], row[1], float(row[2]), float(row[3])] for row in rows] == answer["rows"]


def test_text_of_a_spreadsheet_is_harmless(api: Api, stage: Stage) -> None:
    contact_id = stage.contact()
    stage.touchpoint(contact_id, "email", campaign_name="=1+1")
    stage.event(contact_id, amount=Decimal(1))
    parameters = {**MAY, "measures[]": "credited_revenue", "group_by[]": "campaign"}
    response = api.get("/reports", params=parameters, accept="text/csv")
    assert response.text.splitlines()[1] == "'=1+1,'=1+1,1"


def test_by_date_of_the_touch(api: Api, stage: Stage) -> None:
    sell(stage)
    answer = report(
        api, start_date="2026-05-12 00:00:00", end_date="2026-05-12 23:59:59", date_basis="touch",
        attribution_model="linear", **{"measures[]": ["credited_revenue", "events"]},
    )  # fmt: skip
    assert answer["rows"] == [["ai_chat_gpt", 35, 2]]
    assert answer["unattributed"] is answer["overall"] is None


@pytest.mark.parametrize(
    ("field", "parameters"),
    [("measures", {"measures[]": "profit"}), ("group_by", {"group_by[]": "planet"}),
     ("period", {"period": "last month"}), ("group_by", {"group_by[]": ["none", "day"]}),
     ("measures", {"measures[]": ["average_order_value", "share"]}),
     ("attribution_models", {"attribution_models[]": "linear", "attribution_model": "linear"}),
     ("amount_max", {"amount_min": "5", "amount_max": "4"}), ("amount_min", {"amount_min": "x"}),
     ("date_basis", {"date_basis": "moon"}), ("limit", {"limit": "0"})],
)  # fmt: skip
def test_bad_parameters_are_refused(api: Api, field: str, parameters: dict[str, Any]) -> None:
    response = api.get("/reports", params={**MAY, **parameters})
    assert response.status_code == 422
    assert list(response.json()["errors"]) == [field]


END_READER = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE state = 'idle in transaction' AND pid <> pg_backend_pid() AND datname = current_database()
"""


def test_time_that_ends_between_two_statements(
    api: Api, stage: Stage, connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection is ended with the time, which is no failure of the database."""
    sell(stage)
    passed_seconds = 0.0
    real_run = report_reader.run_in_thread

    def run_too_long(work: Any, *arguments: object) -> Any:
        nonlocal passed_seconds
        passed_seconds = 2 * report_reader.SECONDS
        connection.execute(END_READER)
        return real_run(work, *arguments)

    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + passed_seconds)
    monkeypatch.setattr(report_reader, "time", clock)
    monkeypatch.setattr(report_module, "run_in_thread", run_too_long)
    response = api.get("/reports", params={**MAY, "group_by[]": "source"})
    assert (response.status_code, response.json().get("reason")) == (422, "too_much")
    monkeypatch.undo()
    assert report(api, **{"group_by[]": "source"})["event_names"] == {"purchase": 3}
