"""Times in tools' answers: in UTC as in the API, and in the Space's zone with the offset."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.assistants.mcp.local_times import add_local_times, has_utc_times
from tests.mcp.assistants import Assistant
from tests.support.factories import NOON, Stage

ZONES = ("Europe/Berlin", "America/Los_Angeles", "Asia/Kathmandu", "Pacific/Kiritimati")


def utc_times(answer: Any) -> list[tuple[str, dict[str, Any]]]:
    """Return each UTC member with the object that holds it."""
    if isinstance(answer, list):
        return [pair for item in answer for pair in utc_times(item)]
    if not isinstance(answer, dict):
        return []
    own_times = [(name, answer) for name in answer if name.endswith("_utc")]
    return own_times + [pair for value in answer.values() for pair in utc_times(value)]


@pytest.mark.parametrize("zone", ZONES)
def test_it_works(assistant: Assistant, stage: Stage, zone: str) -> None:
    stage.connection.execute("UPDATE spaces SET timezone = %s WHERE id = %s", (zone, stage.space_id))
    contact_id = stage.contact(email="ada@example.com")
    stage.identifier(contact_id, "email", "ada@example.com")
    stage.touchpoint(contact_id, "google_ads", occurred_at=NOON - timedelta(days=1))
    event_id = stage.event(contact_id, order_id="1001", amount=10)
    dates = {"start_date": "2026-01-01 00:00:00", "end_date": "2026-12-31 00:00:00"}
    for name, arguments in (
        ("list_events", dates),
        ("get_event", {"event_id": event_id}),
        ("explain_attribution", {"event_id": event_id}),
        ("get_contact_journey", {"contact_id": contact_id}),
    ):
        times = utc_times(assistant.call(name, **arguments))
        assert times, name
        for member, holder in times:
            local = datetime.fromisoformat(holder[member.removesuffix("_utc")])
            assert local == datetime.fromisoformat(holder[member])
            assert local.utcoffset() == local.astimezone(ZoneInfo(zone)).utcoffset()


def test_times_of_contacts_are_local(assistant: Assistant, stage: Stage) -> None:
    """A time next to others with the Space's offset would be read as local."""
    stage.connection.execute("UPDATE spaces SET timezone = 'Asia/Kathmandu' WHERE id = %s", (stage.space_id,))
    stage.event(stage.contact(), event_time=NOON)
    (contact,) = assistant.call("list_contacts")["rows"]
    times = (contact["created_at"], contact["first_event"], contact["last_event"])
    assert times == ("2026-05-13T17:45:00+05:45",) * 3


@pytest.mark.parametrize("text", ["next spring", "2026-02-30T12:00:00Z", "0001-01-01T00:00:00Z"])
@pytest.mark.parametrize("label", ["renewed_at", "renewed_utc"])
def test_a_field_with_the_name_of_a_time_can_hold_any_text(
    assistant: Assistant, stage: Stage, label: str, text: str
) -> None:
    """Also one like a time that is none, or that is before the calendar in the Space's zone."""
    zone = "America/Los_Angeles"
    stage.connection.execute("UPDATE spaces SET timezone = %s WHERE id = %s", (zone, stage.space_id))
    stage.label_field("profile_field_1", label)
    contact_id = stage.contact(profile_field_1=text)
    contact = assistant.call("get_contact", contact_id=contact_id, use_custom_field_labels=1)
    assert contact["custom_fields"] == {label: text}


@given(
    moment=st.datetimes(timezones=st.just(UTC)).filter(lambda moment: 1 < moment.year < 9999),
    zone=st.sampled_from(ZONES),
    depth=st.integers(0, 3),
)
def test_the_moment_stays_the_same(moment: datetime, zone: str, depth: int) -> None:
    text = moment.isoformat().replace("+00:00", "Z")
    answer: Any = {"event_time_utc": text, "name": "x_utc", "rows": []}
    for _ in range(depth):
        answer = {"rows": [answer]}
    assert has_utc_times(answer)
    ((_, holder),) = utc_times(add_local_times(answer, ZoneInfo(zone)))
    assert datetime.fromisoformat(holder["event_time"]) == moment


def test_answers_without_times_stay_as_they_are() -> None:
    for answer in ({}, [], "x_utc", {"event_time_utc": None}, {"rows": [{"day": "2026-05-01"}]}):
        assert not has_utc_times(answer)
        assert add_local_times(answer, ZoneInfo("Europe/Berlin")) == answer
