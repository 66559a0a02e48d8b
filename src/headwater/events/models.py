"""What can be asked of stored events, parsed and free of doubt."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from headwater.attribution.query import Attribution
from headwater.contacts.filters import Condition
from headwater.http.pagination import Position
from headwater.http.timerange import TimeRange


@dataclass(frozen=True)
class EventSelection:
    """Which events, and what is shown of each: what a list and an export have in common."""

    time: TimeRange
    event_names: tuple[str, ...]
    """Empty for all."""
    attribution: Attribution | None
    """None lists each event once; else a row is a credited touchpoint."""
    conditions: tuple[Condition, ...]
    fields: tuple[str, ...]
    """Names in events/fields.py, complete and in the order they are shown."""


@dataclass(frozen=True)
class ListEvents:
    """One page of a selection."""

    selection: EventSelection
    per_page: int
    at: Position | None
    """None for the first page."""


@dataclass(frozen=True)
class EventChange:
    """What to change of an event."""

    amount: Decimal | None
    """At least 0, with at most 4 decimals; None clears it."""
