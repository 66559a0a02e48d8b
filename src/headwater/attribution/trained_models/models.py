"""Trained models: their inputs and results."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from msgspec import Struct

from headwater.attribution.trained_models.choice import ModelIdentity
from headwater.http.inputs.timerange import TimeRange


class TrainingRequest(Struct, frozen=True):
    event_name: str
    """The conversions."""
    time: TimeRange
    window_days: int
    """One of WINDOWS."""


@dataclass(frozen=True)
class TrainedWeight:
    model: str
    source: str
    weight: Decimal
    """From 0 to 1; the weights of a model add up to 1."""
    low: Decimal
    high: Decimal


@dataclass(frozen=True)
class TrainedModel(ModelIdentity):
    """Counted journeys of a period, and the sources' weights by model."""

    lost: int
    """Contacts with touchpoints and no conversion."""
    untouched: int
    """Conversions without a touchpoint, left out."""
    counts: dict[str, Any]
    """The basis of all weights: `transitions` from a source or `start` to a source, `conversion` or `null`,
    with counts; `source_sets`, the distinct sources before conversions, with counts.
    """
    made_at: datetime
    is_current: bool
    """True if its event name's default."""
