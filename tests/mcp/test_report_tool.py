"""query_report: defaults that fit most questions, and figures that equal the lists."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.assistants.mcp.tool import Tool
from headwater.attribution.models import MODELS, WINDOWS
from headwater.reports.query import AVERAGES, OF_VISITS, VISIT_GROUPS, Group, Measure
from headwater.sources.catalogue import LISTED_SOURCES
from tests.mcp.assistants import BY_NAME, Assistant
from tests.support import pipeline
from tests.support.campaigns import campaign_size
from tests.support.factories import NOON, Stage
from tests.support.reading_fixtures import RANGE, Api
from tests.support.trained_models import plant_trained_model

MAY = {"start_date": "2026-05-01 00:00:00", "end_date": "2026-05-31 23:59:59"}


@pytest.fixture
def journeys(stage: Stage) -> Stage:
    stage.label_event("custom_event_1", "Demo booked")
    contact_id, other_id = stage.contact(country="DE"), stage.contact()
    stage.touchpoint(contact_id, "google_ads", occurred_at=NOON - timedelta(days=2),
                     campaign_id="c1", campaign_name="Spring")  # fmt: skip
    stage.touchpoint(contact_id, "email", occurred_at=NOON - timedelta(days=1))
    stage.event(contact_id, amount=Decimal(100))
    stage.event(contact_id, event_name="custom_event_1")
    stage.event(other_id, amount=Decimal("20.5"))
    plant_trained_model(stage.connection, stage.space_id, "May", "purchase", {"google_ads": 3, "email": 1})
    return stage


@pytest.mark.usefixtures("journeys")
def test_it_works(assistant: Assistant) -> None:
    """Which channels brought the revenue of a month: one call, with only the month."""
    answer = assistant.call("query_report", period="2026-05", attribution_model="linear")
    assert len(answer.pop("snapshot")) == 64
    assert answer == {
        "columns": ["source", "credited_revenue", "credited_conversions"],
        "rows": [["email", 50, 0.5], ["google_ads", 50, 0.5]],
        "left_out": 0,
        "totals": {"credited_revenue": 100, "credited_conversions": 1},
        "unattributed": {
            "credited_revenue": 20.5,
            "credited_conversions": 1,
            "reasons": {
                "no_touch": {"credited_revenue": 20.5, "credited_conversions": 1},
                "outside_window": {"credited_revenue": 0, "credited_conversions": 0},
                "not_counted": {"credited_revenue": 0, "credited_conversions": 0},
            },
        },
        "overall": {"credited_revenue": 120.5, "credited_conversions": 2},
        "event_names": {"purchase": 2, "custom_event_1": 1},
        "conversion_names": ["purchase"],
        "not_compared": None,
        "first_event": "2026-05-13 12:00:00",
        "last_event": "2026-05-13 12:00:00",
        "period": MAY,
        "compared_period": None,
        "timezone": "UTC",
        "currency": "USD",
        "attribution_model": "linear",
        "attribution_window": 30,
        "query_mode": "profile",
        "date_basis": "conversion",
        "left_out_money": [],
        "compared_left_out_money": None,
        "completeness": None,
        "trained_model": None,
        "visits": None,
        "channel_changes": None,
    }


@pytest.mark.usefixtures("journeys")
def test_what_people_call_things_is_beside_what_they_are(assistant: Assistant) -> None:
    by_event = assistant.call("query_report", **MAY, measures=["events"], group_by=["event"])
    assert by_event["columns"] == ["event", "event_name", "events"]
    assert by_event["rows"] == [
        ["purchase", "purchase", 2], ["custom_event_1", "Demo booked", 1],
    ]  # fmt: skip
    by_campaign = assistant.call("query_report", **MAY, group_by=["campaign", "source"],
                                 attribution_model="first_touch")  # fmt: skip
    assert by_campaign["rows"] == [["c1", "Spring", "google_ads", 100, 1]]
    by_country = assistant.call("query_report", **MAY, measures=["revenue"], group_by=["country", "month"])
    assert sorted(by_country["rows"], key=str) == [["DE", "2026-05", 100], [None, "2026-05", 20.5]]


@pytest.mark.usefixtures("journeys")
def test_times_are_in_order(assistant: Assistant) -> None:
    answer = assistant.call("query_report", period="2026-05-12 to 2026-05-14", measures=["events"],
                            group_by=["day"])  # fmt: skip
    days = [row[0] for row in answer["rows"]]
    assert days == sorted(days)
    assert ["2026-05-13", 3] in answer["rows"]
    weeks = assistant.call("query_report", **MAY, measures=["events"], group_by=["week"])
    assert ["2026-05-11", "2026-W20", 3] in weeks["rows"]


@pytest.mark.usefixtures("journeys")
def test_totals_only(assistant: Assistant) -> None:
    for arguments in ({"group_by": []}, {"measures": ["revenue", "contacts", "average_order_value"]}):
        answer = assistant.call("query_report", **MAY, **arguments)
        assert answer["rows"] == []
    assert answer["totals"] == {"revenue": 120.5, "contacts": 2, "average_order_value": 60.25}
    assert answer["unattributed"] is None


def test_comparisons(assistant: Assistant, journeys: Stage) -> None:
    contact_id = journeys.contact()
    before = NOON - timedelta(days=31)
    journeys.touchpoint(contact_id, "email", occurred_at=before)
    journeys.event(contact_id, amount=40, event_time=before)
    answer = assistant.call("query_report", **MAY, measures=["credited_revenue"],
                            attribution_model="linear", compare="previous_period",
                            order_by="source")  # fmt: skip
    assert answer["columns"] == [
        "source", "credited_revenue", "credited_revenue_before", "credited_revenue_change",
    ]  # fmt: skip
    assert answer["rows"] == [["email", 50, 40, 0.25], ["google_ads", 50, 0, None]]
    assert answer["totals"] == {
        "credited_revenue": 100, "credited_revenue_before": 40, "credited_revenue_change": 1.5,
    }  # fmt: skip
    assert answer["compared_period"] == {
        "start_date": "2026-04-01 00:00:00", "end_date": "2026-04-30 23:59:59",
    }  # fmt: skip


@pytest.mark.usefixtures("journeys")
def test_filters_and_limits(assistant: Assistant) -> None:
    linear = {**MAY, "attribution_model": "linear", "measures": ["credited_revenue"]}
    email_report = assistant.call("query_report", **linear, sources=["email"])
    assert (email_report["rows"], email_report["unattributed"]) == ([["email", 50]], None)
    spring = assistant.call("query_report", **linear, campaign="sPRING")
    assert spring["rows"] == [["google_ads", 50]]
    first = assistant.call("query_report", **linear, limit=1)
    assert (len(first["rows"]), first["left_out"]) == (1, 1)
    assert first["totals"] == {"credited_revenue": 100}
    demo = assistant.call("query_report", **MAY, measures=["events"],
                          event_names=["custom_event_1"])  # fmt: skip
    assert demo["totals"] == {"events": 1}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({**MAY, "period": "today"}, "The period must not be given with start_date and end_date."),
        ({"start_date": MAY["start_date"]}, "The end_date is required with start_date."),
        ({"end_date": MAY["end_date"]}, "The start_date is required with end_date."),
        ({"start_date": MAY["end_date"], "end_date": MAY["start_date"]}, "must be after"),
        ({"period": "soon"}, "The period cannot be read; there are: today"),
        ({"measures": ["sales"]}, "The measures must be one of events, conversions"),
        ({"group_by": ["source", "day", "event"]}, "must not have more than 2 values"),
        ({"group_by": ["source", "source"]}, "must not have the same value twice"),
        ({"order_by": "country"}, "The order_by must be one of the requested measures or groups"),
        ({"limit": 1001}, "The limit must be a whole number from 1 to 1000."),
        ({"attribution_window": 31}, "The attribution_window must be one of 0, 1, 7"),
        ({"campaign": "x" * 513}, "campaign"),
        ({"start_date": "0001-01-01 00:00:00", "end_date": "9999-12-31 23:59:59",
          "group_by": ["day"]}, "group_by"),
        ({"period": "0001", "compare": "previous_period"}, "compare"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_in_words(
    assistant: Assistant, arguments: dict[str, Any], message: str
) -> None:
    words = assistant.refusal("query_report", **arguments)
    assert message in words
    assert all(line.startswith("The ") for line in words.splitlines())


QUESTIONS = st.fixed_dictionaries({
    "measures": st.lists(st.sampled_from([str(m) for m in Measure]), min_size=1, unique=True)
    .filter(lambda names: "share" not in names or names[0] not in {"share", *AVERAGES}),
    "group_by": st.lists(st.sampled_from([str(g) for g in Group]), max_size=2, unique=True),
    "attribution_model": st.sampled_from(list(MODELS)),
    "attribution_window": st.sampled_from(WINDOWS),
    "compare": st.sampled_from(["none", "previous_period", "previous_year"]),
    "query_mode": st.sampled_from(["profile", "company"]),
}).filter(
    lambda arguments: OF_VISITS.isdisjoint(arguments["measures"])
    or set(VISIT_GROUPS).issuperset(arguments["group_by"])
)  # fmt: skip


@pytest.mark.usefixtures("journeys")
@settings(
    max_examples=campaign_size("HEADWATER_TOOL_REPORTS", 25, 600),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(arguments=QUESTIONS)
def test_any_question_is_answered_in_its_form(assistant: Assistant, arguments: dict[str, Any]) -> None:
    answer = assistant.call("query_report", **MAY, **arguments)
    assert all(len(row) == len(answer["columns"]) for row in answer["rows"])
    figures = [name for name in answer["columns"] if name in answer["totals"]]
    assert list(answer["totals"]) == figures


@pytest.mark.usefixtures("journeys")
def test_credit_adds_up_to_the_lists_of_the_api(assistant: Assistant, api: Api) -> None:
    for model in MODELS:
        answer = assistant.call(
            "query_report", **RANGE, attribution_model=model, measures=["credited_revenue"]
        )
        list_sums: dict[str, float] = defaultdict(float)
        for start in range(0, len(LISTED_SOURCES), 15):
            parameters = {"attribution_model": model, "attribution_window": 30}
            sources, fields = list(LISTED_SOURCES[start : start + 15]), ["amount", "source"]
            for row in api.rows(**parameters, **{"sources[]": sources, "fields[]": fields}):
                list_sums[row["source"]] += row["amount"] or 0
        assert dict(answer["rows"]) == pytest.approx(list_sums)


def test_the_defaults_it_describes_are_true() -> None:
    tool: Tool = BY_NAME["query_report"]
    assert tool.required == ()
    assert tool.arguments["attribution_model"]["default"] == "last_non_direct_touch"
    assert tool.arguments["period"]["default"] == "last 30 days"


def test_why_figures_have_changed(assistant: Assistant, stage: Stage) -> None:
    shop, who = pipeline.Stage(stage.connection, stage.space_id), {"email": "ada@example.com"}
    shop.run(pipeline.touch(**who, occurred_at=pipeline.T0 - pipeline.DAY),
             pipeline.event(**who, amount="100"))  # fmt: skip
    arguments = {"period": "2025-10", "measures": ["credited_revenue"]}
    snapshot = assistant.call("query_report", **arguments)["snapshot"]
    shop.run(pipeline.event(**who, amount="20"))
    changes = assistant.call("query_report", **arguments, changes_since=snapshot)["changes"]
    assert changes["overall"]["causes"] == {"late_events": {"credited_revenue": 20}}
    refusal = assistant.refusal("query_report", **arguments, changes_since="nonsense")
    assert "changes_since" in refusal


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("query_report", {"measures": ["credited_revenue"]}), ("query_spend", {}),
        ("query_spend", {"cohorts": 1}),
        ("list_events", {"sources": ["email"], "attribution_window": 30}),
    ],
)  # fmt: skip
def test_markov_without_a_trained_model_says_what_to_do(
    assistant: Assistant, tool: str, arguments: dict[str, Any]
) -> None:
    problem = assistant.refusal(tool, attribution_model="markov", **arguments)
    assert "The model markov needs a trained model: train one for any event" in problem
    assert "300 conversions" in problem
