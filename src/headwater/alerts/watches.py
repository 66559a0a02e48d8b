"""The progress of evaluating each Space, and its rule settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from msgspec import Struct
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from headwater.alerts.rules import Rule, Sensitivity
from headwater.database.jobs.due_spaces import DueSpaces
from headwater.database.queries import Queries, fetch_all, fetch_one, fetch_optional
from headwater.spaces.models import Space

queries = Queries(__name__, "watches.sql")
due_spaces = DueSpaces(queries["due"])

LOOK = timedelta(minutes=5)
"""Between two passes over a Space."""
SETTLE = timedelta(minutes=1)
"""Within this time a request has stored the events of its receipt."""


@dataclass(frozen=True)
class SpaceWatch:
    timezone: str
    counted_id: int
    settled_id: int
    settled_at: datetime
    counted_at: datetime
    judged_until: datetime
    """The end of the last judged hour, in local time."""
    newest_id: int
    lease: UUID

    @property
    def has_counted(self) -> bool:
        return self.counted_at.year > 1970


class RuleChoice(Struct, frozen=True):
    is_on: bool = True
    sensitivity: Sensitivity = Sensitivity.NORMAL
    muted_until: datetime | None = None

    def is_muted(self, current_time: datetime) -> bool:
        return self.muted_until is not None and self.muted_until > current_time


async def begin_watch(
    connection: AsyncConnection,
    space: Space,
    current_time: datetime,
    judged_until: datetime,
    next_at: datetime,
) -> None:
    """Start evaluating a Space at `next_at`, from the hour `judged_until` on, unless it has started."""
    values = {
        "space_id": space.id,
        "zone": space.timezone,
        "now": current_time,
        "judged_until": judged_until,
        "next_at": next_at,
    }
    (values["newest_id"],) = await fetch_one(connection, queries["newest_id"])
    await connection.execute(queries["begin"], values)


async def hasten(connection: AsyncConnection, space_id: int) -> None:
    await connection.execute(queries["hasten"], {"space_id": space_id})


async def claim(connection: AsyncConnection, space_id: int, current_time: datetime) -> SpaceWatch | None:
    """Return None if another process has it."""
    lease = uuid4()
    cursor = connection.cursor(row_factory=dict_row)
    values = {"space_id": space_id, "now": current_time, "lease": lease}
    row = await fetch_optional(cursor, queries["claim"], values)
    if row is None:
        return None
    newest = await fetch_one(cursor, queries["newest_id"])
    return SpaceWatch(**row, **newest, lease=lease)


async def settle(
    connection: AsyncConnection, space: Space, watch: SpaceWatch, current_time: datetime
) -> bool:
    """Return False if another process has it."""
    values = {
        "space_id": space.id,
        "timezone": space.timezone,
        "lease": watch.lease,
        "counted_id": watch.counted_id,
        "counted_at": watch.counted_at,
        "settled_id": watch.settled_id,
        "settled_at": watch.settled_at,
        "judged_until": watch.judged_until,
        "next_at": current_time + LOOK,
    }
    return await fetch_optional(connection, queries["settle"], values) is not None


async def read_choices(connection: AsyncConnection, space_id: int) -> Mapping[Rule, RuleChoice]:
    rows = await fetch_all(connection, queries["rules"], {"space_id": space_id})
    choices = {
        Rule(rule): RuleChoice(is_on, Sensitivity(sensitivity), muted_until)
        for rule, is_on, sensitivity, muted_until in rows
        if rule in frozenset(Rule)
    }
    return {rule: choices.get(rule, RuleChoice()) for rule in Rule}


async def choose(connection: AsyncConnection, space_id: int, rule: Rule, choice: RuleChoice) -> None:
    values = {
        "space_id": space_id,
        "rule": rule,
        "is_on": choice.is_on,
        "sensitivity": choice.sensitivity,
        "muted_until": choice.muted_until,
    }
    await connection.execute(queries["set_rule"], values)
