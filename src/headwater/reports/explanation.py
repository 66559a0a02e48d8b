"""One event under every attribution model: its path and each touchpoint's credit, computed like List
Events.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Annotated, Any

from msgspec import Meta, Struct
from psycopg import AsyncConnection
from psycopg.rows import dict_row
from psycopg.sql import SQL, Literal

from headwater.attribution.models import MODELS, SharedAmount
from headwater.attribution.query import BOTH_AMOUNTS, Attribution, credited_rows
from headwater.attribution.trained_models.choice import (
    TRAINED_MODEL,
    ChosenModel,
    ModelChoice,
    TrainedModelCitation,
    cite,
    fetch_chosen,
    find_current,
)
from headwater.database.queries import Queries, fetch_all, fetch_one, fetch_optional
from headwater.events.filters import QUERY_MODE
from headwater.events.space_amounts import show_amounts
from headwater.http.answers import Moment
from headwater.http.errors import require_found
from headwater.http.inputs.parameters import Input
from headwater.people.identity.senders import Sender
from headwater.reports.engine.chosen_events import NoCredit
from headwater.reports.questions.shared import WINDOW
from headwater.sources.catalogue import ALL_IDS, PAID_IDS
from headwater.spaces.currencies import IN_SPACE_CURRENCY, AmountCurrency
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

    amounts: dict[int, Decimal | None] = field(default_factory=dict[int, "Decimal | None"])
    """Parts of the amount by touchpoint id; None without an amount."""
    in_space_currency: dict[int, Decimal | None] = field(default_factory=dict[int, "Decimal | None"])
    """The same in the Space's currency."""
    touches: int = 0
    """Credited touchpoints, including unlisted ones."""

    @property
    def left_out(self) -> int:
        return self.touches - len(self.amounts)

    def amount_left_out(self, amount: Decimal | None) -> Decimal | None:
        """Return unlisted touchpoints' credit; all credits add up to the amount."""
        if amount is None:
            return None
        return amount - sum((credit or Decimal() for credit in self.amounts.values()), Decimal())


class EventExplanation(Struct, frozen=True):
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
    event = require_found(await fetch_optional(cursor, queries["event"], values), "Event")
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
        "ids": sorted({touch for credit in credited.values() for touch in credit.amounts}),
        "source_names": list((await fetch_sources(connection, space_id)).by_number),
        "paid": sorted(PAID_IDS),
    }
    path = await fetch_all(cursor, queries["touchpoints"], touches)
    touches_in_window = credited["linear"].touches
    is_touched = touches_in_window > 0 or await _is_touched(connection, values, by_company=by_company)
    return EventExplanation(
        event, path, max(0, touches_in_window - len(path)), credited, is_touched, chosen_model
    )


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
        credited[model].amounts[touchpoint_id] = credit
        credited[model].in_space_currency[touchpoint_id] = space_credit
        credited[model].touches = touches
    return credited


PARAMETERS = (WINDOW, QUERY_MODE, TRAINED_MODEL)


Reporter = Annotated[
    str | None,
    Meta(extra_json_schema={"enum": [*map(str, Sender), None]}, description="The connection that sent it."),
]


class ExplainedEvent(Struct, frozen=True):
    """The event of an explanation."""

    id: int
    contact_id: int
    contact_name: Annotated[str | None, Meta(description="The buyer's name, if known.")]
    company_id: int | None
    amount: Decimal | None
    event_name: str
    event_time_utc: Moment
    sender: Reporter
    currency: AmountCurrency
    amount_in_space_currency: Annotated[Decimal | None, Meta(description=IN_SPACE_CURRENCY)]


class ExplainedTouchpoint(Struct, frozen=True):
    """A touchpoint on the path to an event."""

    id: int
    event_time_utc: Moment
    contact_id: int
    sender: Reporter
    source: str
    source_rule: Annotated[str, Meta(description="The rule that named the source.")]
    is_paid: bool
    event_url: str | None
    referrer_host: str | None
    campaign_id: str | None
    campaign_name: str | None
    adset_id: str | None
    adset_name: str | None
    ad_id: str | None
    ad_name: str | None
    keyword: str | None


class TouchpointCredit(Struct, frozen=True):
    """The credit of a touchpoint under one model."""

    touchpoint_id: int
    source: str
    amount: Decimal | None
    amount_in_space_currency: Decimal | None


class ModelCredits(Struct, frozen=True):
    """The credits of an event under one attribution model."""

    model: Annotated[str, Meta(extra_json_schema={"enum": list(MODELS)})]
    unattributed: bool
    unattributed_reason: Annotated[
        str | None,
        Meta(
            extra_json_schema={"enum": [*map(str, NoCredit), NOT_TRAINED, None]},
            description="no_touch: no touchpoint before the event; outside_window: none in the window; "
            "not_counted: none that the model counts; not_trained: no trained model for the event.",
        ),
    ]
    left_out: Annotated[int, Meta(description="Credited touchpoints that are not listed.")]
    left_out_amount: Annotated[Decimal | None, Meta(description="Their credit together.")]
    credits: list[TouchpointCredit]


class AttributionExplanation(Struct, frozen=True):
    """An event's path, and its credits under every attribution model."""

    event: ExplainedEvent
    attribution_window: Annotated[int, Meta(description="In days.")]
    path: Annotated[
        list[ExplainedTouchpoint],
        Meta(description="Touchpoints in the window, earliest first; of many, both ends."),
    ]
    left_out: Annotated[int, Meta(description="Touchpoints of the path that are not listed.")]
    models: list[ModelCredits]
    trained_model: TrainedModelCitation | None


def read_path(query: Input) -> tuple[int, bool, str | None]:
    """Read the window in days, whether by company, and the trained model. Raises Invalid."""
    window, mode, trained_model = WINDOW.read(query), QUERY_MODE.read(query), TRAINED_MODEL.read(query)
    query.finish()
    return window or 0, mode == "company", trained_model


def describe_explanation(explanation: EventExplanation, window_days: int) -> AttributionExplanation:
    return AttributionExplanation(
        event=ExplainedEvent(**explanation.event),
        attribution_window=window_days,
        path=[ExplainedTouchpoint(**touch) for touch in explanation.path],
        left_out=explanation.left_out,
        models=[_model_credits(name, explanation) for name in MODELS],
        trained_model=explanation.trained_model and cite(explanation.trained_model),
    )


def _model_credits(model: str, explanation: EventExplanation) -> ModelCredits:
    model_credit = explanation.credits[model]
    credited, left_out = model_credit.amounts, model_credit.left_out
    reason = explanation.unattributed_reason(model)
    return ModelCredits(
        model=model,
        unattributed=reason is not None,
        unattributed_reason=reason,
        left_out=left_out,
        left_out_amount=model_credit.amount_left_out(explanation.event["amount"]) if left_out else None,
        credits=[
            TouchpointCredit(
                touch["id"],
                touch["source"],
                credited[touch["id"]],
                model_credit.in_space_currency[touch["id"]],
            )
            for touch in explanation.path
            if touch["id"] in credited
        ],
    )
