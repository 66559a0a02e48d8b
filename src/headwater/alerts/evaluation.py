"""One pass over a Space: its current problems, its custom rules, and each finished and processed hour since
the last pass. While the pipeline is behind, figures are not judged.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from msgspec import Struct
from psycopg import AsyncConnection

from headwater.alerts import watches
from headwater.alerts.causes import CauseEvidence, find_cause, name_title
from headwater.alerts.counts import (
    DAY,
    HOUR,
    CountTable,
    add_counts,
    count_deliveries,
    first_hour,
    forget_counts,
    local,
    put_figures,
    read_counts,
    read_figures,
)
from headwater.alerts.custom_rules.evaluation import check_due_rules, record_checks
from headwater.alerts.custom_rules.stored_rules import list_rules
from headwater.alerts.history import TURNED_OFF, AlertHistory, AlertStep, Sign, StepKind, forget_history
from headwater.alerts.judgement import judge_day, judge_hour
from headwater.alerts.models import Alertness, Judgement
from headwater.alerts.problems import Alert, list_problems
from headwater.alerts.rules import OF_COUNTS, OF_FIGURES, Rule
from headwater.alerts.watches import SETTLE, RuleChoice, SpaceWatch
from headwater.base.telemetry.counters import make_counter
from headwater.database.jobs.lease import LeaseLostError
from headwater.database.pool import Database
from headwater.reports.engine.report_reader import CONNECTION_SECONDS
from headwater.spaces.models import Space
from headwater.spaces.spaces import fetch_space

MOST_HOURS = 48
"""Catch up on at most this many hours after an outage."""
SEVERE = 1_000
"""A problem with this many items is severe."""

alert_steps = make_counter("headwater_alert_steps", "Alert transitions", rule=Rule, step=StepKind)

Announce = Callable[[AsyncConnection, Space, Sequence[AlertStep]], Awaitable[None]]
"""Stores the notifications in the same transaction."""


class AlertWatch(Struct, frozen=True):
    database: Database
    announce: Announce
    most_hours: int = MOST_HOURS
    at_once: bool = False
    """True if nothing is in progress, so that events accepted just now count too."""

    async def look(self, space_id: int, current_time: datetime) -> list[AlertStep]:
        """Evaluate a due Space; return its alerts' transitions."""
        async with self.database.transaction() as connection:
            space = await fetch_space(connection, space_id)
            first = current_time if self.at_once else current_time + watches.LOOK
            await watches.begin_watch(connection, space, current_time, _hour(current_time, space), first)
            watch = await watches.claim(connection, space_id, current_time)
            if watch is None:
                return []
            if self.at_once:
                watch = replace(watch, settled_id=watch.newest_id, settled_at=current_time)
            is_set_back = watch.settled_at > current_time + HOUR
            if watch.timezone != space.timezone or is_set_back:  # later hours would be judged as empty
                await forget_counts(connection, space_id)
                watch = replace(
                    watch,
                    counted_id=0,
                    counted_at=datetime.fromtimestamp(0, UTC),
                    settled_at=min(watch.settled_at, current_time),
                    judged_until=_hour(current_time, space),
                )
            problems = await list_problems(connection, space_id)
        try:
            return await self._judge(space, watch, problems, current_time)
        except LeaseLostError:  # another process has counted and notified
            return []

    async def _judge(
        self, space: Space, watch: SpaceWatch, problems: list[Alert], current_time: datetime
    ) -> list[AlertStep]:
        """Raise LeaseLostError, to store nothing."""
        is_late = any(problem.kind is Rule.PROCESSING_LATE for problem in problems)
        until = _hour(watch.settled_at - (timedelta() if self.at_once else SETTLE), space)
        since = max(watch.judged_until, until - self.most_hours * HOUR)
        start, figures = first_hour(watch, until), None
        if not is_late and (until > since or not watch.has_counted):
            async with self.database.transaction(CONNECTION_SECONDS) as connection:
                figures = await read_figures(connection, space, watch, until)
        checks = [] if is_late else await check_due_rules(self.database, space, current_time)
        async with self.database.transaction(CONNECTION_SECONDS) as connection:
            history = AlertHistory(connection, space.id)
            await history.load(current_time)
            choices = await watches.read_choices(connection, space.id)
            problem_signs = _find_signs(
                problems, history, _list_disabled(choices), local(current_time, space)
            )
            for sign in problem_signs:
                await history.take(sign, current_time)
            await record_checks(connection, space, history, checks, current_time)
            settled_watch = replace(watch, settled_id=watch.newest_id, settled_at=current_time)
            if not is_late and await add_counts(connection, space, watch):
                settled_watch = replace(
                    settled_watch, counted_id=watch.settled_id, counted_at=watch.settled_at
                )
                if figures is not None:
                    await put_figures(connection, space.id, start, figures)
                    await count_deliveries(connection, space, watch, until)
                    table = await read_counts(connection, space, until)
                    judge = _HourJudge(connection, space, table, history, choices)
                    await judge.run(since, until)
                    await forget_history(connection, space.id, current_time)
                    settled_watch = replace(settled_watch, judged_until=until)
            elif not is_late:  # counted from the same moment, once earlier events are processed
                settled_watch = replace(
                    settled_watch, settled_id=watch.settled_id, settled_at=watch.settled_at
                )
            if not await watches.settle(connection, space, settled_watch, current_time):
                raise LeaseLostError
            muted = await _list_muted(connection, space.id, choices, current_time)
            await self.announce(connection, space, await history.announce(muted))
        for step in history.steps:
            alert_steps.labels(step.rule, step.step).inc()
        return history.steps


class _HourJudge:
    def __init__(
        self,
        connection: AsyncConnection,
        space: Space,
        table: CountTable,
        history: AlertHistory,
        choices: Mapping[Rule, RuleChoice],
    ) -> None:
        self._connection, self._space = connection, space
        self._table, self._history = table, history
        self._choices = choices

    async def run(self, start: datetime, until: datetime) -> None:
        end = start + HOUR
        while end <= until:
            counts = self._table.at_hour(end)
            evidence = CauseEvidence(self._connection, self._space, counts, _instant(end, self._space))
            await self._take(evidence, judge_hour(counts, self._alertness(end, HOUR)), end, HOUR)
            if end.hour == 0:
                days = self._table.at_day(end)
                await self._take(evidence, judge_day(days, self._alertness(end, DAY)), end, DAY)
            await self._history.expire(evidence.at, _list_disabled(self._choices))
            end += HOUR

    def _alertness(self, end: datetime, step: timedelta) -> Alertness:
        return Alertness(
            {rule: choice.sensitivity for rule, choice in self._choices.items()},
            _list_disabled(self._choices),
            {
                key: max((end - alert.began) // step, 1)
                for key, alert in self._history.open.items()
                if alert.rule in OF_COUNTS
            },
            {
                key: max((end - local(ended_at, self._space)) // step, 1)
                for key, ended_at in self._history.end_times.items()
            },
        )

    async def _take(
        self, evidence: CauseEvidence, judged: list[Judgement], end: datetime, step: timedelta
    ) -> None:
        open_alerts = self._history.open
        for judgement in judged:
            alert = open_alerts.get((judgement.rule, judgement.subject))
            if alert is None and not judgement.is_out:
                continue
            if judgement.is_out:
                title, cause = await name_title(evidence, judgement), await find_cause(evidence, judgement)
            else:
                assert alert is not None
                title, cause = alert.title, alert.cause
            sign = Sign(
                judgement.rule,
                judgement.subject,
                title,
                cause,
                end - judgement.steps * step,
                judgement.is_out,
                judgement.is_well,
                judgement.is_severe,
                judgement,
            )
            await self._history.take(sign, evidence.at)


async def _list_muted(
    connection: AsyncConnection, space_id: int, choices: Mapping[Rule, RuleChoice], current_time: datetime
) -> frozenset[tuple[Rule, str | None]]:
    """Return the muted rules, each with the subject that is muted, or None for all of them."""
    custom_rules = await list_rules(connection, space_id)
    muted_rules = ((rule, None) for rule, choice in choices.items() if choice.is_muted(current_time))
    muted_custom_rules = ((Rule.CUSTOM, str(rule.id)) for rule in custom_rules if rule.is_muted(current_time))
    return frozenset((*muted_rules, *muted_custom_rules))


def _list_disabled(choices: Mapping[Rule, RuleChoice]) -> frozenset[Rule]:
    return frozenset(rule for rule, choice in choices.items() if not choice.is_on)


def _find_signs(
    problems: list[Alert], history: AlertHistory, disabled_rules: frozenset[Rule], current_time: datetime
) -> list[Sign]:
    signs = [
        Sign(
            problem.kind,
            problem.subject,
            problem.title,
            problem.detail or "",
            current_time,
            is_out=True,
            is_well=False,
            is_severe=problem.count >= SEVERE,
        )
        for problem in problems
        if problem.kind not in disabled_rules
    ]
    current = {(sign.rule, sign.subject) for sign in signs}
    signs += [
        Sign.of_end(alert, TURNED_OFF if alert.rule in disabled_rules else "")
        for key, alert in history.open.items()
        if alert.rule not in OF_FIGURES and key not in current
    ]
    return signs


def _hour(moment: datetime, space: Space) -> datetime:
    return local(moment, space).replace(minute=0, second=0, microsecond=0)


def _instant(moment: datetime, space: Space) -> datetime:
    return moment.replace(tzinfo=space.zone).astimezone(UTC)
