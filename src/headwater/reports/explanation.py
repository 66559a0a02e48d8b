"""One event under every attribution model: its path, and who gets how much. The credits are those
of List Events, from the one definition there is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import dict_row
from psycopg.sql import SQL, Literal

from headwater.attribution.models import MODELS
from headwater.attribution.query import Attribution, credited_rows
from headwater.database.queries import Queries, fetch_all, fetch_optional
from headwater.http.errors import NotFound
from headwater.sources.catalogue import PAID_IDS, SOURCE_IDS, SOURCES

queries = Queries(__name__, "explanation.sql")

SHOWN_ENDS = 100
"""How many touchpoints are shown from either end of a path."""

_THIS_EVENT = SQL("e.id = %(event_id)s")


@dataclass
class Credits:
    """What one model makes of the event. A model that credits no touchpoint has nothing."""

    shown: dict[int, Decimal | None] = field(default_factory=dict[int, "Decimal | None"])
    """Touchpoint id → its part of the amount; None where the event has no amount."""
    touches: int = 0
    """How many touchpoints are credited, those not shown included."""

    @property
    def left_out(self) -> int:
        return self.touches - len(self.shown)

    def amount_left_out(self, amount: Decimal | None) -> Decimal | None:
        """What the touchpoints not shown get of the event's amount: all credits add up to it."""
        if amount is None:
            return None
        return amount - sum((part or Decimal() for part in self.shown.values()), Decimal())


@dataclass(frozen=True)
class EventExplanation:
    """What brought an event."""

    event: dict[str, Any]
    """`contact_id, company_id, amount, event_name, event_time_utc, sender`."""
    path: list[dict[str, Any]]
    """Its touchpoints in the window, the earliest first; of a long path both ends."""
    left_out: int
    """How many touchpoints of the path are not shown."""
    credits: dict[str, Credits]
    """By model."""


async def explain_event(
    connection: AsyncConnection, space_id: int, event_id: int, window_days: int, *, by_company: bool
) -> EventExplanation:
    """An event under every model. Raises NotFound."""
    values = {"space_id": space_id, "event_id": event_id}
    cursor = connection.cursor(row_factory=dict_row)
    event = await fetch_optional(cursor, queries["event"], values)
    if event is None:
        raise NotFound("Event")
    credited = await _credits(connection, values, window_days, by_company=by_company)
    touches = {
        "space_id": space_id,
        "ids": sorted({touch for each in credited.values() for touch in each.shown}),
        "source_names": list(SOURCES),
        "paid": sorted(PAID_IDS),
    }
    path = await fetch_all(cursor, queries["touchpoints"], touches)
    return EventExplanation(event, path, max(0, credited["linear"].touches - len(path)), credited)


async def _credits(
    connection: AsyncConnection, event: dict[str, int], window_days: int, *, by_company: bool
) -> dict[str, Credits]:
    every_source = tuple(SOURCE_IDS.values())
    asked = {
        name: Attribution(name, window_days, every_source, by_company=by_company) for name in MODELS
    }
    statement = SQL(" UNION ALL ").join(
        queries["of_model"].format(
            model=Literal(name),
            credit=MODELS[name].credit,
            rows=credited_rows(attribution, _THIS_EVENT),
        )
        for name, attribution in asked.items()
    )
    bound = {**event, **asked["linear"].parameters(), "ends": SHOWN_ENDS}
    credited = {name: Credits() for name in MODELS}
    cursor = await connection.execute(statement, bound, prepare=False)
    for model, touchpoint_id, credit, touches in await cursor.fetchall():
        credited[model].shown[touchpoint_id] = credit
        credited[model].touches = touches
    return credited
