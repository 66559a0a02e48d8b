"""Where histories are carried out, and the product's answers are held against the model's."""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import dataclass
from random import Random
from typing import Any

import psycopg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import AsyncConnection

from tests.reports import answers
from tests.reports.histories import History, described, histories
from tests.reports.playing import Between, World, new_world, play
from tests.reports.questions import some_question
from tests.support.report_model import loading
from tests.support.report_model.facts import Facts

AT_THE_END = 8
"""Questions after a history's last step; after each step before there is one."""


class Different(AssertionError):
    """The product and the model do not agree."""


@dataclass
class Case:
    """A question in the middle of a history, and the product's answer."""

    facts: Facts
    question: dict[str, Any]
    told: dict[str, Any]


@dataclass
class Court:
    """Where histories are carried out and answers compared."""

    connection: psycopg.Connection
    runner: asyncio.Runner
    reader: AsyncConnection
    cases: list[Case] | None = None
    """What was asked and answered, where it is to be kept."""
    until: float = math.inf
    """When to begin no further history, on the monotonic clock."""
    judged: int = 0
    """How many histories have been."""
    hooks: tuple[Between, ...] = ()
    """What else is done after every step: rebuilding something, or breaking something off."""

    def judge(self, history: History, dice: Random) -> None:
        """Raise Different at the first answer that is not the model's."""
        if time.monotonic() > self.until:
            return
        self.judged += 1
        world = new_world(self.connection, self.runner, self.reader, history)
        try:
            play(world, history, (*self.hooks, lambda world, _: self.compare(world, dice, 1)))
            self.compare(world, dice, AT_THE_END)
        except Different as different:
            self.until = math.inf  # a failure is looked at for as long as it takes
            different.add_note(f"{history.zone}, companies by {history.mode}, {history.names}")
            for step in world.done:
                different.add_note(described(step))
            raise

    def compare(self, world: World, dice: Random, count: int) -> None:
        facts = loading.load(world.connection, world.space_id)
        for _ in range(count):
            question = some_question(dice, answers.ABLE)
            told = self.runner.run(answers.answer(self.reader, world.space_id, question))
            wrong = answers.differences(question, told, answers.expected(facts, question))
            if self.cases is not None:
                self.cases.append(Case(facts, question, told))
            if wrong:
                raise Different("\n".join([f"{question}", *wrong[:20]]))

    def judge_many(self, count: int, **how: Any) -> None:
        """Judge so many random histories."""

        @given(history=histories, seed=st.integers(0, 2**16))
        @settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck), **how)
        def judge(history: History, seed: int) -> None:
            self.judge(history, Random(seed))

        judge()
