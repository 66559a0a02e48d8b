"""Requests about stored events, parsed and validated."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from headwater.attribution.fits.choice import FitChoice
from headwater.attribution.query import Attribution
from headwater.http.inputs.pagination import Position
from headwater.http.inputs.timerange import TimeRange
from headwater.people.contacts.filters import Condition
from headwater.sources.source_names import SHIPPED_ALONE, SourceNames


@dataclass(frozen=True)
class EventSelection:
    """Conditions on events and the fields of their rows, for a list and for an export."""

    time: TimeRange
    event_names: tuple[str, ...]
    """Empty for all."""
    attribution: Attribution | None
    """None lists each event once; else a row is a credited touchpoint."""
    conditions: tuple[Condition, ...]
    fields: tuple[str, ...]
    """Names in events/fields.py, complete and in the order of the row."""
    amount_min: Decimal | None = None
    amount_max: Decimal | None = None
    """Bounds of the whole event's amount, included; an event without an amount meets none."""
    fit: FitChoice | None = None
    """The fit to use, for a data-driven model."""
    sources: SourceNames = SHIPPED_ALONE
    """The names of the Space's sources, which rows show."""


@dataclass(frozen=True)
class ListEvents:
    """One page of a selection."""

    selection: EventSelection
    per_page: int
    at: Position | None
    """None for the first page."""
    by_amount: bool = False
    """True for the largest amounts first, without events that have none; else the newest first."""


@dataclass(frozen=True)
class EventChange:
    """A change to an event."""

    amount: Decimal | None
    """At least 0, with at most 4 decimals; None clears it."""
