"""Carries out histories change by change and compares what the product reports as changed between two moments
with plain lists of the data.

`HEADWATER_CHANGE_HISTORIES=10000` makes the run long; `HEADWATER_FIRST_HISTORY=500` starts it with another
history, so that a long run can be split.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import psycopg
import pytest
from psycopg import AsyncConnection

from headwater.attribution.history.revisions import fetch_latest
from headwater.http.inputs.parameters import JsonInput
from headwater.intake.pipeline.batch_runner import process_space
from headwater.intake.pipeline.reclassification import reclassify_next
from headwater.reports.changes import credit
from headwater.reports.changes.change import ChangeQuery, CreditChangeReport
from headwater.reports.changes.credit import query_changes
from headwater.reports.engine.group_sums import GroupSums
from headwater.reports.engine.passes import PlanLoader
from headwater.reports.engine.report_reader import open_reader
from headwater.reports.engine.snapshots import Present, ReportSnapshot, make_snapshot
from headwater.reports.query import ReportQuery
from headwater.reports.questions.report import read_report_query
from headwater.spaces.spaces import fetch_space
from tests.reports.change_answers import Moment, change_causes, exact, model_sums, not_the_sum, wrong_figures
from tests.reports.change_histories import list_groups, some_history, split_question
from tests.reports.court import MEANWHILE
from tests.reports.histories import Arrive, Change, Crash, History, Step, describe_step
from tests.reports.playing import World, carry_out, new_world
from tests.reports.questions import TRAINED_MODEL_NAMES
from tests.support.campaigns import campaign_size
from tests.support.report_model import loading
from tests.support.report_model.groups import sells
from tests.support.report_model.question import read_question

HISTORIES = campaign_size("HEADWATER_CHANGE_HISTORIES", 0, 1000)
FIRST = int(os.environ.get("HEADWATER_FIRST_HISTORY", "0"))
USUAL = (1, 12, 14, 23, 30)
"""The histories of an ordinary run: a few that contain every cause and reveal every planted fault."""
QUESTIONS = 4
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TAG_GROUPS = frozenset({"campaign", "adset", "ad", "keyword", "landing_page"})


class Different(AssertionError):
    """The product and the lists disagree."""


@dataclass
class Case:
    """The input of the product's pure half, and its output."""

    arguments: tuple[Any, ...]
    expected: Any

    def is_different(self) -> bool:
        """Return whether the output is different now, or raises an error."""
        try:
            return tally_changes(credit.split_up(*self.arguments), *self.arguments) != self.expected
        except (ValueError, AssertionError, KeyError):
            return True


def tally_changes(
    changes: Any, plans: Any, _families: Any, _between: range, read_amount: Any, *_: Any
) -> Any:
    """Return the sums by cause, and the events at each moment, in a form that can be compared."""
    causes = {
        str(cause): sorted(_tally(chunk.groups) for chunk in parts.pieces)
        for cause, (parts,) in changes.causes.items()
    }
    states = {
        side: [(event_id, getattr(event, side)) for event_id, event in changes.states.items()]
        for side in ("start", "end", "current")
    }
    sums = {
        side: [
            _tally(chunk.groups)
            for chunk in credit.add_up_states(plans, [pair for pair in pairs if pair[1]], read_amount)[0]
        ]
        for side, pairs in states.items()
    }
    return causes, states, sums


def _tally(tally: GroupSums) -> Any:
    return [
        (tuple(int(keys[index]) for keys in tally.keys),
         sorted((name, int(values[index])) for name, values in tally.sums.items()))
        for index in range(tally.groups)
    ]  # fmt: skip


@dataclass
class ChangeCourt:
    """Compares reported changes with the lists."""

    connection: psycopg.Connection
    runner: asyncio.Runner
    reader: AsyncConnection
    judged_count: int = 0
    moments: list[Moment] = field(default_factory=list[Moment])
    cases: list[Case] = field(default_factory=list[Case])
    cause_counts: Counter[str] = field(default_factory=Counter[str])
    """The causes in all answers."""

    def judge_many(self) -> None:
        """Judge some histories, the same in every run. Raises Different."""
        for number in range(FIRST, FIRST + HISTORIES) if HISTORIES else USUAL:
            self.judge(some_history(number), Random(number))

    def judge(self, history: History, dice: Random) -> None:
        """Raise Different at the first answer that disagrees with the lists."""
        self.judged_count += 1
        self.moments = []
        world = new_world(self.connection, self.runner, self.reader, history)
        self._record_moment(world, Crash(Change("nothing", 0)))
        try:
            for step in history.steps:
                world.steps.append(step)
                self._carry_out(world, step)
                dice.choice(MEANWHILE)(world.connection, world.space_id)
            for _ in range(QUESTIONS):
                self._compare(world, dice)
        except Different as different:
            different.add_note(f"{history.zone}, companies by {history.mode}")
            for step in world.steps:
                different.add_note(describe_step(step))
            raise

    def _carry_out(self, world: World, step: Step) -> None:
        """Carry out a step, and record the data after each of its changes."""
        if isinstance(step, Arrive):
            world.stage.put(*step.items)
            while process_space(world.connection, world.space_id, step.batch).rows:
                self._record_moment(world, step)
        elif isinstance(step, Change) and step.kind == "source_name":
            carry_out(world, replace(step, number=step.number % 4))
            self._record_moment(world, step)
            while reclassify_next(world.connection, world.space_id, 1 + step.other_number):
                self._record_moment(world, step)
        else:
            carry_out(world, step)
            self._record_moment(world, step)

    def _record_moment(self, world: World, step: Step) -> None:
        """Record the current data."""
        latest = self._run(fetch_latest(self.reader, world.space_id))
        facts = loading.load(self.connection, world.space_id)
        values = (world.space_id,)
        survivors = self.connection.execute(
            "SELECT id, coalesce(merged_into, id) FROM contacts WHERE space_id = %s", values
        ).fetchall()
        replacement_rows = self.connection.execute(
            "SELECT id, event_id FROM duplicates WHERE space_id = %s AND event_id IS NOT NULL", values
        ).fetchall()
        self.moments.append(Moment(latest, facts, dict(survivors), dict(replacement_rows), step))

    def _run(self, work: Any) -> Any:
        try:
            return self.runner.run(work)
        finally:
            self.runner.run(self.reader.rollback())

    # ------------------------------------------------------------------------------ the comparison

    def _compare(self, world: World, dice: Random) -> None:
        question = split_question(dice)
        taken_at = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(hours=dice.randrange(17_000))
        places = self._places(dice)
        first, last = (self.moments[index] for index in places)
        has_erasure = any(
            "erase" in describe_step(moment.step) for moment in self.moments[places[0] : places[1] + 1]
        )
        if has_erasure and not TAG_GROUPS.isdisjoint(list_groups(question)):
            return  # an erasure leaves no tag sets of touches that are gone
        before = _change_model(question, dice)
        answer = self._ask(world, (before, question), first, last, taken_at)
        self.cause_counts.update(answer["events"].keys())
        sells_now = sells(self.moments[-1].facts)
        questions = tuple(
            replace(read_question(parameters), sells=sells_now) for parameters in (before, question)
        )
        pairs = zip((first, last), questions, strict=True)
        wrong = list(
            wrong_figures(answer, *(model_sums(m.facts, model_question) for m, model_question in pairs))
        )
        if places[1] == places[0] + 1:
            wrong += change_causes(answer, first, last, taken_at, questions)
        elif places[1] > places[0]:
            middle = self.moments[dice.randrange(places[0], places[1] + 1)]
            parts = [
                self._ask(world, (before, question), first, middle, taken_at),
                self._ask(world, (question, question), middle, last, taken_at),
            ]
            wrong += not_the_sum(answer, parts)
        if wrong:
            raise Different("\n".join([f"{question}", f"{places} at {taken_at}", *wrong[:20]]))

    def _places(self, dice: Random) -> list[int]:
        """Return two moments, often consecutive ones around a change."""
        if len(self.moments) < 2:
            return [0, 0]
        places = sorted(dice.sample(range(len(self.moments)), 2))
        change_indexes = [
            index for index, moment in enumerate(self.moments) if index and isinstance(moment.step, Change)
        ]
        if dice.random() < 0.7:
            last = dice.choice(change_indexes) if change_indexes and dice.random() < 0.7 else places[1]
            places = [last - 1, last]
        return places

    def _ask(
        self,
        world: World,
        questions: tuple[dict[str, Any], dict[str, Any]],
        start_moment: Moment,
        end_moment: Moment,
        start_time: datetime,
    ) -> dict[str, Any]:
        before, query = (self._run(self._read(world, question)) for question in questions)
        start = self._run(self._snapshot(world, before, start_moment))
        end = self._run(self._snapshot(world, query, end_moment))
        start = replace(start, taken_at=(start_time - _EPOCH) // timedelta(microseconds=1))

        async def ask() -> CreditChangeReport:
            changes = ChangeQuery(query, start, end)
            return await query_changes(self.reader, world.space_id, changes)

        with pytest.MonkeyPatch.context() as patch:
            right = credit.split_up

            def split_up(*arguments: Any) -> Any:
                sums = right(*arguments)
                unlimited = (*arguments[:-1], lambda: None)
                self.cases.append(Case(unlimited, tally_changes(sums, *arguments)))
                return sums

            patch.setattr(credit, "split_up", split_up)
            return exact(query, self._run(ask()))

    async def _read(self, world: World, parameters: dict[str, Any]) -> ReportQuery:
        space = await fetch_space(self.reader, world.space_id)
        arguments = {"order_by": parameters["measures"][0], **parameters}
        arguments["group_by"] = parameters["group_by"] or ["none"]
        for name in {"amount_min", "amount_max"} & set(parameters):
            arguments[name] = str(parameters[name])
        return read_report_query(JsonInput(arguments), space, NOW)

    async def _snapshot(self, world: World, query: ReportQuery, moment: Moment) -> ReportSnapshot:
        async with open_reader(self.reader, world.space_id, money=False) as reader:
            (planned_query,) = await PlanLoader(reader, [query]).plans(query)
            scope, space = planned_query.plan.scope, reader.space
            return make_snapshot(Present(moment.latest, 0), scope, space, space.currency, None)


def _change_model(parameters: dict[str, Any], dice: Random) -> dict[str, Any]:
    """Return a question as it may have been asked at the earlier snapshot: often with another trained
    model.
    """
    if "markov" in parameters["attribution_models"] and dice.random() < 0.7:
        return parameters | {"trained_model": dice.choice(TRAINED_MODEL_NAMES)}
    return parameters
