"""Response bodies of the delivery endpoints."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from headwater.forwarding.platforms.models import DeliveryKind, FrozenCredit
from headwater.http.answers import DataList, DataPage, Instant


class DeliveryAnswer(Struct, frozen=True):
    """The delivery of an event to a destination."""

    id: int
    destination_id: int
    platform: str
    event_id: int
    kind: Annotated[
        DeliveryKind,
        Meta(
            description="A correction changes the amount that the platform has of an earlier conversion."
            " A credit is an attribution model's credit for one of the platform's clicks."
        ),
    ]
    event_name: Annotated[str | None, Meta(description="Null once the event is deleted.")]
    dedup_id: Annotated[str, Meta(description="The id that the platform deduplicates by.")]
    status: Literal["queued", "retrying", "delivered", "counted", "refused", "failed", "expired", "skipped"]
    reason: Annotated[
        str | None, Meta(description="Why it was skipped, or the platform's verdict refused or deferred it.")
    ]
    attempts: int
    due_at: Annotated[Instant | None, Meta(description="The next attempt; null when finished.")]
    touchpoint_id: Annotated[int | None, Meta(description="The touchpoint that was credited.")]
    http_status: int | None
    error: Annotated[str | None, Meta(description="The error of the last attempt.")]
    platform_request_id: Annotated[
        str | None, Meta(description="The platform's id of the request that it accepted.")
    ]
    sent_amount: Annotated[
        Decimal | None,
        Meta(description="The amount that the platform accepted; 0 for an event without an amount."),
    ]
    sent_currency: str | None
    credit: Annotated[FrozenCredit | None, Meta(description="What a credit says; null for other kinds.")]
    created_at: Instant
    finished_at: Instant | None


class DeliveryPage(DataPage[DeliveryAnswer], frozen=True):
    """One page of deliveries."""


class DeliveryList(DataList[DeliveryAnswer], frozen=True):
    """An event's deliveries."""


class DeliveryAttempt(Struct, frozen=True):
    """One attempt to deliver an event."""

    attempted_at: Instant
    outcome: str
    http_status: int | None
    error: str | None


class DeliveryDetail(DeliveryAnswer, frozen=True):
    """A delivery with its attempts, request and response."""

    request: Annotated[
        dict[str, Any] | None, Meta(description="The event's part of the request, without personal data.")
    ]
    answer: Annotated[str | None, Meta(description="The beginning of the platform's answer.")]
    history: list[DeliveryAttempt]


class ReplayResult(Struct, frozen=True):
    """The number of deliveries that were queued again."""

    queued: int
    too_old: Annotated[int, Meta(description="Not replayed: too old for the platform.")]
    more: Annotated[bool, Meta(description="Whether to send the request again for the rest.")]


class PreviewField(Struct, frozen=True):
    """A field that would be sent."""

    path: Annotated[
        str, Meta(description="In the event's part of the request, for example `user_data.em[0]`.")
    ]
    value: Annotated[str | int | float | bool | None, Meta(description="`[masked]` if it is personal.")]
    origin: Annotated[
        str | None, Meta(description="What a masked value is made from, for example `hashed email`.")
    ]


class MissingIdentifier(Struct, frozen=True):
    """Something that the platform would recognize the person by, but the event lacks."""

    name: Annotated[str, Meta(description="The event's field, or the parameter of a link.")]
    fields: Annotated[list[str], Meta(description="What would be sent with it.")]
    advice: str


class DeliveryPreview(Struct, frozen=True):
    """What would be sent to a destination for one event, if it were decided now. Nothing is sent."""

    destination_id: int
    platform: str
    event_id: int
    event_name: str
    event_time: Instant
    touchpoint_id: Annotated[int | None, Meta(description="The touchpoint that is credited.")]
    outcome: Literal["sent", "later", "skipped"]
    due_at: Annotated[Instant | None, Meta(description="When an event in the future would be sent.")]
    reason: Annotated[str | None, Meta(description="Why it would be skipped.")]
    meaning: Annotated[str | None, Meta(description="The reason in words.")]
    remedy: Annotated[str | None, Meta(description="What to do about the reason.")]
    fields: Annotated[
        list[PreviewField],
        Meta(description="Empty if it would be skipped, except for its age: then as sent in time."),
    ]
    missing: list[MissingIdentifier]
