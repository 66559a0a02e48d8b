"""A process's cache of credit, by segment and by change: it is never stale."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from headwater.attribution.paths import cached_credit
from headwater.attribution.paths.builder import build_next
from headwater.attribution.paths.cached_credit import NO_CREDIT, CachedCredit, CreditedEvents, EventChanges
from headwater.attribution.paths.changes import note_events
from headwater.database.queries import Statement
from tests.support.factories import NOON, Stage
from tests.support.reading_fixtures import Api

OF_EMAIL = {"sources[]": "email", "attribution_model": "last_touch", "attribution_window": 7}


def changes(*pairs: tuple[int, int]) -> EventChanges:
    events, numbers = zip(*pairs, strict=True)
    return EventChanges(np.array(events), np.array(numbers))


def find_seconds(cached_credit: CachedCredit, changes: EventChanges) -> dict[int, int]:
    events, seconds, are_known = cached_credit.find_seconds(changes)
    return dict(zip(events[are_known].tolist(), seconds[are_known].tolist(), strict=True))


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The reads of the application, which runs in this process: postings and changes."""
    reads: list[str] = []
    execute = Statement.execute

    async def note_read(self: Statement, connection: Any, values: Any) -> Any:
        if b"AS changed (id)" in self.text:
            reads.append("changed")
        return await execute(self, connection, values)

    unpacked = cached_credit.read_all_postings

    def reading(postings: Any, *rule: Any) -> Any:
        reads.extend("postings" for _ in postings)
        return unpacked(postings, *rule)

    monkeypatch.setattr(Statement, "execute", note_read)
    monkeypatch.setattr("headwater.attribution.paths.credit_scan.read_all_postings", reading)
    return reads


def test_it_works(stage: Stage, api: Api, reads: list[str]) -> None:
    """A list is read once, and after that only its changes."""
    events: list[int] = []
    for day in range(3):
        contact_id, event_time = stage.contact(), NOON - timedelta(days=day)
        stage.touchpoint(contact_id, "email", occurred_at=event_time - timedelta(hours=2))
        events.append(stage.event(contact_id, event_time=event_time))
    note_events(stage.connection, stage.space_id, events)
    while build_next(stage.connection, stage.space_id):
        pass
    note_events(stage.connection, stage.space_id, events[1:2])

    def list_events() -> tuple[list[int], list[str]]:
        reads.clear()
        return [row["id"] for row in api.rows(**OF_EMAIL)], list(reads)

    assert list_events() == (events, [*3 * ["postings"], "changed"])
    assert list_events() == (events, [])
    stage.touchpoint(contact_id, "direct", occurred_at=event_time - timedelta(hours=1))
    note_events(stage.connection, stage.space_id, events[2:])
    assert list_events() == (events[:2], ["changed"])
    assert list_events() == (events[:2], [])
    note_events(stage.connection, stage.space_id, events[2:])
    assert list_events() == (events[:2], ["changed"])  # the order of two changes is unknown
    assert list_events() == (events[:2], ["changed"])
    while build_next(stage.connection, stage.space_id):
        pass
    assert list_events() == (events[:2], 2 * ["postings"])  # two days are rewritten
    assert list_events() == (events[:2], [])


def test_only_events_with_one_change_are_remembered() -> None:
    change_list = changes((10, 7), (11, 8), (11, 9))
    cache = CachedCredit().with_changes(change_list, np.array([500, NO_CREDIT]))
    assert find_seconds(cache, change_list) == {10: 500}
    assert find_seconds(cache, changes((11, 9))) == {}
    assert find_seconds(cache, changes((10, 7), (10, 6))) == {}


def test_what_is_remembered_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cached_credit, "MOST_CHANGES", 2)
    monkeypatch.setattr(cached_credit, "MOST_SEGMENTS", 2)
    change_list = changes((10, 7), (11, 9), (12, 8))
    cache = CachedCredit().with_changes(change_list, np.array([500, 501, NO_CREDIT]))
    assert find_seconds(cache, change_list) == {11: 501, 12: NO_CREDIT}
    nothing = CreditedEvents.join([])
    cache = cache.with_segments({1: nothing, 2: nothing}, [1, 2])
    assert set(cache.segments) == {1, 2}
    assert set(cache.with_segments({3: nothing}, [2, 3]).segments) == {2, 3}
