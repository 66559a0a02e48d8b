"""The reads for a page of sources' credit: many days at a time, and the index only if necessary."""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from typing import Any

import pytest

from headwater.attribution.paths import credit_scan, postings
from headwater.attribution.paths.builder import build_next
from headwater.attribution.paths.changes import note_events
from headwater.events import page_walk
from tests.support.factories import NOON, Stage
from tests.support.reading_fixtures import Api

DAYS = 12
OF_EMAIL = {"sources[]": "email", "attribution_model": "last_touch", "attribution_window": 7}


@pytest.fixture
def purchases(stage: Stage) -> list[int]:
    """A purchase a day, newest first; every third is credited to e-mail."""
    events: list[int] = []
    for day in range(DAYS):
        contact_id, event_time = stage.contact(), NOON - timedelta(days=day)
        stage.touchpoint(contact_id, "email", occurred_at=event_time - timedelta(hours=2))
        if day % 3:
            stage.touchpoint(contact_id, "direct", occurred_at=event_time - timedelta(hours=1))
        events.append(stage.event(contact_id, event_time=event_time))
    note_events(stage.connection, stage.space_id, events)
    return events


def build_all(stage: Stage, rare_limit: int = postings.MAX_RARE_TOUCHES) -> None:
    """Build segments; sources with more than `rare_limit` events have no postings."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings, "MAX_RARE_TOUCHES", rare_limit)
        while build_next(stage.connection, stage.space_id):
            pass


def ids(api: Api, **params: Any) -> list[int]:
    return [row["id"] for row in api.rows(**OF_EMAIL | params)]


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[credit_scan.CreditScan]:
    """The scans of the application, which runs in this process."""
    scans: list[credit_scan.CreditScan] = []
    right = credit_scan.CreditScan.__init__

    def note_scan(self: credit_scan.CreditScan, *arguments: Any, **options: Any) -> None:
        scans.append(self)
        right(self, *arguments, **options)

    monkeypatch.setattr(credit_scan.CreditScan, "__init__", note_scan)
    return scans


Walks = list[credit_scan.CreditScan]


def test_it_works(stage: Stage, api: Api, purchases: list[int], scans: Walks) -> None:
    build_all(stage)
    assert ids(api) == purchases[::3]
    assert ids(api, per_page=2) == purchases[::3][:2]
    assert [walk.stopped_at for walk in scans] == [None, None]


@pytest.mark.parametrize("rare_limit", [0, postings.MAX_RARE_TOUCHES])
def test_sources_that_are_common_or_rare(
    stage: Stage, api: Api, purchases: list[int], scans: Walks, rare_limit: int
) -> None:
    build_all(stage, rare_limit)
    for model, window in product(("last_touch", "linear"), (0, 7)):
        expected = purchases if model == "linear" else purchases[::3]
        assert ids(api, attribution_model=model, attribution_window=window) == expected
        by_mask = (model, window, rare_limit) == ("linear", 0, 0)
        assert (scans[-1].stopped_at is not None) == by_mask


def test_a_source_that_is_common_on_some_days(
    stage: Stage, api: Api, purchases: list[int], scans: Walks
) -> None:
    build_all(stage, 0)
    note_events(stage.connection, stage.space_id, purchases[::2])
    build_all(stage)
    assert ids(api) == purchases[::3]
    assert scans[0].stopped_at is None


def test_nothing_is_built_yet(api: Api, purchases: list[int], scans: Walks) -> None:
    assert ids(api) == purchases[::3]
    assert scans[0].stopped_at is None


@pytest.mark.parametrize("bound", ["MOST_LIVE_EVENTS", "MOST_READ_FOR_PICKS"])
def test_too_much_that_is_not_in_postings(
    stage: Stage, api: Api, purchases: list[int], scans: Walks, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    monkeypatch.setattr(credit_scan, bound, 0)
    if bound == "MOST_READ_FOR_PICKS":
        build_all(stage, rare_limit=0)
    assert ids(api) == purchases[::3]
    assert scans[0].stopped_at is not None


def test_damaged_postings_are_not_believed(
    stage: Stage, api: Api, purchases: list[int], scans: Walks
) -> None:
    build_all(stage)
    stage.connection.execute(
        "UPDATE path_segments SET postings = set_byte(postings, 9, 255 - get_byte(postings, 9))"
        " WHERE space_id = %s"
        " AND octet_length(postings) > 0",
        (stage.space_id,),
    )
    assert ids(api) == purchases[::3]
    assert scans[0].stopped_at is not None


def test_events_that_do_not_meet_other_conditions(
    stage: Stage, api: Api, purchases: list[int], scans: Walks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_walk, "MAX_CANDIDATES", 2)
    query = "UPDATE events SET amount = 7 WHERE space_id = %s AND id = ANY(%s)"
    stage.connection.execute(query, (stage.space_id, purchases[6:]))
    build_all(stage)
    assert ids(api, amount_min=7, amount_max=7, per_page=1) == [purchases[6]]
    assert scans[0].stopped_at is not None


def test_more_events_in_one_second_than_are_worth_it(
    stage: Stage, api: Api, scans: Walks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credit_scan, "MOST_LIVE_EVENTS", 5)
    contact_id = stage.contact()
    stage.touchpoint(contact_id, "email", occurred_at=NOON)
    events = [stage.event(contact_id) for _ in range(8)]
    later = stage.event(contact_id, event_time=NOON + timedelta(days=1))
    note_events(stage.connection, stage.space_id, [*events, later])
    build_all(stage)
    assert ids(api, per_page=4) == [later, *events[:4:-1]]
    assert scans[0].stopped_at is not None


def test_a_page_in_the_middle_reads_no_further_than_it_has_to(
    stage: Stage, api: Api, purchases: list[int]
) -> None:
    build_all(stage)
    first = api.list(**OF_EMAIL, per_page=1).json()
    second = api.get(first["next_page_url"].partition("/public-api/v1")[2]).json()
    back = api.get(second["prev_page_url"].partition("/public-api/v1")[2]).json()
    pages = [[row["id"] for row in page["data"]] for page in (first, second, back)]
    assert pages == [[purchases[0]], [purchases[3]], [purchases[0]]]
