"""What can be asked of contacts, parsed and free of doubt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headwater.contacts.filters import Condition
from headwater.http.pagination import Position
from headwater.http.timerange import TimeRange


@dataclass(frozen=True)
class ContactSelection:
    """Which contacts: what a list and an export have in common. All of it must hold."""

    created: TimeRange
    emails: tuple[str, ...]
    """Addresses, trimmed and lower-case, of which a contact has at least one; empty for all."""
    conditions: tuple[Condition, ...]


@dataclass(frozen=True)
class ContactRow:
    """What the row of a contact shows beside its id and primary values."""

    trk_tokens: bool = False
    emails: bool = False
    fields: Mapping[str, str] | None = None
    """Each profile field's column and the name it is shown under; None shows none of them."""


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
    """What is shown of one contact beside its collections and filled fields."""

    labels: bool = False
    """Whether fields are shown under their labels."""
    trk_tokens: bool = False
    events: bool = False
    direct_touchpoints: bool = False
    """Whether `events` has them."""
    hits: bool = False
