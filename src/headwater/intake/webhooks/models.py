"""A webhook, a delivery to it, and the outcome of one."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from headwater.events.accepted import AcceptedEvent
from headwater.events.refunds.reports import AcceptedRefund


@dataclass(frozen=True)
class WebhookSettings:
    """The settings of reading one webhook's deliveries, besides those of its type."""

    signature_header: str | None = None
    """In lower case; of generic webhooks only, as each other type has its own header."""
    topic: str | None = None
    """The expression that finds the topic in a generic body."""
    events: dict[str, str] = field(default_factory=dict[str, str])
    """Topic to event name; with an empty name the topic is ignored."""
    mapping: dict[str, str] = field(default_factory=dict[str, str])
    """`field` or `field@topic` to an expression; an empty expression leaves the field out."""
    takes_tests: bool = False
    """True when test orders become events like any other."""


@dataclass(frozen=True)
class Webhook:
    """A webhook as people see it."""

    id: int
    type: str
    name: str
    hint: str
    """The last four characters of its URL."""
    signed: bool
    """True when deliveries have to carry a signature."""
    settings: WebhookSettings
    created_at: datetime
    paused_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True)
class ReadContext:
    """The type and settings by which a delivery is read."""

    type: str
    settings: WebhookSettings


@dataclass(frozen=True)
class WebhookRequest:
    """A delivery as it came in."""

    headers: dict[str, str]
    """By lower-case name; of a repeated header the first."""
    body: bytes
    received_at: float
    """Unix seconds."""


@dataclass(frozen=True)
class MappingInput:
    """The input of expressions: the body as a value, and the headers."""

    body: Any
    headers: dict[str, str]


class Status(StrEnum):
    """The status of a delivery."""

    ACCEPTED = "accepted"
    """It is an event now, or one that was there already."""
    IGNORED = "ignored"
    """Nothing is made of what it reports."""
    PAUSED = "paused"
    """It came while the webhook was paused, and is kept to be replayed."""
    REFUSED = "refused"
    """Its signature is missing or wrong, or it could not be read."""


@dataclass(frozen=True)
class WebhookOutcome:
    """The outcome of a delivery."""

    status: Status
    detail: str
    """In words, without any value of the body."""
    event: AcceptedEvent | None = None
    refund: AcceptedRefund | None = None
    """What it says of an order's money."""
    is_test: bool = False
    """True for a test order of which nothing is made."""
    errors: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Of a refused body: the rules that each field breaks."""


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


@dataclass(frozen=True)
class DeliverySummary:
    """The kept deliveries of a webhook: how many had each outcome, and the latest."""

    webhook_id: int
    accepted: int
    ignored: int
    paused: int
    refused: int
    replayable: int
    """Of those refused or paused, the ones whose body was kept."""
    tests: int
    """Of those ignored, the test orders."""
    received_at: datetime
    status: Status
    detail: str


class UnverifiedRequest(Exception):
    """The signature of a delivery is missing or wrong; the text says why."""
