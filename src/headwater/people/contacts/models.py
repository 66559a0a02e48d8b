"""Requests about contacts, parsed and validated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headwater.http.inputs.pagination import Position
from headwater.http.inputs.timerange import TimeRange
from headwater.people.contacts.filters import Condition


@dataclass(frozen=True)
class ContactSelection:
    """Conditions on contacts, for a list and for an export. All of them must hold."""

    created: TimeRange
    emails: tuple[str, ...]
    """Addresses, trimmed and lower-case, of which a contact has at least one; empty for all."""
    conditions: tuple[Condition, ...]
    name: str = ""
    """Part of a name that a contact has, in whatever case; empty for all."""


@dataclass(frozen=True)
class ContactRow:
    """Parts of a contact's row beside its id and primary values."""

    trk_tokens: bool = False
    emails: bool = False
    fields: Mapping[str, str] | None = None
    """The column of each profile field and its name in the row; None leaves the fields out."""
    times: bool = False
    """True when it tells when the contact was stored, and of its first and last event."""


@dataclass(frozen=True)
class ListContacts:
    """One page of a selection."""

    selection: ContactSelection
    row: ContactRow
    per_page: int
    at: Position | None
    """None for the first page."""


@dataclass(frozen=True)
class GetContact:
    """Parts of one contact beside its collections and filled fields."""

    labels: bool = False
    """True when fields appear under their labels."""
    trk_tokens: bool = False
    events: bool = False
    direct_touchpoints: bool = False
    """True when `events` includes them."""
    hits: bool = False


@dataclass(frozen=True)
class ListJourney:
    """One page of a contact's journey."""

    direct: bool
    """True when it includes direct touchpoints."""
    per_page: int
    at: Position | None = None
    """None for the first page."""
