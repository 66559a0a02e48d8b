"""query_paths: the journeys that led to events, in one call."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from tests.mcp.assistants import BY_NAME, Assistant
from tests.support.factories import NOON, Stage
from tests.support.reading_fixtures import Api

MAY = {"start_date": "2026-05-01 00:00:00", "end_date": "2026-05-31 23:59:59"}


def add_path(stage: Stage, *sources: str) -> None:
    contact_id = stage.contact()
    for days_before, source in enumerate(reversed(sources)):
        stage.touchpoint(contact_id, source, occurred_at=NOON - days_before * timedelta(days=1))
    stage.event(contact_id, amount=Decimal(10))


def test_it_works(assistant: Assistant, stage: Stage) -> None:
    add_path(stage, "google_ads", "facebook_ads", "email")
    add_path(stage, "facebook_ads", "email")
    add_path(stage, "direct")
    answer = assistant.call("query_paths", period="2026-05", group_by="channel")
    assert answer["rows"] == [[["paid", "email"], 0, 2, 2, 20, 1.5], [["direct"], 0, 1, 1, 10, 0]]
    assert answer["totals"] == {"events": 3, "conversions": 3, "revenue": 30, "days_to_conversion": 1}
    assert answer["touches"]["rows"][2] == ["3", 1, 1, 10, 2]
    assert answer["period"] == MAY


def test_it_answers_as_the_api_does(assistant: Assistant, api: Api, stage: Stage) -> None:
    add_path(stage, *["email", "sms"] * 6)
    parameters = {**MAY, "attribution_window": 7, "limit": 1}
    answer = assistant.call("query_paths", **parameters)
    assert answer == api.get("/reports/paths", params=parameters).json()


def test_what_is_wrong_is_told_in_words(assistant: Assistant) -> None:
    assert "source, channel" in assistant.refusal("query_paths", group_by="campaign")
    assert "did you mean purchase?" in assistant.refusal("query_paths", event_names=["purchas"])
    assert "from 1 to 1000" in assistant.refusal("query_paths", limit=1001).replace(",", "")


def test_every_argument_is_one_of_query_report() -> None:
    """They are described there."""
    assert BY_NAME["query_paths"].arguments.keys() <= BY_NAME["query_report"].arguments.keys()
