"""Custom fields in request bodies of contacts: types, blanks and answers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import httpx
import psycopg
import pytest

from tests.support.factories import Stage, make_stage
from tests.support.reading_fixtures import Api

EMAIL = "ada@example.com"


def create(api: Api, **fields: Any) -> dict[str, Any]:
    response = api.send("POST", "/contacts", json={"emails": [EMAIL], **fields})
    assert response.status_code == 201, response.text
    return response.json()


def fields(api: Api, **values: Any) -> dict[str, Any]:
    return create(api, custom_fields=values)["custom_fields"]


def refusal(api: Api, custom_fields: Any) -> dict[str, list[str]]:
    body = {"emails": [EMAIL], "custom_fields": custom_fields}
    response = api.send("POST", "/contacts", json=body)
    assert response.status_code == 422, response.text
    return response.json()["errors"]


def stored_columns(stage: Stage, columns: str) -> tuple[Any, ...]:
    query = f"SELECT {columns} FROM contacts WHERE space_id = %s"
    row = stage.connection.execute(query, (stage.space_id,)).fetchone()
    assert row is not None
    return row


def test_it_works(api: Api, stage: Stage) -> None:
    values = {"profile_field_1": "gold", "profile_field_16": "2.50", "profile_field_26": "2026-01-02"}
    assert fields(api, **values) == {**values, "profile_field_16": 2.5}
    columns = "profile_field_1, profile_field_16::text, profile_field_26::text"
    assert stored_columns(stage, columns) == ("gold", "2.5", "2026-01-02 00:00:00+00")


def test_custom_fields_are_answered_only_when_they_were_given(api: Api) -> None:
    assert "custom_fields" not in create(api)
    assert create(api, custom_fields={})["custom_fields"] == {}


def test_null_and_blank_are_unset(api: Api, stage: Stage) -> None:
    values = {"profile_field_1": None, "profile_field_2": " ", "profile_field_16": "",
              "profile_field_26": "\n", "profile_field_30": None}  # fmt: skip
    assert fields(api, **values) == {}
    slots = ", ".join(f"profile_field_{slot}" for slot in range(1, 31))
    assert stored_columns(stage, slots) == (None,) * 30


def test_all_slots_are_answered_in_order(api: Api) -> None:
    values = {f"profile_field_{slot}": "2026-01-02" for slot in range(30, 25, -1)}
    values |= {f"profile_field_{slot}": slot for slot in range(25, 15, -1)}
    values |= {f"profile_field_{slot}": f"t{slot}" for slot in range(15, 0, -1)}
    answer = fields(api, **values)
    assert answer == values
    assert list(answer) == [f"profile_field_{slot}" for slot in range(1, 31)]


@pytest.mark.parametrize("value", [None, [], "x", 5, True, ["profile_field_1"]])
def test_custom_fields_are_an_object(api: Api, value: Any) -> None:
    errors = {"custom_fields": ["The custom_fields must be an object."]}
    assert refusal(api, value) == errors


@pytest.mark.parametrize(
    "key", ["profile_field_0", "profile_field_31", "profile_field_01", "Profile_field_1", "id", ""]
)
def test_keys_are_slots(api: Api, key: str) -> None:
    field = f"custom_fields.{key}"
    rule = f"The {field} must be one of profile_field_1 to profile_field_30."
    for value in ("x", None):
        assert refusal(api, {key: value}) == {field: [rule]}


@pytest.mark.parametrize(
    ("slot", "value", "rule"),
    [
        *[(1, value, "must be a string of at most 10240 characters.")
          for value in ("x" * 10_241, 5, 1.5, True, [], {})],
        *[(15, value, "must be a string of at most 10240 characters.") for value in (0, False)],
        *[(16, value, "must be a number or text holding one.") for value in (True, [], {})],
        *[(25, value, "must be a number.") for value in ("abc", "1,5", "NaN", "0x1", "1_0")],
        (16, 10**24 + 1, f"must be a finite number between -{10**24} and {10**24}."),
        *[(26, value, "must be a date (YYYY-MM-DD) or an ISO 8601 date-time.")
          for value in ("soon", "2026-02-30", "2026-13-01", "13/05/2026", "1767312000",
                        1767312000, 1.5, True, [], {})],
        (30, "2026-01-02T25:00:00Z", "must be a date (YYYY-MM-DD) or an ISO 8601 date-time."),
    ],
)  # fmt: skip
def test_values_have_the_type_of_their_slot(api: Api, slot: int, value: Any, rule: str) -> None:
    field = f"custom_fields.profile_field_{slot}"
    assert refusal(api, {f"profile_field_{slot}": value}) == {field: [f"The {field} {rule}"]}


def test_text_is_stored_as_written(api: Api) -> None:
    texts = {"profile_field_1": " Gold\n", "profile_field_15": "ü" * 10_240}
    assert fields(api, **texts) == texts


@pytest.mark.parametrize(
    ("text", "answered_value"),
    [("0", "0"), ("-3", "-3"), ("1.50", "1.5"), ('" 7.25 "', "7.25"), ('"1e3"', "1000"),
     ("1e24", "1" + "0" * 24), ("0." + "1" * 60, "0.1111111111"), ("-0.0", "0")],
)  # fmt: skip
def test_numbers_are_exact(api: Api, stage: Stage, text: str, answered_value: str) -> None:
    body = f'{{"emails": ["{EMAIL}"], "custom_fields": {{"profile_field_16": {text}}}}}'
    response = api.send("POST", "/contacts", content=body)
    assert response.status_code == 201, response.text
    assert f'"profile_field_16":{answered_value}}}' in response.text
    assert stored_columns(stage, "profile_field_16::text") == (answered_value,)


@pytest.mark.parametrize(
    ("zone", "value", "moment", "answered_value"),
    [
        ("UTC", "2026-01-02", "2026-01-02T00:00:00Z", "2026-01-02"),
        ("UTC", "2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-02"),
        ("UTC", "2026-01-02 03:04", "2026-01-02T03:04:00Z", "2026-01-02T03:04:00Z"),
        ("UTC", "2026-01-02T03:04:05.670Z", "2026-01-02T03:04:05.67Z", "2026-01-02T03:04:05.670Z"),
        ("Asia/Kolkata", "2026-01-02", "2026-01-01T18:30:00Z", "2026-01-02"),
        ("Asia/Kolkata", "2026-01-01T18:30:00Z", "2026-01-01T18:30:00Z", "2026-01-02"),
        ("Asia/Kolkata", "2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z"),
        ("Asia/Kolkata", "2026-01-02T00:00:00+05:30", "2026-01-01T18:30:00Z", "2026-01-02"),
        # Midnight was skipped, so the day begins an hour later.
        ("America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z", "2018-11-04"),
        # Midnight came twice, and the day began with the first one.
        ("America/Havana", "2025-11-02", "2025-11-02T04:00:00Z", "2025-11-02"),
        ("America/Havana", "2025-11-02T05:00:00Z", "2025-11-02T05:00:00Z", "2025-11-02T05:00:00Z"),
    ],
)
def test_days_are_midnights_in_the_space_s_zone(
    client: httpx.Client, connection: psycopg.Connection, zone: str, value: str, moment: str,
    answered_value: str,
) -> None:  # fmt: skip
    stage = make_stage(connection, timezone=zone)
    answer = fields(Api(client, stage.key), profile_field_26=value)
    assert answer == {"profile_field_26": answered_value}
    assert stored_columns(stage, "profile_field_26") == (datetime.fromisoformat(moment),)


@pytest.mark.parametrize(
    ("zone", "value"),
    [("Asia/Kolkata", "0001-01-01"), ("America/New_York", "0001-01-01"),
     ("Asia/Tokyo", "9999-12-31"), ("Asia/Tokyo", "9999-12-31T23:59:59Z")],
)  # fmt: skip
def test_the_calendar_s_ends(
    client: httpx.Client, connection: psycopg.Connection, zone: str, value: str
) -> None:
    stage = make_stage(connection, timezone=zone)
    assert fields(Api(client, stage.key), profile_field_30=value) == {"profile_field_30": value}
