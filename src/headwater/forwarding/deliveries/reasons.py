"""Delivery statuses, skip reasons and platforms' reasons of refusals in words."""

from __future__ import annotations

from headwater.forwarding.platforms.models import SkipReason
from headwater.forwarding.platforms.registry import PLATFORMS
from headwater.forwarding.platforms.verdicts import OTHER, ReasonMeaning

STATUSES = {
    "queued": "waiting to be sent",
    "retrying": "failed for now, will be retried",
    "delivered": "accepted by the platform",
    "counted": "processed by the platform",
    "refused": "rejected by the platform after it accepted the request",
    "failed": "rejected by the platform",
    "expired": "not delivered in time",
    "skipped": "not sent",
}


_SKIP_REASONS = {
    SkipReason.DO_NOT_CAPI: ReasonMeaning("the event is marked do_not_capi", None),
    SkipReason.NOT_ATTRIBUTED: ReasonMeaning(
        "no ad of the platform is credited with it", "send it all events (all_events)"
    ),
    SkipReason.NO_MAPPING: ReasonMeaning(
        "the platform has no such event", "choose one of its events (event_names), then replay"
    ),
    SkipReason.NO_IDENTIFIER: ReasonMeaning(
        "it has no identifier that the platform could match", "send an email or a phone number with events"
    ),
    SkipReason.NO_CONSENT: ReasonMeaning("consent was denied, and the platform has no field for that", None),
    SkipReason.TOO_OLD: ReasonMeaning("the event is too old for the platform", None),
    SkipReason.NO_CURRENCY: ReasonMeaning(
        "the amount has no currency", "set the currency of the Space, then replay"
    ),
    SkipReason.NO_AMOUNT: ReasonMeaning(
        "the platform requires an amount for such events", "send an amount with the event"
    ),
    SkipReason.REFUND: ReasonMeaning("a refund is sent as a correction of its order", None),
    SkipReason.SENT_AS_CREDIT: ReasonMeaning(
        "the credit of each of the platform's clicks is sent instead", None
    ),
    SkipReason.SAME_AMOUNT: ReasonMeaning("the conversion is sent again first", None),
    SkipReason.OTHER_ACCOUNT: ReasonMeaning(
        "the conversion was sent to another account of the platform", "set that account again, then replay"
    ),
    SkipReason.PAUSED: ReasonMeaning("the destination was paused when the event was stored", "replay it"),
    SkipReason.REMOVED: ReasonMeaning("the destination was removed before the event was sent", None),
    SkipReason.DELETED: ReasonMeaning("the event was deleted before it was sent", None),
    SkipReason.REPLACED: ReasonMeaning("an event from your server replaced the event from the page", None),
    SkipReason.ERASED: ReasonMeaning("the person was erased before the event was sent", None),
}

VERDICT_REASONS: dict[str, ReasonMeaning] = {
    **{
        name: meaning for platform in PLATFORMS.values() for name, meaning in platform.verdict_reasons.items()
    },
    OTHER: ReasonMeaning("the platform gave another reason", "see the error"),
}
REFUSAL_REASONS = tuple(name for name, meaning in VERDICT_REASONS.items() if meaning.outcome == "refused")
REASONS: dict[str, ReasonMeaning] = {
    str(name): meaning for name, meaning in _SKIP_REASONS.items()
} | VERDICT_REASONS
