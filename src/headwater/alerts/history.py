"""The history of a Space's alerts. A lasting problem is recorded once; one that returns within a day
continues the same alert.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct
from psycopg import AsyncConnection

from headwater.alerts.models import Judgement
from headwater.alerts.rules import OF_COUNTS, Rule
from headwater.database.queries import Queries, fetch_all, fetch_one, fetch_optional, make_cursor

queries = Queries(__name__, "history.sql")
_OPEN, _INSERT, _UNANNOUNCED = (
    queries[name].format(columns=queries["columns"]) for name in ("open", "insert", "unannounced")
)

REOPEN_WITHIN = timedelta(hours=24)
"""Reopen an alert that returns within this time."""
WELL_LOOKS = 2
"""Passes without a problem before an alert about figures ends."""
NEW_USUAL = timedelta(days=7)
"""An alert about figures ends at this age: the new level counts as normal."""
KEEP_ALERTS = timedelta(days=400)
NOW_USUAL = "This has lasted a week and now counts as normal."
TURNED_OFF = "The rule was turned off."
ENDED_MUTED = "It ended while the rule was muted."
MOST_ALERTS = 500
MOST_STEPS = 2_000


class StepKind(StrEnum):
    OPENED = "opened"
    WORSENED = "worsened"
    RETURNED = "returned"
    ENDED = "ended"
    ACKNOWLEDGED = "acknowledged"


@dataclass(frozen=True)
class StoredAlert:
    id: int
    rule: Rule
    subject: str
    title: str
    cause: str
    began: datetime
    opened_at: datetime
    ended_at: datetime | None
    is_severe: bool
    well: int
    acknowledged_at: datetime | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rule", Rule(self.rule))

    @property
    def key(self) -> tuple[Rule, str]:
        return self.rule, self.subject


@dataclass(frozen=True)
class UnannouncedAlert(StoredAlert):
    step: str
    """Its latest opening, return or end."""
    at: datetime


class Sign(Struct, frozen=True):
    rule: Rule
    subject: str
    title: str
    cause: str
    began: datetime
    is_out: bool
    is_well: bool
    is_severe: bool = False
    figures: Judgement | None = None
    end_reason: str = ""
    """Why the alert ends, unless the figure or the fault is back to normal."""

    @classmethod
    def of_end(cls, alert: StoredAlert, reason: str = "") -> Sign:
        """Return the sign that ends an alert."""
        return cls(
            alert.rule,
            alert.subject,
            alert.title,
            alert.cause,
            alert.began,
            is_out=False,
            is_well=True,
            end_reason=reason,
        )


class AlertStep(Struct, frozen=True):
    """A transition of an alert, ready for messages."""

    alert_id: int
    step: StepKind
    at: datetime
    rule: Rule
    subject: str
    title: str
    cause: str
    """For an ended alert its end reason."""


class AlertHistory:
    def __init__(self, connection: AsyncConnection, space_id: int) -> None:
        self._connection, self._space_id = connection, space_id
        self._alerts: dict[tuple[Rule, str], StoredAlert] = {}
        self.steps: list[AlertStep] = []

    async def load(self, current_time: datetime) -> None:
        values = {"space_id": self._space_id, "lately": current_time - REOPEN_WITHIN, "most": MOST_ALERTS}
        for alert in await fetch_all(make_cursor(self._connection, StoredAlert), _OPEN, values):
            self._alerts[alert.key] = alert

    @property
    def open(self) -> dict[tuple[Rule, str], StoredAlert]:
        return {key: alert for key, alert in self._alerts.items() if alert.ended_at is None}

    @property
    def end_times(self) -> dict[tuple[Rule, str], datetime]:
        return {key: alert.ended_at for key, alert in self._alerts.items() if alert.ended_at is not None}

    async def take(self, sign: Sign, moment: datetime) -> None:
        """Open, reopen, worsen or end an alert, or change nothing."""
        alert = self._alerts.get((sign.rule, sign.subject))
        if alert is not None and alert.ended_at is not None:
            # The title of a custom rule is its terms, so another one belongs to a changed rule.
            is_changed = sign.rule is Rule.CUSTOM and sign.title != alert.title
            if is_changed or moment - alert.ended_at > REOPEN_WITHIN:
                alert = None
        if alert is None:
            if sign.is_out:
                await self._open(sign, moment)
        elif alert.ended_at is not None:
            if sign.is_out:
                changed_alert = replace(
                    alert,
                    ended_at=None,
                    well=0,
                    title=sign.title,
                    cause=sign.cause,
                    began=sign.began,
                    acknowledged_at=None,
                )
                await self._change(changed_alert, StepKind.RETURNED, sign, moment)
        elif sign.is_well:
            await self._mend(alert, sign, moment)
        else:
            await self._go_on(alert, sign, moment)

    async def expire(self, moment: datetime, disabled_rules: Collection[Rule]) -> None:
        """End alerts with rules off, or about figures no longer judged."""
        for alert in list(self.open.values()):
            is_over = alert.rule in OF_COUNTS and moment - alert.opened_at > NEW_USUAL + REOPEN_WITHIN
            if is_over or alert.rule in disabled_rules:
                reason = TURNED_OFF if alert.rule in disabled_rules else NOW_USUAL
                await self._mend(alert, Sign.of_end(alert, reason), moment)

    async def announce(self, muted: Collection[tuple[Rule, str | None]]) -> list[AlertStep]:
        """Return what to tell channels, at most one transition of each alert, and record it as announced.

        `muted` has rules and their muted subjects, None for all. Their alerts are announced after the mute,
        unless channels know their state.
        """
        last_steps: dict[int, AlertStep] = {step.alert_id: step for step in self.steps}
        values: dict[str, Any] = {"space_id": self._space_id, "most": MOST_ALERTS}
        unannounced = {
            alert.id: alert
            for alert in await fetch_all(
                make_cursor(self._connection, UnannouncedAlert), _UNANNOUNCED, values
            )
        }
        steps = [_describe_state(alert, last_steps.get(alert.id)) for alert in unannounced.values()]
        steps += [
            step
            for step in last_steps.values()
            if step.step is StepKind.WORSENED and step.alert_id not in unannounced
        ]
        announced_steps = [
            step
            for step in steps
            if (step.rule, None) not in muted and (step.rule, step.subject) not in muted
        ]
        if announced_steps:
            values["ids"] = [step.alert_id for step in announced_steps]
            await self._connection.execute(queries["set_announced"], values)
        return announced_steps

    async def _open(self, sign: Sign, moment: datetime) -> None:
        values = {
            "space_id": self._space_id,
            "rule": sign.rule,
            "subject": sign.subject,
            "title": sign.title,
            "cause": sign.cause,
            "began": sign.began,
            "at": moment,
            "is_severe": sign.is_severe,
        }
        alert = await fetch_one(make_cursor(self._connection, StoredAlert), _INSERT, values)
        self._alerts[alert.key] = alert
        await self._note(alert, StepKind.OPENED, sign, moment)

    async def _mend(self, alert: StoredAlert, sign: Sign, moment: datetime) -> None:
        well_count = alert.well + 1
        if sign.figures is not None and well_count < WELL_LOOKS:
            await self._change(replace(alert, well=well_count), None, sign, moment)
            return
        await self._change(replace(alert, well=0, ended_at=moment), StepKind.ENDED, sign, moment)

    async def _go_on(self, alert: StoredAlert, sign: Sign, moment: datetime) -> None:
        if sign.figures is not None and moment - alert.opened_at > NEW_USUAL:
            ended_alert = replace(alert, well=0, ended_at=moment, cause=NOW_USUAL)
            ended_sign = msgspec.structs.replace(sign, end_reason=NOW_USUAL)
            await self._change(ended_alert, StepKind.ENDED, ended_sign, moment)
        elif sign.is_out and sign.is_severe and not alert.is_severe:
            worse_alert = replace(alert, well=0, is_severe=True, title=sign.title, cause=sign.cause)
            await self._change(worse_alert, StepKind.WORSENED, sign, moment)
        elif alert.well:
            await self._change(replace(alert, well=0), None, sign, moment)

    async def _change(self, alert: StoredAlert, step: StepKind | None, sign: Sign, moment: datetime) -> None:
        self._alerts[alert.key] = alert
        values = {
            "space_id": self._space_id,
            "id": alert.id,
            "title": alert.title,
            "cause": alert.cause,
            "began": alert.began,
            "ended_at": alert.ended_at,
            "is_severe": alert.is_severe,
            "well": alert.well,
        }
        await self._connection.execute(queries["update"], values)
        if step is not None:
            await self._note(alert, step, sign, moment)

    async def _note(self, alert: StoredAlert, step: StepKind, sign: Sign, moment: datetime) -> None:
        values = {"space_id": self._space_id, "alert_id": alert.id, "step": step, "at": moment}
        await self._connection.execute(queries["add_step"], values | _figures(sign.figures))
        if step is StepKind.WORSENED and alert.acknowledged_at is not None:
            return  # members who mark an alert as seen are notified of its end only
        cause = sign.end_reason if step is StepKind.ENDED else alert.cause
        transition = AlertStep(alert.id, step, moment, alert.rule, alert.subject, alert.title, cause)
        self.steps.append(transition)


def _describe_state(alert: UnannouncedAlert, last_step: AlertStep | None) -> AlertStep:
    """Return the transition to announce, given the last one of this pass, which knows why the alert ended."""
    step, cause = StepKind(alert.step), alert.cause
    if step is StepKind.ENDED:
        cause = ENDED_MUTED if last_step is None else last_step.cause
    return AlertStep(alert.id, step, alert.at, alert.rule, alert.subject, alert.title, cause)


def _figures(judgement: Judgement | None) -> dict[str, Any]:
    if judgement is None:
        return dict.fromkeys(("observed", "low", "middle", "high", "span"))
    usual_range = judgement.usual
    return {
        "observed": judgement.observed,
        "low": usual_range.low,
        "middle": usual_range.middle,
        "high": usual_range.high,
        "span": judgement.steps,
    }


class StepRow(Struct, frozen=True):
    alert_id: int
    step: str
    at: datetime
    observed: float | None
    usual_low: float | None
    usual_middle: float | None
    usual_high: float | None
    span: int | None


class AlertRow(Struct, frozen=True):
    id: int
    rule: str
    subject: str
    title: str
    cause: str
    opened_at: datetime
    ended_at: datetime | None
    is_severe: bool
    acknowledged_at: datetime | None
    acknowledged_by: int | None


async def list_history(
    connection: AsyncConnection, space_id: int, *, is_open: bool, limit: int = MOST_ALERTS
) -> list[AlertRow]:
    """Return the newest first."""
    values = {"space_id": space_id, "is_open": is_open, "most": limit}
    return await fetch_all(make_cursor(connection, AlertRow), queries["list"], values)


async def list_steps(
    connection: AsyncConnection, space_id: int, ids: Sequence[int]
) -> dict[int, list[StepRow]]:
    values = {"space_id": space_id, "ids": list(ids), "most": MOST_STEPS}
    steps: dict[int, list[StepRow]] = {alert_id: [] for alert_id in ids}
    for step in await fetch_all(make_cursor(connection, StepRow), queries["steps"], values):
        steps[step.alert_id].append(step)
    return steps


async def acknowledge(
    connection: AsyncConnection, space_id: int, alert_id: int, user_id: int, moment: datetime
) -> bool:
    """Record that a user deals with an open alert. It sends no further messages until it ends."""
    values: dict[str, Any] = {
        "space_id": space_id,
        "id": alert_id,
        "user_id": user_id,
        "at": moment,
        "alert_id": alert_id,
        "step": StepKind.ACKNOWLEDGED,
        **_figures(None),
    }
    if await fetch_optional(connection, queries["acknowledge"], values) is None:
        return False
    await connection.execute(queries["add_step"], values)
    return True


async def end_alert(
    connection: AsyncConnection, space_id: int, key: tuple[Rule, str], moment: datetime
) -> None:
    """End the open alert of a rule and subject, if there is one, without a notification."""
    rule, subject = key
    values: dict[str, Any] = {"space_id": space_id, "rule": rule, "subject": subject, "at": moment}
    row = await fetch_optional(connection, queries["end"], values)
    if row is not None:
        values |= {"alert_id": row[0], "step": StepKind.ENDED, **_figures(None)}
        await connection.execute(queries["add_step"], values)


async def forget_history(connection: AsyncConnection, space_id: int, current_time: datetime) -> None:
    await connection.execute(queries["forget"], {"space_id": space_id, "before": current_time - KEEP_ALERTS})
