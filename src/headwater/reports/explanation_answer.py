"""The explanation of an event as the API and assistants' tools answer it: its parameters, its JSON
and the schema of it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from headwater.attribution.fits.choice import CITATION_OR_NULL, FIT, cite
from headwater.attribution.models import MODELS
from headwater.events.parameters import QUERY_MODE
from headwater.http.inputs.parameters import Input
from headwater.http.openapi import (
    MOMENT,
    NUMBER_OR_NULL,
    TEXT,
    TEXT_OR_NULL,
    WHOLE,
    WHOLE_OR_NULL,
    Schema,
    object_schema,
)
from headwater.people.identity.senders import Sender
from headwater.reports.engine.chosen_events import NoCredit
from headwater.reports.explanation import NOT_FITTED, EventExplanation
from headwater.reports.questions.shared import WINDOW
from headwater.spaces.currencies import AMOUNT_SCHEMAS

PARAMETERS = (WINDOW, QUERY_MODE, FIT)
_ENCODER = msgspec.json.Encoder(decimal_format="number")


def read_path(query: Input) -> tuple[int, bool, str | None]:
    """The window in days of a path, whether it is a company's, and the name of the fit, if any.
    Raises Invalid.
    """
    window, mode, fit = WINDOW.read(query), QUERY_MODE.read(query), FIT.read(query)
    query.finish()
    return window or 0, mode == "company", fit


def encode_explanation(explanation: EventExplanation, window_days: int) -> bytes:
    """An explanation as JSON; amounts have all their decimals."""
    return _ENCODER.encode(
        {
            "event": explanation.event,
            "attribution_window": window_days,
            "path": explanation.path,
            "left_out": explanation.left_out,
            "models": [_model_credits(name, explanation) for name in MODELS],
            "fit": explanation.fit and cite(explanation.fit),
        }
    )


def _model_credits(model: str, explanation: EventExplanation) -> dict[str, Any]:
    of_model = explanation.credits[model]
    credited, left_out = of_model.listed, of_model.left_out
    reason = explanation.unattributed_reason(model)
    return {
        "model": model,
        "unattributed": reason is not None,
        "unattributed_reason": reason,
        "left_out": left_out,
        "left_out_amount": (of_model.amount_left_out(explanation.event["amount"]) if left_out else None),
        "credits": [
            {
                "touchpoint_id": touch["id"],
                "source": touch["source"],
                "amount": credited[touch["id"]],
                "amount_in_space_currency": of_model.in_space_currency[touch["id"]],
            }
            for touch in explanation.path
            if touch["id"] in credited
        ],
    }


_SENDER: Schema = {"enum": [*map(str, Sender), None], "description": "Who reported it."}
_EVENT = object_schema(
    {
        "id": WHOLE,
        "contact_id": WHOLE,
        "contact_name": {**TEXT_OR_NULL, "description": "The buyer's name, if one is known."},
        "company_id": WHOLE_OR_NULL,
        "amount": NUMBER_OR_NULL,
        "event_name": TEXT,
        "event_time_utc": MOMENT,
        "sender": _SENDER,
        **AMOUNT_SCHEMAS,
    }
)
_TOUCH = object_schema(
    {
        "id": WHOLE,
        "event_time_utc": MOMENT,
        "contact_id": WHOLE,
        "sender": _SENDER,
        "source": TEXT,
        "source_rule": {**TEXT, "description": "The rule that named the source."},
        "is_paid": {"type": "boolean"},
        "event_url": TEXT_OR_NULL,
        "referrer_host": TEXT_OR_NULL,
        "campaign_id": TEXT_OR_NULL,
        "campaign_name": TEXT_OR_NULL,
        "adset_id": TEXT_OR_NULL,
        "adset_name": TEXT_OR_NULL,
        "ad_id": TEXT_OR_NULL,
        "ad_name": TEXT_OR_NULL,
        "keyword": TEXT_OR_NULL,
    }
)
_MODEL = object_schema(
    {
        "model": {"type": "string", "enum": list(MODELS)},
        "unattributed": {"type": "boolean"},
        "unattributed_reason": {
            "enum": [*map(str, NoCredit), NOT_FITTED, None],
            "description": (
                "no_touch: no touchpoint before the event; outside_window: none of them in the "
                "window; not_counted: none that the model counts; not_fitted: no fit to go by."
            ),
        },
        "left_out": {**WHOLE, "description": "Credited touchpoints that are not listed."},
        "left_out_amount": {**NUMBER_OR_NULL, "description": "What those get together."},
        "credits": {
            "type": "array",
            "items": object_schema(
                {
                    "touchpoint_id": WHOLE,
                    "source": TEXT,
                    "amount": NUMBER_OR_NULL,
                    "amount_in_space_currency": NUMBER_OR_NULL,
                }
            ),
        },
    }
)
EXPLANATION = object_schema(
    {
        "event": _EVENT,
        "attribution_window": WHOLE,
        "path": {
            "type": "array",
            "items": _TOUCH,
            "description": "Touchpoints in the window, the earliest first; both ends of many.",
        },
        "left_out": {**WHOLE, "description": "Touchpoints of the path that are not listed."},
        "models": {"type": "array", "items": _MODEL},
        "fit": CITATION_OR_NULL,
    }
)
"""The JSON schema of the answer."""
