"""Old page views: a Space with a limited retention deletes them after that time, and keeps the visits and
touchpoints they made.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from headwater.database.jobs.connection import connect
from headwater.events.browsing import old_views
from headwater.events.browsing.old_views import delete_old_views, make_old_views_job
from headwater.privacy.scrub import scrub
from headwater.spaces.locks import try_lock
from tests.support.old_views import NOW, answers, settle, visit
from tests.support.pipeline import DAY, MINUTE, T0, Stage, event, hit, new_stage, touch


@pytest.fixture
def stage(database_url: str) -> Iterator[Stage]:
    with connect(database_url) as connection:
        yield new_stage(connection)


def keep_for(stage: Stage, days: int | None) -> None:
    stage.connection.execute("UPDATE spaces SET page_view_days = %s WHERE id = %s", (days, stage.space_id))


def erase(stage: Stage, contact_id: int) -> None:
    with stage.connection.transaction():
        scrub(stage.connection, stage.space_id, contact_id)


def views(stage: Stage) -> int:
    return len(stage.values("hits", "id"))


def test_it_works(database_url: str, stage: Stage) -> None:
    click = hit(trk_token="t3", occurred_at=T0, url="https://shop.example/?gclid=abc")
    stage.run(*visit("t1"), click, *visit("t2", T0 + 40 * DAY))
    stage.run(event(email="a@acme.com", trk_token="t1", event_time=T0 + DAY))
    touches = stage.rows("touchpoints", "id", "contact_id", "source_id")
    events = stage.rows("events", "id", "contact_id", "source_mask")
    keep_for(stage, 30)
    settle(stage, limit=2)
    assert views(stage) == 4
    assert len(stage.values("visits", "id")) == 1
    assert stage.values("clicks", "click") == []
    assert stage.rows("touchpoints", "id", "contact_id", "source_id") == touches
    assert stage.rows("events", "id", "contact_id", "source_mask") == events
    receipts = answers(database_url, stage)["receipts"]
    assert [receipt and receipt.status for receipt in receipts[:4]] == [None] * 4
    assert receipts[-1].status == "stored"


def test_a_visit_under_way_keeps_its_late_page_views(stage: Stage) -> None:
    end = T0 + 30 * DAY
    stage.run(*visit("t1", end - 2 * MINUTE))
    keep_for(stage, 30)
    settle(stage)
    assert views(stage) == 2
    assert len(stage.values("visits", "id")) == 1
    settle(stage, now=NOW + timedelta(hours=1))
    assert (views(stage), stage.values("visits", "id")) == (0, [])


def test_nothing_goes_that_what_waits_may_be_near(stage: Stage) -> None:
    stage.run(*visit("t1"))
    keep_for(stage, 30)
    stage.put_row("hit", "{}", received_at=str(NOW - timedelta(days=31)))
    settle(stage)
    assert views(stage) == 4


def test_killed_before_it_commits_it_changes_nothing(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.run(*visit("t1"))
    keep_for(stage, 30)

    def die(_: str) -> None:
        raise OSError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(old_views, "failpoint", die)
        with pytest.raises(OSError, match="killed"):
            delete_old_views(stage.connection, stage.space_id, current_time=NOW)
    assert views(stage) == 4
    settle(stage)
    assert views(stage) == 0


def test_two_workers_take_turns(database_url: str, stage: Stage) -> None:
    stage.run(*visit("t1"))
    keep_for(stage, 30)
    with connect(database_url) as other_connection, other_connection.transaction():
        assert try_lock(other_connection, stage.space_id)
        assert not delete_old_views(stage.connection, stage.space_id, current_time=NOW)
    assert views(stage) == 4
    assert delete_old_views(stage.connection, stage.space_id, current_time=NOW)
    assert views(stage) == 0


def test_a_late_touch_near_deleted_page_views_is_stored(stage: Stage) -> None:
    stage.run(hit(trk_token="t1"), event(email="a@acme.com", trk_token="t1"))
    keep_for(stage, 30)
    settle(stage)
    stage.run(touch(email="a@acme.com", source="sms", occurred_at=T0 - MINUTE))
    stage.run(*visit("t1", T0 + MINUTE))
    assert stage.values("rejected", "id") == []


def test_erasing_takes_tag_sets_of_page_views_that_are_gone(stage: Stage) -> None:
    page = "https://shop.example/for/ada@example.com"
    [event_id, _] = stage.run(
        event(email="ada@acme.com", trk_token="t1", event_time=T0 + 90 * MINUTE),
        hit(trk_token="t1", url=page),
    )
    stage.run(touch(email="ada@acme.com", source="sms", occurred_at=T0 - 10 * MINUTE))
    assert stage.values("tag_sets", "landing_page") == [page], "left by a touch that was withdrawn"
    keep_for(stage, 30)
    settle(stage)
    assert stage.values("hits", "id") == []
    erase(stage, stage.find_contact(event_id))
    assert stage.values("tag_sets", "id") == []


def test_a_space_is_due_once_a_day(stage: Stage) -> None:
    duty = make_old_views_job(0)
    assert stage.space_id not in duty.waiting(stage.connection)
    keep_for(stage, 3650)
    assert stage.space_id in duty.waiting(stage.connection)
    assert not duty.attend(stage.connection, stage.space_id)
    assert stage.space_id not in duty.waiting(stage.connection)


def test_a_clock_that_is_set_back_does_not_suspend_it(stage: Stage) -> None:
    keep_for(stage, 3650)
    delete_old_views(stage.connection, stage.space_id, current_time=datetime.now(UTC) + timedelta(days=400))
    assert stage.space_id in make_old_views_job(0).waiting(stage.connection)


def test_what_is_stored_does_not_stop_the_worker(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(old_views, "_find_due_spaces", lambda *_: [stage.space_id])
    stage.run(*visit("t1"))
    keep_for(stage, 30)
    stage.connection.execute(
        "UPDATE hits SET occurred_at = '-infinity' WHERE space_id = %s", (stage.space_id,)
    )
    duty = make_old_views_job()
    assert duty.waiting(stage.connection) == [stage.space_id]
    assert duty.attend(stage.connection, stage.space_id) is False
    assert views(stage) == 4
