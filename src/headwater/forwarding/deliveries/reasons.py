"""Delivery statuses and skip reasons in words."""

from __future__ import annotations

from typing import NamedTuple

from headwater.forwarding.platforms.models import SkipReason

STATUSES = {
    "queued": "waiting to be sent",
    "retrying": "failed for now, will be retried",
    "delivered": "accepted by the platform",
    "failed": "rejected by the platform",
    "expired": "not delivered in time",
    "skipped": "not sent",
}


class SkipMeaning(NamedTuple):
    meaning: str
    remedy: str | None
    """None without one to offer."""


REASONS = {
    SkipReason.DO_NOT_CAPI: SkipMeaning("the event is marked do_not_capi", None),
    SkipReason.NOT_ATTRIBUTED: SkipMeaning(
        "no ad of the platform is credited with it", "send it all events (all_events)"
    ),
    SkipReason.NO_MAPPING: SkipMeaning(
        "the platform has no such event", "choose one of its events (event_names), then replay"
    ),
    SkipReason.NO_IDENTIFIER: SkipMeaning(
        "it has no identifier that the platform could match", "send an email or a phone number with events"
    ),
    SkipReason.NO_CONSENT: SkipMeaning("consent was denied, and the platform has no field for that", None),
    SkipReason.TOO_OLD: SkipMeaning("the event is too old for the platform", None),
    SkipReason.NO_CURRENCY: SkipMeaning(
        "the amount has no currency", "set the currency of the Space, then replay"
    ),
    SkipReason.NO_AMOUNT: SkipMeaning(
        "the platform requires an amount for such events", "send an amount with the event"
    ),
    SkipReason.PAUSED: SkipMeaning("the destination was paused when it was stored", "replay it"),
    SkipReason.REMOVED: SkipMeaning("the destination was removed before it was sent", None),
    SkipReason.DELETED: SkipMeaning("the event was deleted before it was sent", None),
    SkipReason.REPLACED: SkipMeaning("an event from your server replaced the event from the page", None),
    SkipReason.ERASED: SkipMeaning("its person was erased before it was sent", None),
}
