"""Carries out histories and compares the product's answers with the model's.

`HEADWATER_HISTORIES=10000` makes the run long, and the same each time; `HEADWATER_FIRST_HISTORY=500` (a
multiple of 100) starts it with another history, for instance to resume an interrupted run.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Callable, Collection, Coroutine, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from psycopg import AsyncConnection

from headwater.attribution.paths import builder
from headwater.attribution.paths.builder import DueRule, build_next
from headwater.attribution.paths.upkeep import check_space, forget_space
from tests.reports import answers, cohort_answers, list_answers, path_answers
from tests.reports.faults import Plant
from tests.reports.histories import History, describe_step, histories
from tests.reports.playing import Between, World, new_world, play
from tests.reports.questions import some_question
from tests.support.campaigns import campaign_size
from tests.support.report_model import loading
from tests.support.report_model.facts import Facts

HISTORIES = campaign_size("HEADWATER_HISTORIES", 0, 10000)
USUALLY = 9
"""The histories of an ordinary run, which stops when its time is over, however few it has judged. Fewer than
ten, because hypothesis makes the first tenth of the examples as small as possible.
"""
FIRST = int(os.environ.get("HEADWATER_FIRST_HISTORY", "0"))
TOGETHER = 100
"""The histories that a long run draws at a time, seeded by the number of the first."""
AT_THE_END = 8
"""Questions after a history's last step; after each earlier step there is one."""
BATCH, SMALL_BATCH = 25, 4
BATCHES = range(100, 112)
"""The batches of histories that are searched for faults, one after another, until every fault has been found.
Each batch is the same in every run, so finding a rare fault never depends on luck.
"""


class Different(AssertionError):
    """The product and the model disagree."""


def _do_nothing(_: psycopg.Connection, __: int) -> None:
    """Do nothing: the worker is busy with other tasks."""


def _build_a_day(connection: psycopg.Connection, space_id: int) -> None:
    """Let the worker process only some of the changes."""
    build_next(connection, space_id, DueRule(patience=timedelta(), most_days=1))


def build_all(connection: psycopg.Connection, space_id: int) -> None:
    while build_next(connection, space_id):
        pass


class Killed(Exception):
    """A worker's process is killed."""


def _crash(connection: psycopg.Connection, space_id: int) -> None:
    """Kill the worker after it has written a segment, before it commits."""
    with pytest.MonkeyPatch.context() as patch, suppress(Killed):
        patch.setattr(builder, "write_values", _kill)
        build_next(connection, space_id)


def _kill(*_: object) -> None:
    raise Killed


def _damage(connection: psycopg.Connection, space_id: int) -> None:
    """Flip a bit in a segment, as a faulty disk would, if there is a segment with data."""
    connection.execute(
        "UPDATE path_segments SET amounts = set_byte(amounts, 0, get_byte(amounts, 0) # 1)"
        " WHERE space_id = %s AND octet_length(amounts) > 0"
        " AND day = (SELECT min(day) FROM path_segments WHERE space_id = %s)",
        (space_id, space_id),
    )


def _lose(connection: psycopg.Connection, space_id: int) -> None:
    """Delete all segments."""
    connection.execute("DELETE FROM path_segments WHERE space_id = %s", (space_id,))


MEANWHILE = (_do_nothing, _do_nothing, _build_a_day, _build_a_day, build_all, build_all, _crash, _damage,
             _lose, forget_space)  # fmt: skip
"""What may happen to segments between two steps of a history."""


@dataclass(frozen=True)
class Subject:
    """A kind of report or list: its random questions, the product's answers and the model's."""

    ask: Callable[[Random], dict[str, Any]]
    answer: Callable[[AsyncConnection, int, dict[str, Any]], Coroutine[Any, Any, dict[str, Any]]]
    expected: Callable[[Facts, dict[str, Any]], dict[str, Any]]


REPORTS = Subject(some_question, answers.answer, answers.expected_answer)
LISTS = Subject(list_answers.some_question, list_answers.answer, list_answers.expected_answer)
PATHS = Subject(path_answers.some_question, path_answers.answer, path_answers.expected_answer)
COHORTS = Subject(cohort_answers.some_question, cohort_answers.answer, cohort_answers.expected_answer)


@dataclass
class Case:
    """A question in the middle of a history, and the product's answer."""

    facts: Facts
    question: dict[str, Any]
    answer: dict[str, Any]


@dataclass
class Court:
    """Carries out histories and compares answers."""

    connection: psycopg.Connection
    runner: asyncio.Runner
    reader: AsyncConnection
    subject: Subject = REPORTS
    cases: list[Case] | None = None
    """The questions and answers so far, or None if they need not be kept."""
    deadline: float = math.inf
    """When to stop starting histories, on the monotonic clock."""
    judged_count: int = 0
    """The number of histories judged so far."""
    batch: int = BATCH
    """The number of histories in a batch."""
    hooks: tuple[Between, ...] = ()
    """Other work after every step, such as rebuilding or rolling back."""

    def judge_random(
        self, seconds: float, faults: Mapping[str, Plant], rare_faults: Collection[str] = ()
    ) -> None:
        """Judge random histories, in an ordinary run for at most `seconds`. Raises Different if an answer
        disagrees with the model, and AssertionError if a planted fault changes no answer. An ordinary run
        looks for the first fault that is not in `rare_faults`, in few histories; a long run looks for all.
        """
        if HISTORIES:
            self.judge_all(range(FIRST, FIRST + HISTORIES, TOGETHER))
        else:
            self.deadline, self.cases = time.monotonic() + seconds, []
            self.judge_many(USUALLY)
            first = next(name for name in faults if name not in rare_faults)
            # The histories already judged mostly reveal the fault, without further histories.
            is_found = self._is_found(faults[first], self.cases)
            self.batch, faults = SMALL_BATCH, {} if is_found else {first: faults[first]}
        assert self.judged_count > 0
        self.deadline = math.inf
        assert self.missed_faults(faults) == set()

    def judge(self, history: History, dice: Random) -> None:
        """Raise Different at the first answer that disagrees with the model."""
        if time.monotonic() > self.deadline:
            return
        self.judged_count += 1
        world = new_world(self.connection, self.runner, self.reader, history)
        try:
            between = (*self.hooks, lambda world, _: self.disturb(world, dice))
            play(world, history, between)
            self.compare(world, dice, AT_THE_END)
            build_all(world.connection, world.space_id)
            self.check_segments(world, 0)
            self.compare(world, dice, AT_THE_END)
        except Different as different:
            self.deadline = math.inf  # take all the time needed to reproduce a failure
            different.add_note(f"{history.zone}, companies by {history.mode}, {history.names}")
            for step in world.steps:
                different.add_note(describe_step(step))
            raise

    def disturb(self, world: World, dice: Random) -> None:
        """Let the worker do something, or nothing, to the segments, then ask a question."""
        dice.choice(MEANWHILE)(world.connection, world.space_id)
        self.check_segments(world, None)
        self.compare(world, dice, 1)

    def check_segments(self, world: World, pending: int | None) -> None:
        """Raise Different when segments differ from the tables."""
        for day in check_space(world.connection, world.space_id):
            if day.wrong or (pending is not None and day.pending != pending):
                raise Different(f"{day}")

    def compare(self, world: World, dice: Random, count: int) -> None:
        facts = loading.load(world.connection, world.space_id)
        for _ in range(count):
            question = self._question(world, dice)
            answer = self.runner.run(self.subject.answer(self.reader, world.space_id, question))
            wrong = answers.differences(answer, self.subject.expected(facts, question))
            if self.cases is not None:
                self.cases.append(Case(facts, question, answer))
            if wrong:
                raise Different("\n".join([f"{question}", *wrong[:20]]))

    def _question(self, world: World, dice: Random) -> dict[str, Any]:
        """Return a new question, or an earlier one again: its cached answer must not be stale."""
        is_repeat = world.questions and dice.random() < 0.5
        question = dice.choice(world.questions) if is_repeat else self.subject.ask(dice)
        world.questions.append(question)
        return question

    def judge_many(self, count: int) -> None:
        """Judge `count` random histories."""
        self._make_judge(count)()

    def judge_all(self, firsts: range) -> None:
        """Judge the histories of a long run, and print its progress."""
        for first in firsts:
            seed(first)(self._make_judge(TOGETHER, database=None))()
            print(f"{self.judged_count} histories judged, the last ones from {first}", flush=True)  # noqa: T201 - shown with pytest's -s

    def judge_batch(self, number: int) -> None:
        """Judge the histories of a batch."""
        judging = self._make_judge(self.batch, database=None, phases=[Phase.generate])
        seed(number)(judging)()

    def _make_judge(self, count: int, **options: Any) -> Callable[[], None]:
        @given(history=histories, dice=st.integers(0, 2**16).map(Random))
        @settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck), **options)
        def judge(history: History, dice: Random) -> None:
            self.judge(history, dice)

        return judge

    def missed_faults(self, faults: Mapping[str, Plant]) -> set[str]:
        """Return the faults that change no answer in any batch. They are planted in the model: a comparison
        fails either way round, and the answers of the product can be reused.
        """
        remaining_faults = set(faults)
        for batch in BATCHES:
            if not remaining_faults:
                break
            self.cases = []
            self.judge_batch(batch)
            remaining_faults -= {
                name for name in remaining_faults if self._is_found(faults[name], self.cases)
            }
        return remaining_faults

    def _is_found(self, plant: Plant, cases: list[Case]) -> bool:
        """Return True if a planted fault changes any answer."""
        with pytest.MonkeyPatch.context() as patch:
            plant(patch)
            return any(map(self._is_different, cases))

    def _is_different(self, case: Case) -> bool:
        """Return True if the answer differs, or if the model refuses to build one."""
        try:
            right = self.subject.expected(case.facts, case.question)
        except ValueError:
            return True
        return bool(answers.differences(deepcopy(case.answer), right))
