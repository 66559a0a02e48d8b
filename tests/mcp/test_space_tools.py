"""Tools, resources and prompts about the Space itself."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.assistants.mcp.prompts import PROMPTS
from headwater.assistants.mcp.resources import RESOURCES
from headwater.assistants.mcp.tools import TOOLS
from headwater.attribution.models import MODELS
from headwater.events.accepted import EVENT_NAMES
from headwater.forwarding.deliveries.delivery_log import FINISHED
from headwater.http.inputs.period_words import DateSpan, read_dates
from headwater.sources.catalogue import SOURCES
from tests.mcp.assistants import Assistant
from tests.support.factories import NOON, Stage

TODAY = date(2026, 3, 18)  # a Wednesday


def test_it_works(assistant: Assistant, stage: Stage, viewer: Assistant) -> None:
    stage.label_event("custom_event_3", "Demo booked")
    stage.label_field("profile_field_1", "Plan")
    space = assistant.call("get_space")
    assert space == {
        "id": stage.space_id, "name": "Test", "timezone": "UTC", "currency": "USD",
        "company_identity_mode": "auto", "half_life_days": 7,
        "event_labels": {"custom_event_3": "Demo booked"},
        "field_labels": {"profile_field_1": "Plan"}, "may_write": True, "today": space["today"],
        "first_event": None, "last_event": None, "event_counts": {},
        "not_known": space["not_known"],
    }  # fmt: skip
    assert [note for note in space["not_known"] if "No ad spend" in note] == space["not_known"]
    assert abs(date.fromisoformat(space["today"]) - datetime.now(UTC).date()) <= timedelta(days=1)
    assert viewer.call("get_space") == {**space, "may_write": False}
    assert json.loads(read(assistant, "trk://space")) == space


def test_what_is_in_the_space(assistant: Assistant, stage: Stage, connection: psycopg.Connection) -> None:
    zone = "Pacific/Kiritimati"  # 14 hours ahead
    connection.execute("UPDATE spaces SET timezone = %s WHERE id = %s", (zone, stage.space_id))
    known_id, unknown = stage.contact(country="DE"), stage.contact()
    for name, days in (("purchase", 0), ("purchase", 9), ("sign_up", 5)):
        stage.event(unknown, event_name=name, event_time=NOON - timedelta(days=days))
    stage.contact(merged_into=known_id)
    space = assistant.call("get_space")
    assert space["first_event"] == "2026-05-05T02:00:00+14:00"
    assert space["last_event"] == "2026-05-14T02:00:00+14:00"
    assert list(space["event_counts"].items()) == [("purchase", 2), ("sign_up", 1)]
    assert "The country is known for 50 % of 2 contacts" in space["not_known"][1]


def test_custom_events_have_names(assistant: Assistant, stage: Stage) -> None:
    stage.label_event("custom_event_10", "Ten")
    stage.label_event("custom_event_2", "Two")
    answer = assistant.call("list_custom_events")
    assert answer["unnamed"] == 48
    assert answer["custom_events"] == [
        {"name": "custom_event_2", "label": "Two"}, {"name": "custom_event_10", "label": "Ten"},
    ]  # fmt: skip


def test_dates_are_on_the_clock_of_the_space(assistant: Assistant, connection: psycopg.Connection) -> None:
    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
        connection.execute("UPDATE spaces SET timezone = %s WHERE id = %s", (zone, assistant.space_id))
        before = datetime.now(UTC).astimezone(ZoneInfo(zone)).date()
        dates = assistant.call("resolve_date_range", words="yesterday")
        if datetime.now(UTC).astimezone(ZoneInfo(zone)).date() == before:
            assert dates["today"] == before.isoformat()
        yesterday = date.fromisoformat(dates["today"]) - timedelta(days=1)
        assert dates["start_date"] == f"{yesterday} 00:00:00"
        assert dates["end_date"] == f"{yesterday} 23:59:59"
        assert dates["previous_period"]["end_date"] == f"{yesterday - timedelta(1)} 23:59:59"
        assert (dates["days"], dates["timezone"]) == (1, zone)
        assert dates["note"] == f"Today, {dates['today']}, is left out."
    this_year = assistant.call("resolve_date_range", words="this year")
    assert "is included and not over yet" in this_year["note"]
    assert "there are: today" in assistant.refusal("resolve_date_range", words="0001")
    assert "there are: today, yesterday" in assistant.refusal("resolve_date_range", words="soon")


@pytest.mark.parametrize(
    ("period_words", "first_day", "last_day"),
    [
        ("today", "2026-03-18", "2026-03-18"), ("Yesterday", "2026-03-17", "2026-03-17"),
        ("this week", "2026-03-16", "2026-03-18"), ("last week", "2026-03-09", "2026-03-15"),
        ("this month", "2026-03-01", "2026-03-18"), ("last month", "2026-02-01", "2026-02-28"),
        ("in the last month", "2026-02-01", "2026-02-28"),
        ("this quarter", "2026-01-01", "2026-03-18"), ("last quarter", "2025-10-01", "2025-12-31"),
        ("this year", "2026-01-01", "2026-03-18"), ("last_year", "2025-01-01", "2025-12-31"),
        ("the last 7 days", "2026-03-12", "2026-03-18"), ("past 1 day", "2026-03-18", "2026-03-18"),
        ("last 2 weeks", "2026-03-02", "2026-03-15"), ("last 3 months", "2025-12-01", "2026-02-28"),
        ("2024", "2024-01-01", "2024-12-31"), ("2024-02", "2024-02-01", "2024-02-29"),
        ("2026-Q3", "2026-07-01", "2026-09-30"), ("q1 2024", "2024-01-01", "2024-03-31"),
        ("2026-03-14", "2026-03-14", "2026-03-14"),
        ("2026-03-01 to 2026-03-14", "2026-03-01", "2026-03-14"),
    ],
)  # fmt: skip
def test_words_for_time(period_words: str, first_day: str, last_day: str) -> None:
    span = read_dates(period_words, TODAY)
    assert (span.first.isoformat(), span.last.isoformat()) == (first_day, last_day)


@pytest.mark.parametrize(
    "period_words",
    ["", "soon", "2026-13", "2026-02-30", "2026-03-14 to 2026-03-01", "last 0 days", "0000",
     "last 9999 years", "last 1001 days", "9" * 100],
)  # fmt: skip
def test_words_that_mean_no_time(period_words: str) -> None:
    with pytest.raises(ValueError, match="there are: today"):
        read_dates(period_words, TODAY)


UNITS = ("day", "week", "month", "quarter", "year")


@given(
    today=st.dates(date(2000, 1, 1), date(2100, 1, 1)), count=st.integers(1, 60), unit=st.sampled_from(UNITS)
)
def test_stretches_meet(today: date, count: int, unit: str) -> None:
    """The last few units end today, or just before the current unit; the previous period has the same number
    of units.
    """
    span = read_dates(f"last {count} {unit}s", today)
    current_span = read_dates("today" if unit == "day" else f"this {unit}", today)
    assert current_span.last == today
    if unit == "day":
        assert (span.last, span.days) == (today, count)
    else:
        assert span.last + timedelta(days=1) == current_span.first
    unit_span = current_span if unit == "day" else read_dates(f"last {unit}", today)
    assert unit_span.last == span.last
    assert unit_span.first >= span.first
    before = span.before
    assert before == DateSpan(before.first, span.first - timedelta(days=1))
    if unit in ("month", "quarter", "year"):
        assert (before.first.day, months(before)) == (1, months(span))
    elif (span.first.day, span.last.day) not in {(1, 30), (1, 31), (1, 28), (1, 29)}:
        assert before.days == span.days


def months(span: DateSpan) -> int:
    return (span.last.year - span.first.year) * 12 + span.last.month - span.first.month + 1


@pytest.mark.parametrize(
    ("period_words", "first_day", "last_day"),
    [
        ("2026-10", "2026-09-01", "2026-09-30"), ("2026-Q1", "2025-10-01", "2025-12-31"),
        ("2024", "2023-01-01", "2023-12-31"), ("last week", "2026-03-02", "2026-03-08"),
        ("this month", "2026-02-01", "2026-02-18"), ("this week", "2026-03-09", "2026-03-11"),
        ("this quarter", "2025-10-01", "2025-12-18"), ("this year", "2025-01-01", "2025-03-18"),
        ("last 7 days", "2026-03-05", "2026-03-11"),
        ("2026-02-01 to 2026-03-31", "2025-12-01", "2026-01-31"),
    ],
)  # fmt: skip
def test_a_month_comes_before_a_month(period_words: str, first_day: str, last_day: str) -> None:
    before = read_dates(period_words, TODAY).before
    assert (before.first.isoformat(), before.last.isoformat()) == (first_day, last_day)


def read(assistant: Assistant, uri: str) -> str:
    (contents,) = assistant.ask("resources/read", {"uri": uri})["contents"]
    assert (contents["uri"], contents["mimeType"]) == (uri, "application/json")
    return contents["text"]


def test_resources_are_these(assistant: Assistant, viewer: Assistant, stage: Stage) -> None:
    stage.label_event("custom_event_1", "Demo")
    stage.label_field("profile_field_16", "Seats")
    resources = assistant.ask("resources/list")["resources"]
    assert [resource["uri"] for resource in resources] == [
        "trk://space", "trk://attribution-models", "trk://sources", "trk://event-names",
        "trk://profile-fields",
    ]  # fmt: skip
    assert all(resource["description"] and resource["title"] for resource in resources)
    assert assistant.ask("resources/templates/list")["resourceTemplates"] == []
    contents = {uri: json.loads(read(viewer, uri)) for uri in RESOURCES}
    assert {model["name"] for model in contents["trk://attribution-models"]["models"]} == set(MODELS)
    assert [source["name"] for source in contents["trk://sources"]["sources"]] == list(SOURCES)
    names = {event["name"]: event["label"] for event in contents["trk://event-names"]["event_names"]}
    assert list(names) == list(EVENT_NAMES)
    assert names["custom_event_1"] == "Demo"
    fields = {field["name"]: field for field in contents["trk://profile-fields"]["profile_fields"]}
    assert len(fields) == 30
    assert fields["profile_field_16"] == {
        "name": "profile_field_16", "type": "number", "label": "Seats",
    }  # fmt: skip


def test_a_resource_there_is_not(assistant: Assistant) -> None:
    for uri in ("trk://x", "trk://space/", "file:/etc/passwd", "http://127.0.0.1/"):
        error = assistant.message("resources/read", {"uri": uri})["error"]
        assert error["code"] == -32602
        assert "trk://space" in error["message"]


def test_prompts_are_these(assistant: Assistant) -> None:
    prompts = {entry["name"]: entry for entry in assistant.ask("prompts/list")["prompts"]}
    assert prompts.keys() == {"channel_review", "explain_conversion", "data_quality_check"}
    for name, description in prompts.items():
        required_values = {
            argument["name"]: "17" for argument in description["arguments"] if argument["required"]
        }
        prompt = assistant.ask("prompts/get", {"name": name, "arguments": required_values})
        (message,) = prompt["messages"]
        assert message["role"] == "user"
        assert "$" not in message["content"]["text"]
        all_given = {argument["name"]: "$period ${x} 17" for argument in description["arguments"]}
        text = assistant.ask("prompts/get", {"name": name, "arguments": all_given})
        assert "$period ${x} 17" in text["messages"][0]["content"]["text"]


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("x", {}, "There is no prompt x. There are: channel_review"),
        ("explain_conversion", {}, "The event_id is required."),
        ("explain_conversion", {"event_id": " "}, "The event_id is required."),
        ("channel_review", {"x": "1"}, "There is no argument x."),
        ("channel_review", {"period": "x" * 501}, "must not be longer than 500 characters"),
    ],
)
def test_what_is_wrong_with_a_prompt(
    assistant: Assistant, name: str, arguments: dict[str, str], message: str
) -> None:
    error = assistant.message("prompts/get", {"name": name, "arguments": arguments})["error"]
    assert error["code"] == -32602
    assert message in error["message"]


def test_a_review_uses_the_model_of_reports(assistant: Assistant) -> None:
    (message,) = assistant.ask("prompts/get", {"name": "channel_review"})["messages"]
    report = assistant.call("query_report", group_by="source")
    assert f"model {report['attribution_model']}, window {report['attribution_window']}" in str(message)


def test_the_data_check_asks_for_every_delivery_that_did_not_arrive() -> None:
    assert not [status for status in FINISHED if status not in PROMPTS["data_quality_check"].text]


def test_prompts_name_tools_there_are() -> None:
    names = {tool.name for tool in TOOLS}
    for question in PROMPTS.values():
        words = set(question.text.replace(",", " ").replace(".", " ").replace(":", " ").split())
        tool_names = {word for word in words if word in names}
        assert tool_names
        stems = ("get_", "list_", "query_", "resolve_", "explain_", "find_")
        assert {word for word in words if word.startswith(stems)} == tool_names
