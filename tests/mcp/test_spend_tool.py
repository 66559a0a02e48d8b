"""query_spend: ad spend next to the revenue it brought, and cohorts with their payback."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from headwater.http.inputs.timerange import months_after
from tests.mcp.assistants import Assistant
from tests.support.factories import Stage
from tests.support.reading_fixtures import Api


@pytest.fixture
def month() -> date:
    """Return the first day of the last month."""
    return months_after(datetime.now(UTC).date(), -1)


def test_it_works(assistant: Assistant, stage: Stage, api: Api, month: date) -> None:
    contact_id = stage.contact()
    stage.touchpoint(contact_id, "tiktok_ads", occurred_at=f"{month:%Y-%m}-09 12:00:00+00")
    stage.event(contact_id, amount=100, event_time=f"{month:%Y-%m}-10 12:00:00+00")
    currency = assistant.call("get_space")["currency"]
    spent = {"date": f"{month}", "platform": "tiktok", "amount": 40, "currency": currency}
    assistant.call("put_spend", spend=[spent])
    result = assistant.call("query_spend", period="last month")
    assert result["totals"]["roas"] == 2.5
    result = assistant.call("query_spend", cohorts=1)
    (cohort,) = result["cohorts"]
    assert (cohort["key"], cohort["payback"], cohort["payback_month"]) == (
        "tiktok_ads", "reached", 0,
    )  # fmt: skip
    answer = api.get("/reports/cohorts", params={"limit": 5})
    assert result == answer.json()
    result = assistant.call("query_spend", platform="TikTok", period="last month")
    answer = api.get("/reports/platform-comparison", params={"platform": "tiktok", "period": "last month"})
    assert {**result, "snapshot": ""} == {**answer.json(), "snapshot": ""}
    assert result["credited"] == {"conversions": 1, "revenue": 100}


def test_why_figures_have_changed(assistant: Assistant, api: Api, month: date) -> None:
    row = {"date": f"{month}", "platform": "tiktok", "currency": assistant.call("get_space")["currency"]}
    assistant.call("put_spend", spend=[{**row, "amount": 40}])
    snapshot = assistant.call("query_spend", period="last month")["snapshot"]
    assistant.call("put_spend", spend=[{**row, "amount": 65}])
    query = {"period": "last month", "changes_since": snapshot}
    result = assistant.call("query_spend", **query)
    assert result["totals"]["spend"] == 65
    changes = api.get("/reports/spend/changes", params={"period": "last month", "since": snapshot}).json()
    assert result["changes"]["totals"]["difference"]["spend"] == 25
    assert result["changes"]["totals"]["causes"].keys() == {"spend_replacements"}
    for answer in (result["changes"], changes):
        answer["until"] = None  # the moment of the question
    assert result["changes"] == changes


def test_what_a_platform_comparison_does_not_know_is_refused(assistant: Assistant) -> None:
    problem = assistant.refusal("query_spend", platform="metta", group_by="day")
    assert "The group_by must not be given with platform." in problem
    assert "The platform is not known: did you mean meta?" in problem


def test_what_cohorts_do_not_know_is_refused(assistant: Assistant) -> None:
    problem = assistant.refusal(
        "query_spend", cohorts=1, date_basis="touch", platform="meta", compare="previous_year", group_by="day"
    )
    for name in ("date_basis", "platform", "compare"):
        assert f"The {name} must not be given with cohorts." in problem
    assert "The group_by must be one of" in problem


def test_a_misspelt_field_of_spend_is_refused(assistant: Assistant, month: date) -> None:
    row = {"date": f"{month}", "platform": "meta", "amount": 40, "currency": "EUR", "campaign": "Spring"}
    assert "The spend.0 has no campaign; there are: date, " in assistant.refusal("put_spend", spend=[row])
    assert assistant.call("delete_spend", start_date=f"{month}", end_date=f"{month}")["would_go"]["rows"] == 0
