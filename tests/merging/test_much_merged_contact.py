"""A contact with many events that many browsers merge into: its events are not recorded for each of them."""

from __future__ import annotations

import psycopg
import pytest

from tests.paths.segments import build_all, changes, check_totals
from tests.support import factories
from tests.support.pipeline import DAY, T0, Stage, event

EVENTS = 300
BROWSERS = 10
EMAIL = "info@example.com"


@pytest.fixture
def stage(connection: psycopg.Connection, space_id: int) -> Stage:
    stage = Stage(connection, space_id)
    stage.run(
        *(event(email=EMAIL, event_time=T0 + number, trk_source="bing_ads") for number in range(EVENTS))
    )
    return stage


def merge_browsers(stage: Stage, visited_at: int) -> int:
    """Let browsers visit at a time, and order with the same address in one batch after everything is in
    segments. Return the number of recorded changes.
    """
    tokens = [f"browser-{visited_at}-{number}" for number in range(BROWSERS)]
    stage.run(*(event(trk_token=token, event_time=visited_at, trk_source="google_ads") for token in tokens))
    built = factories.Stage(stage.connection, stage.space_id, "")
    build_all(built)
    assert changes(built) == 0
    stage.run(*(event(trk_token=token, email=EMAIL, event_time=T0 + 9 * DAY) for token in tokens))

    assert len(stage.values("merges", "id")) == BROWSERS
    count = changes(built)
    assert check_totals(built)[1:] == (0, 0)
    build_all(built)
    assert check_totals(built) == (EVENTS + 2 * BROWSERS, 0, 0)
    return count


def test_it_works(stage: Stage) -> None:
    """Visits after the contact's events change none of their paths."""
    assert merge_browsers(stage, T0 + DAY) == 2 * BROWSERS


def test_visits_before_the_events(stage: Stage) -> None:
    """Visits before the contact's events change all of their paths, once."""
    assert merge_browsers(stage, T0 - DAY) == EVENTS + 2 * BROWSERS
