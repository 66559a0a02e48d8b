"""The body that asks for a fit, and fits as the API answers them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from headwater.attribution.fits.choice import PLAIN_NAME, moment_text
from headwater.attribution.fits.models import FEWEST_CONVERSIONS, FITTED_MODELS, Fit, FitRequest, FittedWeight
from headwater.attribution.models import WINDOWS
from headwater.http.errors import Invalid
from headwater.http.inputs.fields import BOOLEAN, REQUIRED, Schema, one_of, written
from headwater.http.inputs.objects import Property, object_of, parse_body
from headwater.http.inputs.timerange import parse_day, whole_days
from headwater.http.openapi import MOMENT, TEXT, WHOLE, object_schema
from headwater.spaces.models import Space

USUAL_WINDOW = 30


def _parse_day(text: str) -> date:
    return parse_day(text.strip())


_DAY = written({"type": "string", "format": "date", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}, _parse_day)
_REQUEST = object_of(
    {
        "name": Property(PLAIN_NAME, "What it is called; no other fit is.", missing=REQUIRED),
        "event_name": Property(PLAIN_NAME, "The events that are conversions.", missing=REQUIRED),
        "start_date": Property(_DAY, "The first day, on the Space's clock.", missing=REQUIRED),
        "end_date": Property(_DAY, "The last day.", missing=REQUIRED),
        "attribution_window": Property(
            one_of(WINDOWS), "The days before a conversion in which touchpoints count; 30."
        ),
        "current": Property(
            BOOLEAN, "True to go by it from now on; the first of an event name is current anyway."
        ),
    }
)


@dataclass(frozen=True)
class NamedRequest:
    """A fit that is asked for."""

    name: str
    request: FitRequest
    current: bool
    """True when it is to be gone by from then on."""


def read_fit_request(body: dict[str, Any], space: Space) -> NamedRequest:
    """The fit that a body asks for. Raises Invalid, naming every field at fault."""
    values = parse_body(_REQUEST, body)
    first, last = values["start_date"], values["end_date"]
    if last < first:
        raise Invalid.of("end_date", "must not be before start_date.")
    window = values.get("attribution_window", USUAL_WINDOW)
    time = whole_days(first, last, space.zone)
    request = FitRequest(values["event_name"], time, window)
    return NamedRequest(values["name"], request, values.get("current", False))


def fit_answer(fit: Fit, weights: Sequence[FittedWeight] | None = None) -> dict[str, Any]:
    """Return a fit as JSON has it, with its weights where they are given."""
    answer: dict[str, Any] = {
        "id": fit.id,
        "name": fit.name,
        "event_name": fit.event_name,
        "start_at": moment_text(fit.start_at),
        "end_at": moment_text(fit.end_at),
        "attribution_window": fit.window_days,
        "conversions": fit.conversions,
        "lost": fit.lost,
        "untouched": fit.untouched,
        "digest": fit.digest,
        "made_at": moment_text(fit.made_at),
        "current": fit.is_current,
    }
    if weights is not None:
        answer["weights"] = [
            {
                "model": each.model,
                "source": each.source,
                "weight": float(each.weight),
                "low": float(each.low),
                "high": float(each.high),
            }
            for each in weights
        ]
    return answer


BODY: Schema = _REQUEST.schema
_MEMBERS: dict[str, Schema] = {
    "id": WHOLE,
    "name": TEXT,
    "event_name": TEXT,
    "start_at": MOMENT,
    "end_at": {**MOMENT, "description": "The first instant after it."},
    "attribution_window": WHOLE,
    "conversions": {**WHOLE, "description": f"Those with a touchpoint; at least {FEWEST_CONVERSIONS}."},
    "lost": {**WHOLE, "description": "The contacts with touchpoints and no such conversion."},
    "untouched": {**WHOLE, "description": "The conversions without a touchpoint, left out."},
    "digest": {**TEXT, "description": "SHA-256 of what the weights follow from."},
    "made_at": MOMENT,
    "current": {"type": "boolean", "description": "True when credit goes by it, if none is named."},
}
_WEIGHT = object_schema(
    {
        "model": {"type": "string", "enum": list(FITTED_MODELS)},
        "source": TEXT,
        "weight": {"type": "number", "description": "Those of a model add up to 1."},
        "low": {"type": "number", "description": "From here to high is its interval of 95 %."},
        "high": {"type": "number"},
    }
)
LISTED = object_schema(_MEMBERS)
FIT = object_schema(
    {
        **_MEMBERS,
        "weights": {
            "type": "array",
            "items": _WEIGHT,
            "description": "Of both models, the largest of each first.",
        },
    }
)
