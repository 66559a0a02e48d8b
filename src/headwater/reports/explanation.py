"""One event under every attribution model: its path, and the credit of each touchpoint. The credits
are those of List Events, from the same definition.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import dict_row
from psycopg.sql import SQL, Literal

from headwater.attribution.fits.choice import ChosenFit, FitChoice, fetch_chosen, find_current
from headwater.attribution.models import MODELS, SharedAmount
from headwater.attribution.query import BOTH_AMOUNTS, Attribution, credited_rows
from headwater.database.queries import Queries, fetch_all, fetch_one, fetch_optional
from headwater.events.space_amounts import show_amounts
from headwater.http.errors import NotFound
from headwater.reports.engine.chosen_events import NoCredit
from headwater.sources.catalogue import ALL_IDS, PAID_IDS
from headwater.spaces.networks import fetch_sources

queries = Queries(__name__, "explanation.sql")

MOST_PER_END = 100
"""The most touchpoints listed from either end of a path."""

NOT_FITTED = "not_fitted"
"""The reason why a data-driven model credits nothing before its first fit."""

_THIS_EVENT = SQL("e.id = %(event_id)s")


@dataclass
class Credits:
    """The credits of one model. A model that credits no touchpoint has none."""

    listed: dict[int, Decimal | None] = field(default_factory=dict[int, "Decimal | None"])
    """Touchpoint id → its part of the amount; None when the event has no amount."""
    in_space_currency: dict[int, Decimal | None] = field(default_factory=dict[int, "Decimal | None"])
    """The same of the amount in the Space's currency."""
    touches: int = 0
    """The number of credited touchpoints, those not listed included."""

    @property
    def left_out(self) -> int:
        return self.touches - len(self.listed)

    def amount_left_out(self, amount: Decimal | None) -> Decimal | None:
        """The part of the event's amount of unlisted touchpoints: all credits add up to it."""
        if amount is None:
            return None
        return amount - sum((part or Decimal() for part in self.listed.values()), Decimal())


@dataclass(frozen=True)
class EventExplanation:
    """The path to an event, and the credits of its touchpoints."""

    event: dict[str, Any]
    """`id, contact_id, contact_name, company_id, amount, event_name, event_time_utc, sender,
    currency, amount_in_space_currency`.
    """
    path: list[dict[str, Any]]
    """Its touchpoints in the window, the earliest first; of a long path both ends."""
    left_out: int
    """The number of touchpoints of the path that are not listed."""
    credits: dict[str, Credits]
    """The credits by model."""
    touched: bool
    """True when there is a touchpoint before the event, in the window or not."""
    fit: ChosenFit | None
    """The fit of models that go by one."""

    def unattributed_reason(self, model: str) -> str | None:
        """The reason for which a model credits nothing; None when it credits something."""
        if self.credits[model].touches:
            return None
        if self.credits["linear"].touches:
            lacks_fit = MODELS[model].is_fitted and self.fit is None
            return NOT_FITTED if lacks_fit else NoCredit.NOT_COUNTED
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
    fit: str | None = None,
) -> EventExplanation:
    """An event under every model, as of one moment; by the fit of a name, or the current one for
    the event's, if there is one. Needs a transaction that has executed nothing yet.

    Raises NotFound, and Invalid for a name that no fit has.
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
    chosen = await _fit(connection, space_id, fit, event["event_name"])
    path_of = Attribution("linear", window_days, ALL_IDS, by_company, chosen.weights if chosen else ())
    credited = await _credits(connection, values, path_of)
    touches = {
        "space_id": space_id,
        "ids": sorted({touch for part in credited.values() for touch in part.listed}),
        "source_names": list((await fetch_sources(connection, space_id)).by_number),
        "paid": sorted(PAID_IDS),
    }
    path = await fetch_all(cursor, queries["touchpoints"], touches)
    within = credited["linear"].touches
    touched = within > 0 or await _is_touched(connection, values, by_company=by_company)
    return EventExplanation(event, path, max(0, within - len(path)), credited, touched, chosen)


async def _fit(
    connection: AsyncConnection, space_id: int, name: str | None, event_name: str
) -> ChosenFit | None:
    if name is None:
        return await find_current(connection, space_id, event_name)
    return await fetch_chosen(connection, space_id, FitChoice(name, ()))


async def _is_touched(connection: AsyncConnection, event: dict[str, Any], *, by_company: bool) -> bool:
    lifetime = Attribution("last_touch", 0, ALL_IDS, by_company=by_company)
    statement = queries["any_touch"].format(rows=credited_rows(lifetime, _THIS_EVENT))
    row = await fetch_one(connection, statement, event | lifetime.parameters())
    return row[0]


async def _credits(
    connection: AsyncConnection, event: dict[str, Any], path_of: Attribution
) -> dict[str, Credits]:
    """The credits of every model on a path; without a fit, none of those that go by one."""
    attributions = {
        name: replace(path_of, model=name)
        for name, model in MODELS.items()
        if path_of.weights or not model.is_fitted
    }
    statement = SQL(" UNION ALL ").join(
        queries["of_model"].format(
            model=Literal(name),
            credit=MODELS[name].credit,
            space_credit=MODELS[name].share.credit_of(SharedAmount.IN_SPACE_CURRENCY),
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
