"""What events contribute to a contact: primary values, profile fields and its creation time."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import msgspec
import psycopg
import pytest

from headwater.people.contacts.names import combine_names
from headwater.people.contacts.profiles import to_instant
from tests.support import factories
from tests.support.pipeline import Stage, event, new_stage


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id)


def test_the_first_value_stays_primary_and_all_are_kept(stage: Stage) -> None:
    stage.run(event(tracking_id="u1", email="a@b.org", phone="1", full_name="Ann"))
    stage.run(event(tracking_id="u1", email="b@b.org", phone="2", first_name="Bo", last_name="Li"))
    assert stage.rows("contacts", "email", "phone", "name") == [("a@b.org", "1", "Ann")]
    values = stage.rows("contact_identifiers", "kind", "value")
    assert set(values) == {
        ("tracking_id", "u1"), ("email", "a@b.org"), ("email", "b@b.org"), ("phone", "1"),
        ("phone", "2"), ("name", "Ann"), ("name", "Bo Li"),
    }  # fmt: skip


def test_the_last_write_of_a_field_wins(stage: Stage) -> None:
    stage.run(
        event(tracking_id="u1", profile_fields={1: "x", 16: "1.50", 26: "2020-01-01"}),
        event(tracking_id="u1", profile_fields={1: "y"}),
    )
    stage.run(event(tracking_id="u1", profile_fields={26: "2020-01-02T03:04:05.600Z"}))
    columns = ("profile_field_1", "profile_field_16", "profile_field_26")
    moment = datetime(2020, 1, 2, 3, 4, 5, 600_000, UTC)
    assert stage.rows("contacts", *columns) == [("y", Decimal("1.50"), moment)]


@pytest.mark.parametrize(
    ("zone", "day", "expected"),
    [
        ("UTC", "2020-01-02", "2020-01-02T00:00:00Z"),
        ("Asia/Kolkata", "2020-01-02", "2020-01-01T18:30:00Z"),
        ("America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z"),  # midnight was skipped
        ("America/Sao_Paulo", "1880-11-04", "1880-11-04T03:06:28Z"),
        ("Asia/Kolkata", "0001-01-01", None),
    ],
)
def test_a_day_is_its_midnight_in_the_zone(
    connection: psycopg.Connection, zone: str, day: str, expected: str | None
) -> None:
    text = to_instant(day, ZoneInfo(zone))
    if expected is None:
        assert text == "0001-01-01T00:00:00+05:53:28"
    else:
        assert datetime.fromisoformat(text) == datetime.fromisoformat(expected)
        stage = new_stage(connection, timezone=zone)
        stage.run(event(trk_token="t", profile_fields={26: day}))
        values = stage.values("contacts", "profile_field_26")
        assert values == [datetime.fromisoformat(expected)]


def test_a_contact_begins_when_its_first_event_was_received(stage: Stage) -> None:
    stage.run(event(trk_token="t1"))
    assert stage.values("contacts", "created_at") == [datetime(2026, 1, 1, tzinfo=UTC)]


def test_creation_times_never_decrease_with_ids(connection: psycopg.Connection) -> None:
    """They don't decrease in any order of receipt and with any batch sizes."""
    expected = [datetime(2026, 1, day, tzinfo=UTC) for day in (3, 3, 5, 5, 5, 6)]
    for size in (6, 2, 1):
        stage = new_stage(connection)
        for number, day in enumerate((3, 1, 5, 2, 4, 6)):
            payload = msgspec.json.encode(event(trk_token=f"t{number}")).decode()
            stage.put_row("event", payload, f"2026-01-0{day} 00:00:00+00")
        stage.process(size)
        assert [row[1] for row in stage.rows("contacts", "id", "created_at")] == expected


def test_a_contact_is_not_older_than_one_made_meanwhile(stage: Stage) -> None:
    stage.put(event(trk_token="t1"))
    later = datetime(2026, 2, 1, tzinfo=UTC)
    later_contact = factories.Stage(stage.connection, stage.space_id, "").contact(created_at=later)
    stage.process()
    [(_, other_created_at), (contact, created_at)] = stage.rows("contacts", "id", "created_at")
    assert contact > later_contact
    assert created_at == other_created_at == later


def test_event_details_are_stored_as_accepted(stage: Stage) -> None:
    stage.run(
        event(trk_token="t", amount="-12.3456", order_name="#1", checkout_token="c", ip="::1",
              upsell_common_id="o", user_agent="UA", url="https://x.example/", do_not_capi=True)
    )  # fmt: skip
    columns = ("amount", "order_name", "checkout_token", "upsell_common_id", "user_agent",
               "event_url", "ip", "do_not_capi", "is_upsell", "warnings")  # fmt: skip
    assert stage.rows("events", *columns) == [
        (Decimal("-12.3456"), "#1", "c", "o", "UA", "https://x.example/", "::1", True, False, None)
    ]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("Ann Lee", "X", "Y"), "Ann Lee"),
        ((None, "Ann", "Lee"), "Ann Lee"),
        ((None, None, "Lee"), "Lee"),
        ((None, None, None), None),
    ],
)
def test_full_name(names: tuple[str | None, str | None, str | None], expected: str | None) -> None:
    assert combine_names(*names) == expected


def parts(stage: Stage) -> list[tuple[str | None, ...]]:
    rows = stage.rows("contact_identifiers", "kind", "value", "first_name", "last_name")
    return [row[1:] for row in rows if row[0] == "name"]


def test_the_last_parts_of_a_name_count(stage: Stage) -> None:
    """Parts that match the usual split are stored as NULL, but they still replace other parts."""
    usual = event(tracking_id="u1", first_name="Mary", last_name="Ann Smith")
    other_event = event(tracking_id="u1", first_name="Mary Ann", last_name="Smith")
    for events, stored_parts in (
        ([usual], (None, None)), ([other_event], ("Mary Ann", "Smith")), ([usual], (None, None)),
        ([usual, other_event], ("Mary Ann", "Smith")), ([other_event, usual], (None, None)),
    ):  # fmt: skip
        stage.run(*events)
        assert parts(stage) == [("Mary Ann Smith", *stored_parts)]


def test_the_last_parts_count_for_what_was_merged_too(stage: Stage) -> None:
    stage.run(event(tracking_id="u1"))
    stage.run(event(trk_token="t1", first_name="Mary Ann", last_name="Smith"))
    stage.run(
        event(tracking_id="u1", trk_token="t1"),
        event(tracking_id="u1", first_name="Mary", last_name="Ann Smith"),
    )
    assert parts(stage) == [("Mary Ann Smith", None, None)] * 2
