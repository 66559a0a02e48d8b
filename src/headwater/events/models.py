"""Validated requests for stored events."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from msgspec import Struct

from headwater.attribution.query import Attribution
from headwater.attribution.trained_models.choice import ModelChoice
from headwater.http.inputs.pagination import Position
from headwater.http.inputs.timerange import TimeRange
from headwater.people.contacts.filters import Condition
from headwater.sources.source_names import SHIPPED_ALONE, SourceNames


@dataclass(frozen=True)
class EventSelection:
    time: TimeRange
    event_names: tuple[str, ...]
    attribution: Attribution | None
    """None for one row per event; otherwise one row per credited touchpoint."""
    conditions: tuple[Condition, ...]
    fields: tuple[str, ...]
    """Names in events/fields.py, complete and in row order."""
    amount_min: Decimal | None = None
    amount_max: Decimal | None = None
    """Inclusive bounds of the whole event's amount. Events without an amount never match."""
    trained_model: ModelChoice | None = None
    """The training run of a data-driven model."""
    sources: SourceNames = SHIPPED_ALONE


@dataclass(frozen=True)
class ListEvents:
    selection: EventSelection
    per_page: int
    position: Position | None
    by_amount: bool = False
    """True for largest amounts first, without events that have no amount; otherwise newest first."""


class EventChange(Struct, frozen=True):
    amount: Decimal | None
    """At least 0, with at most 4 decimals; None clears it."""
