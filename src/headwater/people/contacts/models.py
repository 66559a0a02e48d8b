"""Validated requests for contacts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec import Struct

from headwater.http.inputs.pagination import Position
from headwater.http.inputs.timerange import TimeRange
from headwater.people.contacts.filters import Condition


@dataclass(frozen=True)
class ContactSelection:
    """Conditions on contacts that must all hold, for a list or an export."""

    created: TimeRange
    emails: tuple[str, ...]
    """Trimmed and lower-case; a contact must have at least one. Empty for all."""
    conditions: tuple[Condition, ...]
    name: str = ""
    """Part of a name, case-insensitive; empty for all."""


@dataclass(frozen=True)
class ContactRow:
    """Data added to a row besides the id and primary values."""

    trk_tokens: bool = False
    emails: bool = False
    fields: Mapping[str, str] | None = None
    """Names in the row by column; None leaves out the custom fields."""
    times: bool = False
    """True to add when the contact was created, and its first and last event."""


@dataclass(frozen=True)
class ListContacts:
    selection: ContactSelection
    row: ContactRow
    per_page: int
    position: Position | None
    """None for the first page."""


class GetContact(Struct, frozen=True):
    labels: bool = False
    trk_tokens: bool = False
    events: bool = False
    direct_touchpoints: bool = False
    hits: bool = False


class ListJourney(Struct, frozen=True):
    direct: bool
    per_page: int
    position: Position | None = None
    """None for the first page."""
