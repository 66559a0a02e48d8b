"""A page view whose touchpoint is withdrawn may leave its tag set behind. Erasing the person deletes it,
unless another person has it too.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headwater.database.jobs.connection import connect
from headwater.privacy.scrub import scrub
from tests.support.pipeline import MINUTE, T0, Stage, event, hit, new_stage, touch

PAGE = "https://shop.example/for/ada@example.com"


@pytest.fixture
def stage(database_url: str) -> Iterator[Stage]:
    with connect(database_url) as connection:
        yield new_stage(connection)


def withdraw(stage: Stage, token: str = "t1") -> int:
    """Make a contact whose page view was a direct visit until an earlier click was received."""
    [receipt, _] = stage.run(
        event(email=f"{token}@example.com", trk_token=token, event_time=T0 + 90 * MINUTE),
        hit(trk_token=token, url=PAGE + "?from=mail", occurred_at=T0),
    )
    assert stage.values("tag_sets", "landing_page") == [PAGE]
    stage.run(touch(email=f"{token}@example.com", source="sms", occurred_at=T0 - 10 * MINUTE))
    return stage.find_contact(receipt)


def erase(stage: Stage, contact_id: int) -> None:
    with stage.connection.transaction():
        scrub(stage.connection, stage.space_id, contact_id)


def test_it_works(stage: Stage) -> None:
    contact_id = withdraw(stage)
    assert [number for (number,) in stage.rows("touchpoints", "tag_set_id")] == [0]
    assert stage.values("tag_sets", "landing_page") == [PAGE], "the page view has the same"
    assert stage.values("former_touchpoints", "tag_set_id") == [1], "as it was before"
    erase(stage, contact_id)
    assert stage.values("tag_sets", "id") == []
    assert stage.values("former_touchpoints", "tag_set_id") == [0], "numbers are given out again"


def test_a_set_that_somebody_else_has_stays(stage: Stage) -> None:
    contact_id = withdraw(stage)
    stage.run(hit(trk_token="t2", url=PAGE, occurred_at=T0))
    erase(stage, contact_id)
    assert stage.rows("tag_sets", "id", "landing_page") == [(1, PAGE)]


def test_a_set_of_a_touchpoint_that_stays_stays(stage: Stage) -> None:
    [receipt, _] = stage.run(
        event(email="ada@example.com", trk_token="t1", event_time=T0 + 90 * MINUTE),
        hit(trk_token="t1", url=PAGE, occurred_at=T0),
    )
    erase(stage, stage.find_contact(receipt))
    assert stage.values("tag_sets", "landing_page") == [PAGE]
    assert stage.values("touchpoints", "tag_set_id") == [1]


def test_another_space_s_set_stays(stage: Stage) -> None:
    other_stage = new_stage(stage.connection)
    contact_id = withdraw(stage)
    withdraw(other_stage)
    erase(stage, contact_id)
    assert other_stage.values("tag_sets", "landing_page") == [PAGE]
    withdraw(stage, "t2")
    assert stage.values("tag_sets", "landing_page") == [PAGE]
