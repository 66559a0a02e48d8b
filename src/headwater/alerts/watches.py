"""The progress of looking at each Space, and the choices of each for its rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from psycopg import AsyncConnection
from psycopg.rows import dict_row

from headwater.alerts.rules import Rule, Sensitivity
from headwater.database.jobs.due_spaces import DueSpaces
from headwater.database.queries import Queries, fetch_all, fetch_one, fetch_optional
from headwater.spaces.models import Space

queries = Queries(__name__, "watches.sql")
due_spaces = DueSpaces(queries["due"])
"""Spaces that are due to be looked at."""

LOOK = timedelta(minutes=5)
"""Between two looks at a Space."""
SETTLE = timedelta(minutes=1)
"""By when a request that has drawn a receipt has stored what it accepted."""


@dataclass(frozen=True)
class SpaceWatch:
    """A Space that this process looks at."""

    timezone: str
    counted_id: int
    settled_id: int
    settled_at: datetime
    counted_at: datetime
    """Rows are counted up to this moment."""
    judged_until: datetime
    """The end of the last hour that was judged, on the Space's clock."""
    newest_id: int
    lease: UUID

    @property
    def has_counted(self) -> bool:
        """True when it has been looked at before."""
        return self.counted_at.year > 1970


@dataclass(frozen=True)
class RuleChoice:
    """The choices of a Space for a rule."""

    is_on: bool = True
    sensitivity: Sensitivity = Sensitivity.NORMAL
    muted_until: datetime | None = None

    def is_muted(self, now: datetime) -> bool:
        """Return whether its alerts send no messages."""
        return self.muted_until is not None and self.muted_until > now


async def begin_watch(
    connection: AsyncConnection, space: Space, now: datetime, judged_until: datetime, next_at: datetime
) -> None:
    """Begin to look at a Space, at `next_at`: at its hours from `judged_until` on. Nothing is
    changed of one that is looked at.
    """
    values = {
        "space_id": space.id,
        "zone": space.timezone,
        "now": now,
        "judged_until": judged_until,
        "next_at": next_at,
    }
    (values["newest_id"],) = await fetch_one(connection, queries["newest_id"])
    await connection.execute(queries["begin"], values)


async def hasten(connection: AsyncConnection, space_id: int) -> None:
    """Have a Space looked at now."""
    await connection.execute(queries["hasten"], {"space_id": space_id})


async def claim(connection: AsyncConnection, space_id: int, now: datetime) -> SpaceWatch | None:
    """Take a Space that is due; None when another process has it."""
    lease = uuid4()
    cursor = connection.cursor(row_factory=dict_row)
    values = {"space_id": space_id, "now": now, "lease": lease}
    row = await fetch_optional(cursor, queries["claim"], values)
    if row is None:
        return None
    newest = await fetch_one(cursor, queries["newest_id"])
    return SpaceWatch(**row, **newest, lease=lease)


async def settle(connection: AsyncConnection, space: Space, watch: SpaceWatch, now: datetime) -> bool:
    """Note how far a Space is, and when it is due again; False when another process has it."""
    values = {
        "space_id": space.id,
        "timezone": space.timezone,
        "lease": watch.lease,
        "counted_id": watch.counted_id,
        "counted_at": watch.counted_at,
        "settled_id": watch.settled_id,
        "settled_at": watch.settled_at,
        "judged_until": watch.judged_until,
        "next_at": now + LOOK,
    }
    return await fetch_optional(connection, queries["settle"], values) is not None


async def read_choices(connection: AsyncConnection, space_id: int) -> Mapping[Rule, RuleChoice]:
    """Return what a Space has chosen, for every rule."""
    rows = await fetch_all(connection, queries["rules"], {"space_id": space_id})
    chosen = {
        Rule(rule): RuleChoice(is_on, Sensitivity(sensitivity), muted_until)
        for rule, is_on, sensitivity, muted_until in rows
        if rule in frozenset(Rule)
    }
    return {rule: chosen.get(rule, RuleChoice()) for rule in Rule}


async def choose(connection: AsyncConnection, space_id: int, rule: Rule, choice: RuleChoice) -> None:
    """Choose for a rule."""
    values = {
        "space_id": space_id,
        "rule": rule,
        "is_on": choice.is_on,
        "sensitivity": choice.sensitivity,
        "muted_until": choice.muted_until,
    }
    await connection.execute(queries["set_rule"], values)
