"""Response bodies of the endpoints that accept events and touchpoints."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from headwater.intake.ingest.forms import MOST_WARNINGS
from headwater.people.identity.senders import Sender

Warnings = (
    Annotated[
        list[str],
        Meta(
            max_length=MOST_WARNINGS,
            description="Unknown fields, with the nearest known names. At most 10; absent without any.",
        ),
    ]
    | UnsetType
)


class Accepted(Struct, frozen=True):
    """Queued and durable; not yet processed."""

    status: Literal[202]
    message: str
    warnings: Warnings = UNSET


class ItemResult(Struct, frozen=True):
    """The result of one item of a batch."""

    index: int
    status: Literal["queued", "invalid"]
    warnings: Warnings = UNSET
    receipt_id: str | UnsetType = UNSET
    errors: dict[str, list[str]] | UnsetType = UNSET


class BatchAccepted(Struct, frozen=True):
    """Valid items are queued and durable; not yet processed."""

    status: Literal[202]
    message: str
    results: list[ItemResult]


class Receipt(Struct, frozen=True):
    """The outcome of an accepted event."""

    id: str
    status: Literal["queued", "stored", "duplicate", "rejected"]
    event_id: str | None
    reason: str | None
    sender: Annotated[str | None, Meta(extra_json_schema={"enum": [*map(str, Sender), None]})]
    warnings: Annotated[
        list[str], Meta(description="Ignored fields, and values that cannot identify a contact.")
    ]
