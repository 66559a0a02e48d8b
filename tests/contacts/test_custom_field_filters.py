"""custom_field_filters of GET /events: each operator compared with its meaning in plain Python."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import psycopg
import pytest

from headwater.people.contacts.filters import OPERATORS
from tests.support.factories import Stage, make_stage
from tests.support.reading_fixtures import Api

TEXTS = [
    None, "", " ", "gold", "Gold", "gold plan", "marigold", "a_b", "axb", "a%b", "a\\b", "a\\", "%",
    "_", "\\", "gold-plan", "the gold", "golden", "gold_plan", "gold.", "C++ dev", "C dev", "né",
    "née", "(gold)", "a'b", "[a-z]", "old", "new york", "new-york", "New York, new york!",
]  # fmt: skip
NUMBERS = [None, "-5", "0", "0.0000001", "1", "1.5", "2", "10", "1000000"]


def is_word(stored_value: str, value: str) -> bool:
    """Return whether the value is in the text without a letter, digit or `_` on either side."""
    for index in range(len(stored_value) - len(value) + 1):
        around = (
            stored_value[max(0, index - 1) : index]
            + stored_value[index + len(value) : index + len(value) + 1]
        )
        if stored_value.startswith(value, index) and not re.search(r"\w", around):
            return True
    return False


Texts = Callable[[str, str], bool]
TEXT_ORACLE: dict[str, Texts] = {
    "equal_to": lambda stored_value, value: stored_value == value,
    "not_equal_to": lambda stored_value, value: stored_value not in ("", value),
    "contains": lambda stored_value, value: value in stored_value,
    "not_contains": lambda stored_value, value: stored_value != "" and value not in stored_value,
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "contains_word": is_word,
    "any": lambda stored_value, _: stored_value != "",
    "unknown": lambda stored_value, _: stored_value == "",
}
NUMBER_ORACLE: dict[str, Callable[[Decimal | None, Decimal], bool]] = {
    "equal_to": lambda stored_value, value: stored_value == value,
    "not_equal_to": lambda stored_value, value: stored_value is not None and stored_value != value,
    "greater_than": lambda stored_value, value: stored_value is not None and stored_value > value,
    "greater_than_or_equal_to": lambda stored_value, value: (
        stored_value is not None and stored_value >= value
    ),
    "less_than": lambda stored_value, value: stored_value is not None and stored_value < value,
    "less_than_or_equal_to": lambda stored_value, value: stored_value is not None and stored_value <= value,
    "any": lambda stored_value, _: stored_value is not None and stored_value > 0,
    "unknown": lambda stored_value, _: stored_value is None or stored_value == 0,
}
DATE_ORACLE: dict[str, Callable[[date, list[date]], bool]] = {
    "equal_to": lambda day, given: day == given[0],
    "between": lambda day, given: given[0] <= day <= given[1],
    "greater_than": lambda day, given: day > given[0],
    "less_than": lambda day, given: day < given[0],
}
AGE_ORACLE: dict[str, Callable[[int, int], bool]] = {
    "age_greater_than": lambda age, days: age > days,
    "age_equal_to": lambda age, days: age == days,
    "age_less_than": lambda age, days: age < days,
}


def condition(number: int = 0, **members: str) -> dict[str, str]:
    return {f"custom_field_filters[{number}][{name}]": text for name, text in members.items()}


def stored_values(stage: Stage, field: str, values: list[Any]) -> dict[int, Any]:
    """Store an event for each value, and return the values by event id."""
    stage.label_field(field)
    return {stage.event(stage.contact(**{field: value})): value for value in values}


def find_contacts(api: Api, **members: str) -> set[int]:
    return {row["id"] for row in api.rows(**condition(**members))}


@pytest.mark.parametrize("operator", TEXT_ORACLE)
def test_text(api: Api, stage: Stage, operator: str) -> None:
    stored_by_event = stored_values(stage, "profile_field_15", TEXTS)
    for value in filter(None, TEXTS):
        expected = {
            event_id for event_id, text in stored_by_event.items() if TEXT_ORACLE[operator](text or "", value)
        }
        assert find_contacts(api, field="profile_field_15", operator=operator, value=value) == expected, value


@pytest.mark.parametrize("operator", NUMBER_ORACLE)
def test_numbers(api: Api, stage: Stage, operator: str) -> None:
    values = [None if text is None else Decimal(text) for text in NUMBERS]
    stored_by_event = stored_values(stage, "profile_field_16", values)
    for text in [*filter(None, NUMBERS), "1e1", "-5.00", ".5", "2."]:
        expected = {
            event_id
            for event_id, number in stored_by_event.items()
            if NUMBER_ORACLE[operator](number, Decimal(text))
        }
        assert find_contacts(api, field="profile_field_16", operator=operator, value=text) == expected, text


def dates_around(days: list[date], zone: ZoneInfo) -> list[datetime]:
    """Return the first, a middle and the last instant of each day, found by stepping through UTC."""
    moments: list[datetime] = []
    for day in days:
        midnight = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(hours=15)
        minutes = [midnight + timedelta(minutes=n) for n in range(0, 55 * 60, 30)]
        inside = [minute for minute in minutes if minute.astimezone(zone).date() == day]
        moments += [inside[0], inside[len(inside) // 2], inside[-1]]
    return moments


ZONES = ["UTC", "America/New_York", "Pacific/Kiritimati", "Africa/Cairo"]


@pytest.mark.parametrize("zone_name", ZONES)
@pytest.mark.parametrize("operator", DATE_ORACLE)
def test_dates(client: httpx.Client, connection: psycopg.Connection, operator: str, zone_name: str) -> None:
    """Cairo's clocks skip midnight on 2026-04-24. New York repeats an hour on 2026-11-01."""
    stage = make_stage(connection, timezone=zone_name)
    api = Api(client, stage.key)
    zone = ZoneInfo(zone_name)
    for days in ([date(2026, 4, 24), date(2026, 4, 26)], [date(2026, 11, 1), date(2026, 11, 1)]):
        around = [days[0] + timedelta(days=n) for n in range(-2, 5)]
        field = f"profile_field_{26 + (days[0].month == 11)}"
        stored_by_event = stored_values(stage, field, [None, *dates_around(around, zone)])
        expected = {
            event_id
            for event_id, moment in stored_by_event.items()
            if moment and DATE_ORACLE[operator](moment.astimezone(zone).date(), days)
        }
        start, end = map(str, days)
        operands = {"start": start, "end": end} if operator == "between" else {"value": start}
        assert find_contacts(api, field=field, operator=operator, **operands) == expected
        as_time = {name: f"{text} 10:00:00" for name, text in operands.items()}
        assert find_contacts(api, field=field, operator=operator, **as_time) == expected


@pytest.mark.parametrize("zone_name", ZONES)
@pytest.mark.parametrize("operator", AGE_ORACLE)
def test_ages(client: httpx.Client, connection: psycopg.Connection, operator: str, zone_name: str) -> None:
    stage = make_stage(connection, timezone=zone_name)
    zone = ZoneInfo(zone_name)
    today = datetime.now(zone).date()
    days = [today - timedelta(days=age) for age in (-1, 0, 1, 29, 30, 31, 400)]
    stored_by_event = stored_values(stage, "profile_field_30", [None, *dates_around(days, zone)])
    for count in (0, 1, 30, 999_999_999):
        expected = {
            event_id
            for event_id, moment in stored_by_event.items()
            if moment and AGE_ORACLE[operator]((today - moment.astimezone(zone).date()).days, count)
        }
        parameters = {"field": "profile_field_30", "operator": operator, "value": str(count)}
        assert find_contacts(Api(client, stage.key), **parameters) == expected, count
        assert datetime.now(zone).date() == today, "the test ran over midnight"


def test_dates_filled_or_not(api: Api, stage: Stage) -> None:
    empty_event, filled_event = stored_values(
        stage, "profile_field_28", [None, datetime(2026, 5, 1, tzinfo=UTC)]
    )
    assert find_contacts(api, field="profile_field_28", operator="any") == {filled_event}
    assert find_contacts(api, field="profile_field_28", operator="unknown") == {empty_event}


def test_no_operator_is_left_out() -> None:
    tested_operators = {
        "text": {*TEXT_ORACLE},
        "number": {*NUMBER_ORACLE},
        "date": {*DATE_ORACLE, *AGE_ORACLE, "any", "unknown"},
    }
    assert {kind: set(table) for kind, table in OPERATORS.items()} == tested_operators


def test_conditions_all_have_to_hold(api: Api, stage: Stage) -> None:
    for field in ("profile_field_1", "profile_field_16"):
        stage.label_field(field)
    event_id = stage.event(stage.contact(profile_field_1="a", profile_field_16=Decimal(1)))
    stage.event(stage.contact(profile_field_1="a", profile_field_16=Decimal(2)))
    stage.event(stage.contact(profile_field_1="b", profile_field_16=Decimal(1)))
    rows = api.rows(
        **condition(7, field="profile_field_1", operator="equal_to", value="a"),
        **condition(3, field="profile_field_16", operator="less_than", value="2"),
    )
    assert [row["id"] for row in rows] == [event_id]


def test_with_sources(api: Api, stage: Stage) -> None:
    stage.label_field("profile_field_1")
    events: list[int] = []
    for text in ("a", "b"):
        contact_id = stage.contact(profile_field_1=text)
        stage.touchpoint(contact_id, "email")
        events.append(stage.event(contact_id))
    query = condition(field="profile_field_1", operator="equal_to", value="b")
    for mode in ("profile", "company"):
        rows = api.rows(
            **query, sources="email", attribution_model="linear", attribution_window=1,
            query_mode=mode,
        )  # fmt: skip
        assert [row["id"] for row in rows] == events[1:]


TEXT = {"field": "profile_field_1"}
NUMBER = {"field": "profile_field_16"}
DATE = {"field": "profile_field_26"}


@pytest.mark.parametrize(
    ("members", "member"),
    [
        ({"operator": "any"}, "field"),
        ({"field": "profile_field_2", "operator": "any"}, "field"),
        ({"field": "profile_field_31", "operator": "any"}, "field"),
        ({"field": "email", "operator": "any"}, "field"),
        ({**TEXT}, "operator"),
        ({**TEXT, "operator": "like", "value": "a"}, "operator"),
        ({**TEXT, "operator": "greater_than", "value": "a"}, "operator"),
        ({**TEXT, "operator": "equal_to"}, "value"),
        ({**TEXT, "operator": "equal_to", "value": ""}, "value"),
        ({**TEXT, "operator": "equal_to", "value": "a" * 10_241}, "value"),
        ({**NUMBER, "operator": "contains", "value": "1"}, "operator"),
        ({**NUMBER, "operator": "equal_to", "value": "one"}, "value"),
        ({**NUMBER, "operator": "equal_to", "value": "NaN"}, "value"),
        ({**NUMBER, "operator": "equal_to", "value": "Infinity"}, "value"),
        ({**NUMBER, "operator": "equal_to", "value": "1_0"}, "value"),
        ({**NUMBER, "operator": "equal_to", "value": "٣"}, "value"),
        ({**NUMBER, "operator": "equal_to", "value": "9" * 5000}, "value"),
        ({**NUMBER, "operator": "equal_to", "value": "1e999"}, "value"),
        ({**DATE, "operator": "not_equal_to", "value": "2026-01-01"}, "operator"),
        ({**DATE, "operator": "equal_to", "value": "01/02/2026"}, "value"),
        ({**DATE, "operator": "equal_to", "value": "2026-02-30"}, "value"),
        ({**DATE, "operator": "between", "start": "2026-02-02"}, "end"),
        ({**DATE, "operator": "between", "end": "2026-02-02"}, "start"),
        ({**DATE, "operator": "between", "start": "2026-02-02", "end": "2026-02-01"}, "end"),
        ({**DATE, "operator": "age_equal_to", "value": "1.5"}, "value"),
        ({**DATE, "operator": "age_equal_to", "value": "-1"}, "value"),
        ({**DATE, "operator": "age_equal_to", "value": "٣"}, "value"),
    ],
)
def test_what_breaks_a_rule_is_named(api: Api, stage: Stage, members: dict[str, str], member: str) -> None:
    for field in ("profile_field_1", "profile_field_16", "profile_field_26"):
        stage.label_field(field)
    assert list(api.errors(**condition(2, **members))) == [f"custom_field_filters.2.{member}"]


@pytest.mark.parametrize(
    "params",
    [
        {"custom_field_filters": "x"},
        {"custom_field_filters[]": "x"},
        {"custom_field_filters[0]": "x"},
        {"custom_field_filters[0][field][0]": "x"},
        {"custom_field_filters[a][field]": "x"},
        {f"custom_field_filters[{n}][operator]": "any" for n in range(11)},
    ],
)
def test_other_shapes_are_refused(api: Api, params: dict[str, str]) -> None:
    assert list(api.errors(**params)) == ["custom_field_filters"]


def as_json(*conditions: dict[str, Any]) -> dict[str, str]:
    return {"custom_field_filters": json.dumps(conditions)}


def test_a_json_list_says_the_same(api: Api, stage: Stage) -> None:
    stored_by_event = stored_values(stage, "profile_field_16", [1, 2, 3])
    condition_at_two = {"field": "profile_field_16", "operator": "greater_than"}
    for value in (2, "2", 2.0):
        rows = api.rows(**as_json({**condition_at_two, "value": value}))
        assert {stored_by_event[row["id"]] for row in rows} == {3}
    assert find_contacts(api, **condition_at_two, value="2") == {row["id"] for row in rows}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"field": "profile_field_1"}', "custom_field_filters"),
        ('["profile_field_1"]', "custom_field_filters"),
        ('[{"field": []}]', "custom_field_filters"),
        ("[" * 2000, "custom_field_filters"),
        (json.dumps([{"operator": "any"}] * 11), "custom_field_filters"),
        (json.dumps([{**TEXT, "operator": "equal_to", "value": "a\0b"}]), "custom_field_filters"),
        (json.dumps([{**TEXT, "operator": "like", "value": "a"}]), "custom_field_filters.0.operator"),
    ],
)
def test_faults_of_a_json_list_are_named(api: Api, stage: Stage, text: str, fault: str) -> None:
    stage.label_field("profile_field_1")
    assert list(api.errors(custom_field_filters=text)) == [fault]


def test_a_member_given_twice_is_refused(api: Api, stage: Stage) -> None:
    stage.label_field("profile_field_1")
    twice = condition(**TEXT, operator="equal_to") | {
        "custom_field_filters[0][value]": ["a", "b"]  # type: ignore[dict-item]
    }
    assert list(api.errors(**twice)) == ["custom_field_filters.0.value"]


@pytest.mark.parametrize("letter", ["a", "(", "\\", "é", "[", " "])
def test_long_words_are_quick(api: Api, stage: Stage, letter: str) -> None:
    """Only here does a value become part of a pattern."""
    word = "x" + letter * 5000
    event_id = stage.event(stage.contact(profile_field_1=f"a {word} b"))
    stage.label_field("profile_field_1")
    query = condition(field="profile_field_1", operator="contains_word", value=word)
    response = api.list(**query)
    assert [row["id"] for row in response.json()["data"]] == [event_id]
    assert response.elapsed < timedelta(seconds=1)
