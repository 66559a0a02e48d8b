"""Old page views: packed, they are shown as before and follow their contact; a Space that keeps
them for a time only has them deleted after it, and keeps what they have brought.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import msgspec
import pytest

from headwater.browsing import old_views
from headwater.browsing.old_views import make_old_views_duty, see_to
from headwater.jobs.connection import connect
from headwater.privacy.scrub import scrub
from headwater.spaces.locks import try_lock
from tests.support.old_views import (
    NOW,
    PAGES,
    answers,
    counts,
    packed_views,
    settle,
    survivors,
    undo_merge,
    visit,
)
from tests.support.pipeline import DAY, MINUTE, T0, Stage, event, hit, new_stage, touch


@pytest.fixture
def stage(database_url: str) -> Iterator[Stage]:
    with connect(database_url) as connection:
        yield new_stage(connection)


def keep_for(stage: Stage, days: int | None) -> None:
    stage.connection.execute(
        "UPDATE spaces SET page_view_days = %s WHERE id = %s", (days, stage.space_id)
    )


def erase(stage: Stage, contact_id: int) -> None:
    with stage.connection.transaction():
        scrub(stage.connection, stage.space_id, contact_id)


def test_it_works(database_url: str, stage: Stage) -> None:
    stage.run(*visit("t1"), *visit("t2"), event(email="a@acme.com", trk_token="t1"))
    before = answers(database_url, stage)
    assert counts(stage) == (8, 0)
    settle(stage)
    assert counts(stage) == (2, 6), "the first page of a visit may make a touchpoint"
    assert answers(database_url, stage) == before
    shown = msgspec.json.decode(before["contacts"][0])["browsing_session_hits"]
    assert [each["event_url"] for each in reversed(shown)] == [
        f"https://shop.example/{page}" for page in PAGES
    ]
    assert {each["status"] for each in before["receipts"]} == {"stored"}


def test_young_ones_stay_as_they_are(stage: Stage) -> None:
    stage.run(*visit("t1"), *visit("t2", T0 + 40 * DAY))
    settle(stage)
    assert counts(stage) == (5, 3)
    settle(stage, now=NOW + timedelta(days=15))
    assert counts(stage) == (2, 6)


def test_a_visit_is_packed_whole_however_small_the_pieces(stage: Stage) -> None:
    both = zip(visit("t1"), visit("t2"), strict=True)
    stage.run(*[each for pair in both for each in pair])
    settle(stage, most=1)
    assert [size for (size,) in stage.rows("packed_hits", "get_byte(body, 1)")] == [3, 3]


def test_a_single_page_view_is_not_packed(stage: Stage) -> None:
    stage.run(*visit("t1")[:2])
    settle(stage)
    assert counts(stage) == (2, 0)


def test_nothing_is_packed_that_what_waits_may_be_near(stage: Stage) -> None:
    stage.run(*visit("t1"))
    stage.put_row("hit", "{}", received=str(NOW - timedelta(days=31)))
    settle(stage)
    assert counts(stage) == (4, 0)


def test_a_page_view_that_comes_again_is_a_repeat(stage: Stage) -> None:
    views = visit("t1")
    stage.run(*views)
    settle(stage)
    stage.run(*views, *visit("t1", T0 + MINUTE // 2))
    assert [reason for (reason,) in stage.rows("duplicates", "reason")] == ["repeated_hit"] * 4
    assert counts(stage) == (5, 3)


def test_a_late_page_view_joins_visits(stage: Stage) -> None:
    late = hit(trk_token="t1", occurred_at=T0 + 20 * MINUTE, url="https://shop.example/late")
    for pack in (True, False):
        part = new_stage(stage.connection)
        part.run(*visit("t1", T0 + 45 * MINUTE))
        part.run(*visit("t1"))
        if pack:
            settle(part)
        part.run(late)
        assert len(part.values("visits", "id")) == 1
        visits = {view.visit_id for view in packed_views(part)} | {*part.values("hits", "visit_id")}
        assert visits == {*part.values("visits", "id")}
        settle(part)
        assert counts(part) == ((3, 6) if pack else (2, 7))


def test_merges_and_their_undoing(database_url: str, stage: Stage) -> None:
    stage.run(*visit("t1"), *visit("t2", T0 + DAY), event(email="a@acme.com", trk_token="t1"))
    settle(stage)
    [first, second] = survivors(stage)
    stage.run(event(email="a@acme.com", trk_token="t2"))
    assert {view.contact_id for view in packed_views(stage)} == {first}
    assert {view.origin_id for view in packed_views(stage)} == {None, second}
    undone = undo_merge(database_url, stage, second)
    assert undone.hits == 4
    of = [(view.contact_id, view.origin_id) for view in packed_views(stage)]
    assert sorted(of) == [(first, None)] * 3 + [(second, None)] * 3


def test_a_divided_visit_is_unpacked_and_packed_again(database_url: str, stage: Stage) -> None:
    """Its page views of after the merge are the survivor's."""
    both = event(email="a@acme.com", trk_token="t2", event_time=T0 - DAY)
    stage.run(event(email="a@acme.com", event_time=T0 - DAY))
    stage.run(*visit("t2"))
    [_, second] = survivors(stage)
    stage.run(both)
    stage.run(*visit("t2", T0 + 10 * MINUTE))
    settle(stage)
    assert counts(stage) == (1, 7)
    before = answers(database_url, stage)
    undo_merge(database_url, stage, second)
    assert len(stage.values("visits", "id")) == 2
    assert counts(stage) == (5, 3)
    divided = answers(database_url, stage)
    assert len(divided["contacts"]) == len(before["contacts"]) + 1
    settle(stage)
    assert counts(stage) == (1, 7)
    assert answers(database_url, stage) == divided


def test_erasing_a_person_takes_them(stage: Stage) -> None:
    stage.run(*visit("t1"), *visit("t2"))
    settle(stage)
    [first, second] = survivors(stage)
    erase(stage, first)
    assert {view.contact_id for view in packed_views(stage)} == {second}
    assert stage.values("hits", "contact_id") == [second]


def test_killed_before_it_commits_it_changes_nothing(
    database_url: str, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.run(*visit("t1"))
    before = answers(database_url, stage)

    def die(_: str) -> None:
        raise OSError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(old_views, "failpoint", die)
        with pytest.raises(OSError, match="killed"):
            see_to(stage.connection, stage.space_id, 30, now=NOW)
    assert counts(stage) == (4, 0)
    settle(stage)
    assert counts(stage) == (1, 3)
    assert answers(database_url, stage) == before


def test_two_workers_take_turns(database_url: str, stage: Stage) -> None:
    stage.run(*visit("t1"))
    with connect(database_url) as other, other.transaction():
        assert try_lock(other, stage.space_id)
        assert not see_to(stage.connection, stage.space_id, 30, now=NOW)
    assert see_to(stage.connection, stage.space_id, 30, now=NOW) is False
    assert counts(stage) == (1, 3)


def test_page_views_are_deleted_after_the_days_that_a_space_keeps_them(
    database_url: str, stage: Stage
) -> None:
    click = hit(trk_token="t3", occurred_at=T0, url="https://shop.example/?gclid=abc")
    stage.run(*visit("t1"), click, *visit("t2", T0 + 40 * DAY))
    stage.run(event(email="a@acme.com", trk_token="t1", event_time=T0 + DAY))
    settle(stage)
    touches = stage.rows("touchpoints", "id", "contact_id", "source_id")
    events = stage.rows("events", "id", "contact_id", "source_mask")
    keep_for(stage, 30)
    settle(stage, days=0, most=2)
    assert counts(stage) == (4, 0)
    assert len(stage.values("visits", "id")) == 1
    assert stage.values("clicks", "click") == []
    assert stage.rows("touchpoints", "id", "contact_id", "source_id") == touches
    assert stage.rows("events", "id", "contact_id", "source_mask") == events
    receipts = answers(database_url, stage)["receipts"]
    assert [each and each["status"] for each in receipts[:4]] == [None] * 4
    assert receipts[-1]["status"] == "stored"


def test_a_visit_under_way_keeps_its_late_page_views(stage: Stage) -> None:
    end = T0 + 30 * DAY
    stage.run(*visit("t1", end - 2 * MINUTE))
    keep_for(stage, 30)
    settle(stage, days=0)
    assert counts(stage) == (2, 0)
    assert len(stage.values("visits", "id")) == 1
    settle(stage, days=0, now=NOW + timedelta(hours=1))
    assert (counts(stage), stage.values("visits", "id")) == ((0, 0), [])


def test_a_late_touch_near_deleted_page_views_is_stored(stage: Stage) -> None:
    stage.run(hit(trk_token="t1"), event(email="a@acme.com", trk_token="t1"))
    keep_for(stage, 30)
    settle(stage)
    stage.run(touch(email="a@acme.com", source="sms", occurred_at=T0 - MINUTE))
    stage.run(*visit("t1", T0 + MINUTE))
    assert stage.values("rejected", "id") == []


def test_erasing_takes_tag_sets_of_page_views_that_are_gone(stage: Stage) -> None:
    page = "https://shop.example/for/ada@example.com"
    [said, _] = stage.run(
        event(email="ada@acme.com", trk_token="t1", event_time=T0 + 90 * MINUTE),
        hit(trk_token="t1", url=page),
    )
    stage.run(touch(email="ada@acme.com", source="sms", occurred_at=T0 - 10 * MINUTE))
    assert stage.values("tag_sets", "landing_page") == [page], "left by a touch that was withdrawn"
    keep_for(stage, 30)
    settle(stage)
    assert stage.values("hits", "id") == []
    erase(stage, stage.contact_of(said))
    assert stage.values("tag_sets", "id") == []


def test_a_space_is_due_once_a_day(stage: Stage) -> None:
    stage.connection.execute(
        "INSERT INTO sites (space_id, name, site_key, origins) VALUES (%s, 'a', %s, '{}')",
        (stage.space_id, f"key{stage.space_id}"),
    )
    stage.run(*visit("t1"))

    def waits(pack_days: int) -> bool:
        duty = make_old_views_duty(pack_days, 0)
        return stage.space_id in duty.waiting(stage.connection)

    assert waits(30)
    assert not waits(0)
    keep_for(stage, 3650)
    assert waits(0)
    duty = make_old_views_duty(30, 0)
    assert stage.space_id in duty.waiting(stage.connection)
    assert not duty.attend(stage.connection, stage.space_id)
    assert stage.space_id not in duty.waiting(stage.connection)
    assert not waits(30)
    assert counts(stage) == (1, 3)


def test_what_is_stored_does_not_stop_the_worker(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(old_views, "_due", lambda *_: [stage.space_id])
    stage.run(*visit("t1"))
    stage.connection.execute(
        "UPDATE hits SET occurred_at = '-infinity' WHERE space_id = %s", (stage.space_id,)
    )
    duty = make_old_views_duty(30)
    assert duty.waiting(stage.connection) == [stage.space_id]
    assert duty.attend(stage.connection, stage.space_id) is False
    assert counts(stage) == (4, 0)
