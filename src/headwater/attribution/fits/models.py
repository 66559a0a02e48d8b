"""Fits: their inputs and their results."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from headwater.http.inputs.timerange import TimeRange

BILLION = 10**9
MARKOV, SHAPLEY = "markov", "shapley_distinct"
FITTED_MODELS = (MARKOV, SHAPLEY)
FEWEST_CONVERSIONS = 300
"""With a touchpoint: with fewer, intervals are so wide that weights say nothing."""


@dataclass(frozen=True)
class FitRequest:
    """The journeys from which a fit is computed."""

    event_name: str
    """The conversions."""
    time: TimeRange
    window_days: int
    """One of attribution's WINDOWS."""


@dataclass(frozen=True)
class FittedWeight:
    """The weight of a source by a data-driven model, and its interval of 95 %."""

    model: str
    source: str
    weight: Decimal
    """From 0 to 1; the weights of a model add up to 1."""
    low: Decimal
    high: Decimal


@dataclass(frozen=True)
class Fit:
    """A snapshot: the journeys of a time, counted, and the weights of sources by each model."""

    id: int
    name: str
    event_name: str
    start_at: datetime
    end_at: datetime
    """The first instant after it."""
    window_days: int
    conversions: int
    """Those with a touchpoint."""
    lost: int
    """The contacts with touchpoints and without such a conversion."""
    untouched: int
    """The conversions without a touchpoint, which are left out."""
    counts: dict[str, Any]
    """All that weights follow from: `transitions`, each from a source or `start` to a source,
    `conversion` or `null`, and how often; `source_sets`, the distinct sources before a conversion,
    and how many conversions had these.
    """
    digest: str
    """The SHA-256 of the request and the counts, in hexadecimal."""
    made_at: datetime
    is_current: bool
    """True when the Space uses it for its event name by default."""
