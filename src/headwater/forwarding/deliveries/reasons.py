"""Delivery statuses and skip reasons in words, with remedies."""

from __future__ import annotations

from typing import NamedTuple

from headwater.forwarding.platforms.models import SkipReason

STATUSES = {
    "queued": "waits to be sent",
    "retrying": "did not arrive, and will be sent again",
    "delivered": "the platform took it",
    "failed": "the platform rejected it",
    "expired": "it could not be delivered in time",
    "skipped": "it is not sent",
}


class SkipMeaning(NamedTuple):
    meaning: str
    remedy: str | None
    """None if there is none to offer."""


REASONS = {
    SkipReason.DO_NOT_CAPI: SkipMeaning("the event says that no ad platform may have it", None),
    SkipReason.NOT_ATTRIBUTED: SkipMeaning(
        "no ad of the platform is credited with it", "send it all events (all_events)"
    ),
    SkipReason.NO_MAPPING: SkipMeaning(
        "neither the destination nor the platform has a name for it",
        "give it a name (event_names), then replay",
    ),
    SkipReason.NO_IDENTIFIER: SkipMeaning(
        "it has no identifier that the platform could match", "send an e-mail or a phone number with events"
    ),
    SkipReason.NO_CONSENT: SkipMeaning(
        "consent was denied, and the platform has no way to be informed", None
    ),
    SkipReason.TOO_OLD: SkipMeaning("the platform takes no events of this age", None),
    SkipReason.NO_CURRENCY: SkipMeaning(
        "there is an amount without a currency", "set the currency of the Space, then replay"
    ),
    SkipReason.NO_AMOUNT: SkipMeaning(
        "the platform takes such events only with an amount", "send an amount with the event"
    ),
    SkipReason.PAUSED: SkipMeaning("the destination was paused when it was stored", "replay it"),
    SkipReason.REMOVED: SkipMeaning("the destination was removed before it was sent", None),
    SkipReason.DELETED: SkipMeaning("the event was deleted before it was sent", None),
    SkipReason.REPLACED: SkipMeaning(
        "what the business reported took the place of what a page had reported", None
    ),
    SkipReason.ERASED: SkipMeaning("its person was erased before it was sent", None),
}
