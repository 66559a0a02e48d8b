"""A worker's rounds through the Spaces with waiting rows."""

from __future__ import annotations

from types import SimpleNamespace

import psycopg
import pytest

from headwater.intake.inbox.queue import spaces_with_rows
from headwater.intake.pipeline import rounds
from headwater.intake.pipeline.duty import make_pipeline_duty
from headwater.intake.pipeline.rounds import Rounds
from tests.support.pipeline import Stage, event, new_stage


@pytest.fixture(autouse=True)
def _few_spaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "MAX_SPACES", 3)


@pytest.fixture
def stages(connection: psycopg.Connection) -> list[Stage]:
    """Seven Spaces with a waiting row. No other Space has one."""
    connection.execute("DELETE FROM inbox")
    stages = [new_stage(connection) for _ in range(7)]
    for stage in stages:
        stage.put(event())
    assert spaces_with_rows(connection, "inbox") == [stage.space_id for stage in stages]
    return stages


class FinishedRounds(list[set[int]]):
    """The Spaces of each finished round."""


def places(stages: list[Stage], spaces: list[int]) -> list[int]:
    order = [stage.space_id for stage in stages]
    return [order.index(space_id) for space_id in spaces]


def test_it_works(connection: psycopg.Connection, stages: list[Stage]) -> None:
    rounds = FinishedRounds()
    way = Rounds(rounds.append)
    polls = [places(stages, way.poll(connection)) for _ in range(4)]
    assert polls == [[0, 1, 2], [3, 4, 5], [6, 0, 1], [2, 3, 4]]
    assert rounds == [{stage.space_id for stage in stages}]


def test_what_others_have_emptied_is_passed_over(connection: psycopg.Connection, stages: list[Stage]) -> None:
    way = Rounds(FinishedRounds().append)
    assert places(stages, way.poll(connection)) == [0, 1, 2]
    for index in (0, 3, 4):
        stages[index].process()
    assert places(stages, way.poll(connection)) == [5, 6, 1]


def test_few_spaces_are_all_seen_once(connection: psycopg.Connection, stages: list[Stage]) -> None:
    rounds = FinishedRounds()
    way = Rounds(rounds.append)
    way.poll(connection)
    for stage in stages[2:]:
        stage.process()
    assert places(stages, way.poll(connection)) == [0, 1]
    assert places(stages, way.poll(connection)) == [0, 1]
    for stage in stages:
        stage.process()
    assert [way.poll(connection) for _ in range(2)] == [[], []]
    assert rounds[-1] == set()


@pytest.mark.parametrize(("space_count", "expected"), [(4, [4, 5, 6]), (6, [6, 0, 1]), (0, [0, 1, 2])])
def test_a_worker_that_leaves_goes_on_elsewhere(
    connection: psycopg.Connection,
    stages: list[Stage],
    monkeypatch: pytest.MonkeyPatch,
    space_count: int,
    expected: list[int],
) -> None:
    """It draws from all Spaces, including those not yet visited in this round."""
    ends: list[int] = []

    def draw(end: int) -> int:
        ends.append(end)
        return stages[space_count].space_id - 1

    way = Rounds(FinishedRounds().append)
    way.poll(connection)
    monkeypatch.setattr(rounds, "random", SimpleNamespace(randrange=draw))
    way.jump()
    assert places(stages, way.poll(connection)) == expected
    assert ends == [stages[-1].space_id + 1]


def test_a_space_that_others_have_taken_is_left(
    connection: psycopg.Connection, stages: list[Stage], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pipeline task leaves it when its batch finds no rows."""
    jumps: list[int] = []
    monkeypatch.setattr(Rounds, "jump", lambda _: jumps.append(1))
    duty = make_pipeline_duty()
    assert duty.attend(connection, stages[0].space_id)
    assert jumps == []
    assert not duty.attend(connection, stages[0].space_id)
    assert jumps == [1]
