"""`iso_utc`: times as text, in UTC, in whole seconds or with truncated milliseconds."""

from __future__ import annotations

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        ("2026-05-13 12:00:00+00", "2026-05-13T12:00:00Z"),
        ("2026-05-13 12:00:00.5+02", "2026-05-13T10:00:00.500Z"),
        ("2026-05-13 12:00:00.05+00", "2026-05-13T12:00:00.050Z"),
        ("2026-05-13 12:00:00.1239+00", "2026-05-13T12:00:00.123Z"),
        ("2026-05-13 12:00:00.000001+00", "2026-05-13T12:00:00.000Z"),
        ("2026-05-13 23:59:59.999999+00", "2026-05-13T23:59:59.999Z"),
        ("1969-12-31 23:59:59.9996+00", "1969-12-31T23:59:59.999Z"),
        ("0001-01-01 00:00:00+00", "0001-01-01T00:00:00Z"),
        ("9999-12-31 23:59:59.999999+00", "9999-12-31T23:59:59.999Z"),
    ],
)
def test_it_works(connection: psycopg.Connection, moment: str, text: str) -> None:
    connection.execute("SET DateStyle = 'German'; SET TimeZone = 'Asia/Kathmandu'")
    try:
        row = connection.execute("SELECT iso_utc(%s::timestamptz)", (moment,)).fetchone()
    finally:
        connection.execute("RESET DateStyle; RESET TimeZone")
    assert row == (text,)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.datetimes())
def test_a_fraction_has_three_digits(connection: psycopg.Connection, moment: object) -> None:
    row = connection.execute("SELECT iso_utc(%s AT TIME ZONE 'UTC')", (moment,)).fetchone()
    seconds, _, fraction = str(moment).replace(" ", "T").partition(".")
    assert row == (f"{seconds}.{fraction[:3]}Z" if fraction else f"{seconds}Z",)
