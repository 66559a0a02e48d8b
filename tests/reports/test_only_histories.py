"""`only`: a report filtered by the keys of a row equals that row, at any point of random histories."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.reports import answers
from tests.reports.court import Court
from tests.reports.histories import History, histories
from tests.reports.playing import World, new_world, play
from tests.reports.questions import keep_one_model, some_question
from tests.support.campaigns import campaign_size
from tests.support.report_model.question import GROUPS, read_question

HISTORIES = campaign_size("HEADWATER_HISTORIES", 2, 1000)
MOST_ROWS = 4
"""Rows of each report that are checked."""


def test_it_works(court: Court) -> None:
    """For every single group, and for pairs of groups."""

    @given(history=histories, seed=st.integers(0, 2**16))
    @settings(max_examples=HISTORIES, deadline=None, suppress_health_check=list(HealthCheck))
    def check(history: History, seed: int) -> None:
        world = new_world(court.connection, court.runner, court.reader, history)
        play(world, history)
        dice = Random(seed)
        for group in GROUPS:
            question = some_question(dice)
            other_groups = [group_name for group_name in question["group_by"] if group_name != group]
            question["group_by"] = [group, *other_groups[:1]] if dice.random() < 0.3 else [group]
            if read_question(question).refusal() is None:  # not every group has visits
                check_rows(world, question, dice)

    check()


def check_rows(world: World, question: dict[str, Any], dice: Random) -> None:
    question = fitting(question)
    report = ask(world, question)
    for row in dice.sample(report["rows"], min(MOST_ROWS, len(report["rows"]))):
        other_keys = [
            key for key in question.get("only", ()) if key.partition(":")[0] not in question["group_by"]
        ]
        only = [f"{name}:{key or ''}" for name, key in zip(question["group_by"], row["keys"])]  # noqa: B905
        alone = ask(world, {**question, "group_by": [], "only": other_keys + only})
        # A time bucket may have no counterpart; the report of it alone is compared with zeros.
        row_figures = figures(row)
        assert figures(alone["total"])[: len(row_figures)] == row_figures, (question, only)


def fitting(question: dict[str, Any]) -> dict[str, Any]:
    """Return the question with one model, because several depend on the group, and with measures that do
    not.
    """
    measures = [name for name in question["measures"] if name != "share"] or ["events"]
    question = {**keep_one_model(question), "measures": measures, "limit": 1000}
    question.pop("order_by", None)
    return question


def ask(world: World, question: dict[str, Any]) -> dict[str, Any]:
    return world.runner.run(answers.answer(world.reader, world.space_id, question))


def figures(row: dict[str, Any]) -> list[dict[str, Fraction | None]]:
    """Return a row's figures, and its comparison figures, if any."""
    return [row["figures"], *([row["before"]] if row["before"] is not None else [])]
