"""Values of settings that would only fail later, or never fit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from headwater.base.failure import Failure
from headwater.base.settings import read_settings


@pytest.mark.parametrize(
    "origin",
    [
        "https://t.example.com",
        "http://localhost:8080",
        "http://my_host:81",
        "https://xn--exmple-cua.com:8443",
        "http://[::1]:8080",
    ],
)
def test_it_works(origin: str) -> None:
    assert read_settings({"HEADWATER_BASE_URL": f" {origin} "}).base_url == origin


@pytest.mark.parametrize(
    "text",
    [
        "HTTPS://t.example.com",
        "https://T.example.com",
        "https://t.example.com:443",
        "http://t.example.com:80",
        "https://t.example.com:",
        "https://t.example.com:0443",
        "https://t.example.com:99999",
        "https://t.example.com:port",
        "https://t.example.com?",
        "https://t.example.com#",
        "https://t.exam\nple.com",
        "https://t example.com",
        "https://exämple.com",
        "https://*.example.com",
        "https://@t.example.com",
    ],
)
def test_an_origin_is_written_as_browsers_send_it(text: str) -> None:
    """The console compares it with theirs, and would refuse every form."""
    with pytest.raises(Failure, match="HEADWATER_BASE_URL: "):
        read_settings({"HEADWATER_BASE_URL": text})


def test_entries_of_the_audit_log_are_kept_for_a_number_of_days_that_the_calendar_has() -> None:
    days = read_settings({"HEADWATER_AUDIT_DAYS": "36500"}).audit_days
    assert days is not None
    assert datetime.now(UTC) - timedelta(days=days) < datetime.now(UTC)
    for text in ("36501", "999999", "0"):
        with pytest.raises(Failure, match="HEADWATER_AUDIT_DAYS: "):
            read_settings({"HEADWATER_AUDIT_DAYS": text})


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://u:sesame@open@host/db",
        "postgresql://u:sesame%zz@host/db",
        "postgresql://u:sesame open@host/db",
        "postgresql://u:sesame@[::1/db",
        "postgresql://u:sesame@host/db?schema=app",
    ],
)
def test_a_database_url_that_postgresql_cannot_read_is_refused_without_its_password(text: str) -> None:
    with pytest.raises(Failure, match=r"HEADWATER_DATABASE_URL: .*percent-encoded") as refusal:
        read_settings({"HEADWATER_DATABASE_URL": text})
    assert "sesame" not in str(refusal.value)
    assert "open" not in str(refusal.value)
