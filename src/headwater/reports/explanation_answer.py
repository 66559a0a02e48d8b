"""Parameters and API answer of an event's explanation."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from msgspec import Meta, Struct

from headwater.attribution.models import MODELS
from headwater.attribution.trained_models.choice import TRAINED_MODEL, TrainedModelCitation, cite
from headwater.events.parameters import QUERY_MODE
from headwater.http.answers import Moment
from headwater.http.inputs.parameters import Input
from headwater.people.identity.senders import Sender
from headwater.reports.engine.chosen_events import NoCredit
from headwater.reports.explanation import NOT_TRAINED, EventExplanation
from headwater.reports.questions.shared import WINDOW
from headwater.spaces.currencies import IN_SPACE_CURRENCY, AmountCurrency

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
    of_model = explanation.credits[model]
    credited, left_out = of_model.listed, of_model.left_out
    reason = explanation.unattributed_reason(model)
    return ModelCredits(
        model=model,
        unattributed=reason is not None,
        unattributed_reason=reason,
        left_out=left_out,
        left_out_amount=of_model.amount_left_out(explanation.event["amount"]) if left_out else None,
        credits=[
            TouchpointCredit(
                touch["id"], touch["source"], credited[touch["id"]], of_model.in_space_currency[touch["id"]]
            )
            for touch in explanation.path
            if touch["id"] in credited
        ],
    )
