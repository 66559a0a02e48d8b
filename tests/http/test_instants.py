"""Timestamps in bodies: the accepted forms of ISO 8601, with the same parser everywhere."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import httpx
import pytest

from headwater.http.inputs.instants import ISO_SCHEMA, UNIX_SCHEMA, parse_instant, parse_iso

TEN = datetime(2026, 10, 1, 10, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-10-01T10:00:00Z", TEN), ("20261001T100000Z", TEN), ("20261001t100000z", TEN),
        ("20261001T100000", TEN), ("20261001T1000Z", TEN), ("20261001T120000+0200", TEN),
        ("20261001T120000+02", TEN), ("20261001T120000+02:00", TEN),
        ("20261001T100000.5Z", TEN + 0.5),
        ("20261001T100000,25Z", TEN + 0.25), ("2026-10-01T10:00:00,5Z", TEN + 0.5),
        ("2026-10-01 10:00:00,123456789", TEN + 0.123456), (" 20261001T100000Z ", TEN),
    ],
)  # fmt: skip
def test_it_works(text: str, seconds: float) -> None:
    assert parse_instant(text) == pytest.approx(seconds, abs=1e-6)
    assert parse_iso(text) == parse_instant(text)
    assert re.search(ISO_SCHEMA["pattern"], text)


@pytest.mark.parametrize(
    "text",
    [
        "20261001T10:00:00Z", "2026-10-01T100000Z", "20261001 100000Z", "20261301T100000Z",
        "20261001T250000Z", "20261001T1000.5Z", "20261001T100000,Z", "20261001T10Z", "2026-274",
        "2026-10-01T10:00.5Z", "2026W401T100000Z", "20261001T100000 Z", "2026100\u0661T100000Z",
        "20261001T100000Z" * 5_000,
    ],
)  # fmt: skip
def test_other_forms_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be an ISO 8601"):
        parse_instant(text)
    assert not re.search(ISO_SCHEMA["pattern"], text)


def test_eight_digits_are_unix_seconds() -> None:
    assert parse_instant("20261001") == 20261001
    assert re.search(UNIX_SCHEMA["pattern"], "20261001")
    with pytest.raises(ValueError, match="must be an ISO 8601"):
        parse_iso("20261001")


def test_every_door_takes_them(client: httpx.Client) -> None:
    event = {"event_name": "purchase", "email": "ada@example.com"}
    for text in ("20261001T100000+0200", "2026-10-01T10:00:00,5Z"):
        body = {**event, "event_time": text, "profile_field_26": text}
        assert client.post("/events/track", json=body).status_code == 202
        touch = {"email": "ada@example.com", "source": "email", "occurred_at": text}
        answer = client.post("/touchpoints/batch", json={"touchpoints": [touch]})
        assert answer.status_code == 202
        contact = {"emails": ["ada@example.com"], "custom_fields": {"profile_field_26": text}}
        assert client.post("/contacts", json=contact).status_code == 201
