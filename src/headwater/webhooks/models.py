"""A webhook, a delivery to it, and what becomes of one."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from headwater.events.accepted import AcceptedEvent


@dataclass(frozen=True)
class WebhookSettings:
    """How one webhook's deliveries are read, beyond what its type says."""

    signature_header: str | None = None
    """Lower case; generic webhooks only, as the others' is known."""
    topic: str | None = None
    """Where a generic body says what happened, as an expression."""
    events: dict[str, str] = field(default_factory=dict[str, str])
    """Topic to event name; an empty one has the topic ignored."""
    mapping: dict[str, str] = field(default_factory=dict[str, str])
    """`field` or `field@topic` to an expression; an empty one leaves the field out."""


@dataclass(frozen=True)
class Webhook:
    """A webhook as people see it."""

    id: int
    type: str
    name: str
    hint: str
    """The last four characters of its URL."""
    signed: bool
    """Whether deliveries have to carry a signature."""
    settings: WebhookSettings
    created_at: datetime
    revoked_at: datetime | None


@dataclass(frozen=True)
class ReadContext:
    """What reading a delivery depends on."""

    type: str
    settings: WebhookSettings
    currency: str
    """The Space's; an amount in another one would be a wrong number."""


@dataclass(frozen=True)
class WebhookRequest:
    """A delivery as it came in."""

    headers: dict[str, str]
    """By lower-case name, of one given twice the first."""
    body: bytes
    received_at: float
    """Unix seconds."""


@dataclass(frozen=True)
class MappingInput:
    """What expressions look into: the body as a value, and the headers."""

    body: Any
    headers: dict[str, str]


class Status(StrEnum):
    """What became of a delivery."""

    ACCEPTED = "accepted"
    """It is an event now, or one that was there already."""
    IGNORED = "ignored"
    """Nothing is made of what it reports."""
    REFUSED = "refused"
    """It could not be believed, or not be read."""


@dataclass(frozen=True)
class WebhookOutcome:
    """What a delivery amounts to."""

    status: Status
    detail: str
    """In words, and without anything the body holds."""
    event: AcceptedEvent | None = None
    errors: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Of a refused body: what is wrong with each field."""


@dataclass(frozen=True)
class Delivery:
    """A delivery as it is kept."""

    id: int
    webhook_id: int
    received_at: datetime
    status: Status
    detail: str
    receipt_id: int | None
    dedup_key: str | None
    headers: dict[str, str]
    body: str | None


class UnverifiedRequest(Exception):
    """A delivery that nothing proves to be the sender's; says why."""
