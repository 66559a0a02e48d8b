from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from msgspec import Struct

from headwater.events.accepted import AcceptedEvent
from headwater.events.refunds.reports import AcceptedRefund


@dataclass(frozen=True)
class WebhookSettings:
    """A webhook's own settings, added to the settings of its type."""

    signature_header: str | None = None
    """In lower case; only for generic webhooks."""
    topic: str | None = None
    """Finds the topic of a generic body."""
    events: dict[str, str] = field(default_factory=dict[str, str])
    """By topic; an empty event name ignores it."""
    mapping: dict[str, str] = field(default_factory=dict[str, str])
    """By `field` or `field@topic`; an empty expression omits the field."""
    takes_tests: bool = False
    """Count test orders."""


@dataclass(frozen=True)
class Webhook:
    id: int
    type: str
    name: str
    hint: str
    """The last four characters of its URL."""
    signed: bool
    """Whether deliveries must be signed."""
    settings: WebhookSettings
    created_at: datetime
    paused_at: datetime | None
    revoked_at: datetime | None


class ReadContext(Struct, frozen=True):
    type: str
    settings: WebhookSettings


@dataclass(frozen=True)
class WebhookRequest:
    headers: dict[str, str]
    """By lower-case name; the first of repeated headers."""
    body: bytes
    received_at: float
    """Unix seconds."""


class MappingInput(Struct, frozen=True):
    """The body and headers that expressions read."""

    body: Any
    headers: dict[str, str]


class Status(StrEnum):
    ACCEPTED = "accepted"
    """Its event is accepted, or a duplicate."""
    IGNORED = "ignored"
    """It creates nothing."""
    PAUSED = "paused"
    """Stored while paused, to be replayed."""
    REFUSED = "refused"
    """Unverified or unreadable."""


@dataclass(frozen=True)
class WebhookOutcome:
    status: Status
    detail: str
    """Contains no values of the body."""
    event: AcceptedEvent | None = None
    refund: AcceptedRefund | None = None
    """The order's refund."""
    is_test: bool = False
    """A test order that isn't counted."""
    errors: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """By field, for a refused body."""


@dataclass(frozen=True)
class Delivery:
    """A stored delivery."""

    id: int
    webhook_id: int
    received_at: datetime
    status: Status
    detail: str
    receipt_id: int | None
    dedup_key: str | None
    headers: dict[str, str]
    body: str | None


class DeliverySummary(Struct, frozen=True):
    """Counts of stored deliveries, and the latest one."""

    webhook_id: int
    accepted: int
    ignored: int
    paused: int
    refused: int
    replayable: int
    """Refused or paused, with a body."""
    tests: int
    """Ignored test orders."""
    received_at: datetime
    status: Status
    detail: str


class UnverifiedRequest(Exception):
    """The signature is missing or wrong."""
