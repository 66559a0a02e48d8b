"""One event under every attribution model: its path and each touchpoint's credit, computed like List
Events.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import dict_row
from psycopg.sql import SQL, Literal

from headwater.attribution.models import MODELS, SharedAmount
from headwater.attribution.query import BOTH_AMOUNTS, Attribution, credited_rows
from headwater.attribution.trained_models.choice import ChosenModel, ModelChoice, fetch_chosen, find_current
from headwater.database.queries import Queries, fetch_all, fetch_one, fetch_optional
from headwater.events.space_amounts import show_amounts
from headwater.http.errors import NotFound
from headwater.reports.engine.chosen_events import NoCredit
from headwater.sources.catalogue import ALL_IDS, PAID_IDS
from headwater.spaces.networks import fetch_sources

queries = Queries(__name__, "explanation.sql")

MOST_PER_END = 100
"""Listed from each end of a path."""

NOT_TRAINED = "not_trained"
"""Before a trained model's first training run."""

_THIS_EVENT = SQL("e.id = %(event_id)s")


@dataclass
class Credits:
    """Empty if the model credits no touchpoint."""

    listed: dict[int, Decimal | None] = field(default_factory=dict[int, "Decimal | None"])
    """Parts of the amount by touchpoint id; None without an amount."""
    in_space_currency: dict[int, Decimal | None] = field(default_factory=dict[int, "Decimal | None"])
    """The same in the Space's currency."""
    touches: int = 0
    """Credited touchpoints, including unlisted ones."""

    @property
    def left_out(self) -> int:
        return self.touches - len(self.listed)

    def amount_left_out(self, amount: Decimal | None) -> Decimal | None:
        """Return unlisted touchpoints' credit; all credits add up to the amount."""
        if amount is None:
            return None
        return amount - sum((credit or Decimal() for credit in self.listed.values()), Decimal())


@dataclass(frozen=True)
class EventExplanation:
    event: dict[str, Any]
    path: list[dict[str, Any]]
    """Touchpoints in the window, earliest first; both ends of a long path."""
    left_out: int
    credits: dict[str, Credits]
    touched: bool
    """True if any touchpoint precedes the event, even outside the window."""
    trained_model: ChosenModel | None

    def unattributed_reason(self, model: str) -> str | None:
        """Return None if the model gives credit."""
        if self.credits[model].touches:
            return None
        if self.credits["linear"].touches:
            lacks_trained_model = MODELS[model].needs_training and self.trained_model is None
            return NOT_TRAINED if lacks_trained_model else NoCredit.NOT_COUNTED
        if self.touched:
            return NoCredit.OUTSIDE_WINDOW
        return NoCredit.NO_TOUCH


async def explain_event(
    connection: AsyncConnection,
    space_id: int,
    event_id: int,
    window_days: int,
    *,
    by_company: bool,
    trained_model: str | None = None,
) -> EventExplanation:
    """Explain an event from one snapshot, by the given trained model or the current one of its name. Needs a
    fresh transaction.

    Raises NotFound, and Invalid for an unknown model.
    """
    await connection.execute(queries["snapshot"])
    values: dict[str, Any] = {"space_id": space_id, "event_id": event_id}
    cursor = connection.cursor(row_factory=dict_row)
    event = await fetch_optional(cursor, queries["event"], values)
    if event is None:
        raise NotFound("Event")
    amount = (await show_amounts(connection, space_id, [event_id]))[event_id]
    event |= {"currency": amount.currency, "amount_in_space_currency": amount.in_space_currency}
    values["space_amount"] = amount.in_space_currency
    chosen_model = await _trained_model(connection, space_id, trained_model, event["event_name"])
    list_path = Attribution(
        "linear", window_days, ALL_IDS, by_company, chosen_model.weights if chosen_model else ()
    )
    credited = await _credits(connection, values, list_path)
    touches = {
        "space_id": space_id,
        "ids": sorted({touch for credit in credited.values() for touch in credit.listed}),
        "source_names": list((await fetch_sources(connection, space_id)).by_number),
        "paid": sorted(PAID_IDS),
    }
    path = await fetch_all(cursor, queries["touchpoints"], touches)
    within = credited["linear"].touches
    touched = within > 0 or await _is_touched(connection, values, by_company=by_company)
    return EventExplanation(event, path, max(0, within - len(path)), credited, touched, chosen_model)


async def _trained_model(
    connection: AsyncConnection, space_id: int, name: str | None, event_name: str
) -> ChosenModel | None:
    if name is None:
        return await find_current(connection, space_id, event_name)
    return await fetch_chosen(connection, space_id, ModelChoice(name, ()))


async def _is_touched(connection: AsyncConnection, event: dict[str, Any], *, by_company: bool) -> bool:
    lifetime = Attribution("last_touch", 0, ALL_IDS, by_company=by_company)
    statement = queries["any_touch"].format(rows=credited_rows(lifetime, _THIS_EVENT))
    row = await fetch_one(connection, statement, event | lifetime.parameters())
    return row[0]


async def _credits(
    connection: AsyncConnection, event: dict[str, Any], list_path: Attribution
) -> dict[str, Credits]:
    """Return the credits of all models, without trained ones if no model is trained."""
    attributions = {
        name: replace(list_path, model=name)
        for name, model in MODELS.items()
        if list_path.weights or not model.needs_training
    }
    statement = SQL(" UNION ALL ").join(
        queries["of_model"].format(
            model=Literal(name),
            credit=MODELS[name].credit,
            space_credit=MODELS[name].share.share_credit(SharedAmount.IN_SPACE_CURRENCY),
            rows=credited_rows(attribution, SQL("true"), queries["this_event"], amounts=BOTH_AMOUNTS),
        )
        for name, attribution in attributions.items()
    )
    bound: dict[str, Any] = {**event, "ends": MOST_PER_END}
    for attribution in attributions.values():
        bound |= attribution.parameters()
    credited = {name: Credits() for name in MODELS}
    cursor = await connection.execute(statement, bound, prepare=False)
    for model, touchpoint_id, credit, space_credit, touches in await cursor.fetchall():
        credited[model].listed[touchpoint_id] = credit
        credited[model].in_space_currency[touchpoint_id] = space_credit
        credited[model].touches = touches
    return credited
