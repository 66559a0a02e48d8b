"""A contact with many events and many touches of a source before them: the events are read once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from headwater.events.batch_store import SourceSeen, add_seen_sources, request_missing_sources
from tests.support.factories import Stage

EVENTS = 1_000
BITS = (1, 2, 4)
EARLY = 1_000_000
"""An instant before every event, in Unix microseconds."""


def see(connection: psycopg.Connection[Any], space_id: int, touches: list[SourceSeen]) -> dict[int, int]:
    """Look up the missing sources, and store them in another way."""
    missing = request_missing_sources(connection, space_id, touches)()
    add_seen_sources(connection, space_id, touches)
    return missing


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    return Stage(connection, space_id, "")


@pytest.fixture
def contact_id(stage: Stage) -> int:
    contact_id = stage.contact()
    stage.connection.execute(
        "INSERT INTO events (space_id, id, contact_id, event_name, event_time, received_at, source_mask)"
        " SELECT %s, nextval('receipt_ids'), %s, 'purchase', now() - number * interval '1 minute', now(), 0"
        " FROM generate_series(1, %s) number",
        (stage.space_id, contact_id, EVENTS),
    )
    return contact_id


def count_reads(stage: Stage, read: Callable[[], object]) -> int:
    """Return how many rows of events are fetched."""
    fetched = "SELECT idx_tup_fetch + seq_tup_read FROM pg_stat_xact_user_tables WHERE relname = 'events'"
    with stage.connection.transaction(force_rollback=True):
        before = stage.connection.execute(fetched).fetchone()
        read()
        after = stage.connection.execute(fetched).fetchone()
    assert before is not None
    assert after is not None
    return after[0] - before[0]


def test_it_works(stage: Stage, contact_id: int) -> None:
    touches = [SourceSeen(contact_id, EARLY + number, BITS[number % 3]) for number in range(9)]
    missing = see(stage.connection, stage.space_id, touches)
    assert len(missing) == EVENTS
    assert set(missing.values()) == {7}
    masks = stage.connection.execute(
        "SELECT DISTINCT source_mask FROM events WHERE space_id = %s", (stage.space_id,)
    ).fetchall()
    assert masks == [(7,)]


def test_more_touches_of_a_source_read_no_more(stage: Stage, contact_id: int) -> None:
    def read(count: int) -> None:
        touches = [SourceSeen(contact_id, EARLY + number, BITS[number % 3]) for number in range(count)]
        see(stage.connection, stage.space_id, touches)

    few, many = (count_reads(stage, lambda count=count: read(count)) for count in (3, 90))
    assert many <= 2 * few


def test_more_sources_read_no_more(stage: Stage, contact_id: int) -> None:
    def read(count: int) -> None:
        see(
            stage.connection,
            stage.space_id,
            [SourceSeen(contact_id, EARLY, 1 << bit) for bit in range(count)],
        )

    few, many = (count_reads(stage, lambda count=count: read(count)) for count in (1, 20))
    assert many <= 2 * few


def test_each_touch_counts_from_its_time(stage: Stage, contact_id: int) -> None:
    times = [
        moment
        for (moment,) in stage.connection.execute(
            "SELECT (extract(epoch FROM event_time) * 1000000)::bigint FROM events"
            " WHERE space_id = %s ORDER BY event_time",
            (stage.space_id,),
        )
    ]
    see(
        stage.connection,
        stage.space_id,
        [SourceSeen(contact_id, times[10], 1), SourceSeen(contact_id, times[20], 2)],
    )
    masks = stage.connection.execute(
        "SELECT source_mask FROM events WHERE space_id = %s ORDER BY event_time", (stage.space_id,)
    ).fetchall()
    assert masks == [(0,)] * 10 + [(1,)] * 10 + [(3,)] * (EVENTS - 20)


def test_only_later_events(stage: Stage, contact_id: int) -> None:
    rows = stage.connection.execute(
        "SELECT id, (extract(epoch FROM event_time) * 1000000)::bigint FROM events"
        " WHERE space_id = %s ORDER BY event_time",
        (stage.space_id,),
    ).fetchall()
    middle = rows[EVENTS // 2]
    touches = [SourceSeen(contact_id, rows[-1][1] + 1, 1), SourceSeen(contact_id, middle[1], 1)]
    missing = see(stage.connection, stage.space_id, touches)
    assert missing == {event_id: 1 for event_id, _ in rows[EVENTS // 2 :]}
