"""The request body for training a model."""

from __future__ import annotations

from datetime import date
from typing import Any

from msgspec import Struct

from headwater.attribution.models import WINDOWS
from headwater.attribution.trained_models.choice import PLAIN_NAME
from headwater.attribution.trained_models.models import TrainingRequest
from headwater.http.errors import Invalid
from headwater.http.inputs.fields import BOOLEAN, REQUIRED, one_of, written
from headwater.http.inputs.objects import Property, object_of, parse_body
from headwater.http.inputs.timerange import parse_day, whole_days
from headwater.spaces.models import Space

USUAL_WINDOW = 30


def _parse_day(text: str) -> date:
    return parse_day(text.strip())


_DAY = written({"type": "string", "format": "date", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}, _parse_day)
TRAINING_REQUEST = object_of(
    {
        "name": Property(PLAIN_NAME, "Unique in the Space.", missing=REQUIRED),
        "event_name": Property(PLAIN_NAME, "The events that are conversions.", missing=REQUIRED),
        "start_date": Property(_DAY, "The first day, on the Space's clock.", missing=REQUIRED),
        "end_date": Property(_DAY, "The last day.", missing=REQUIRED),
        "attribution_window": Property(
            one_of(WINDOWS), "Days before a conversion that touchpoints count; 30 by default."
        ),
        "current": Property(
            BOOLEAN, "True to use it from now on; the first trained model of an event name is current anyway."
        ),
    }
)


class NamedRequest(Struct, frozen=True):
    name: str
    request: TrainingRequest
    current: bool


def read_training_request(body: dict[str, Any], space: Space) -> NamedRequest:
    """Raise Invalid with every broken rule."""
    values = parse_body(TRAINING_REQUEST, body)
    first, last = values["start_date"], values["end_date"]
    if last < first:
        raise Invalid.of("end_date", "must not be before start_date.")
    window = values.get("attribution_window", USUAL_WINDOW)
    time = whole_days(first, last, space.zone)
    request = TrainingRequest(values["event_name"], time, window)
    return NamedRequest(values["name"], request, values.get("current", False))
