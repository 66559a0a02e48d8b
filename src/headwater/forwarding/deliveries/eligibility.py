"""Decide whether to send a delivery, with opt-outs, erasures and changes until now. Pure."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from headwater.forwarding.platforms.models import (
    ClickCredit,
    Conversion,
    Correction,
    DeliveryKind,
    Destination,
    FirstAttempt,
    SkipReason,
)
from headwater.forwarding.platforms.platform import Platform

RETRY_SECONDS = 72 * 3600.0
"""Time limit for retries."""
AGE_MARGIN = 60.0
"""Stop sending this many seconds before a platform's age limit, because calls take time. Likewise for future
events, because clocks differ.
"""


class PendingDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """A waiting delivery with the event's current data."""

    id: int
    kind: DeliveryKind = "conversion"
    attempts: int
    queued_at: float
    """Unix seconds."""
    conversion: Conversion | None
    """None if deleted. Its click is the last paid touch on any platform."""
    do_not_capi: bool = False
    erased: bool = False
    """Erased, or to be erased."""
    correction: Correction | None = None
    """None while its conversion is not known to be accepted."""
    credit: ClickCredit | None = None
    first_attempt: FirstAttempt | None = None
    """None if the platform knows our ids, or does not have the conversion."""

    def too_old_at(self, platform: Platform) -> float:
        assert self.conversion is not None
        age = platform.limits.age
        special = {"correction": platform.corrections, "credit": platform.credits}.get(self.kind)
        if special is not None:
            age = min(age, special.age)
        return self.conversion.event_time / 1000 + age - AGE_MARGIN

    def ends_at(self, platform: Platform) -> float:
        too_old = self.too_old_at(platform)
        return min(max(self.queued_at, self.sendable_at(platform)) + RETRY_SECONDS, too_old)

    def sendable_at(self, platform: Platform) -> float:
        assert self.conversion is not None
        return self.conversion.event_time / 1000 - max(platform.limits.future - AGE_MARGIN, 0)


class Skip(NamedTuple):
    """Don't send, unless replayed."""

    reason: SkipReason


class Expired(NamedTuple):
    """The event became too old while retrying."""


class Later(NamedTuple):
    """Decide again at this Unix time: the event is in the future."""

    at: float


class Send(NamedTuple):
    conversion: Conversion


Decision = Skip | Expired | Later | Send


def decide(
    delivery: PendingDelivery, platform: Platform, destination: Destination, current_time: float
) -> Decision:
    if delivery.conversion is None:
        return Skip(SkipReason.DELETED)
    if delivery.kind == "correction":
        return _decide_correction(delivery, platform, destination, current_time)
    conversion = keep_credited_click(delivery.conversion, platform)
    if delivery.kind == "credit":
        conversion = _drop_other_clicks(conversion, platform)
    reason = _find_exclusion(delivery, conversion, platform, destination)
    if reason is not None:
        return Skip(reason)
    if current_time > delivery.too_old_at(platform):
        return Expired() if delivery.attempts else Skip(SkipReason.TOO_OLD)
    reason = platform.skip_reason(conversion, destination)
    is_new = delivery.kind == "conversion" and delivery.first_attempt is None
    if reason is None and is_new and platform.sends_credit_only(destination):
        reason = SkipReason.SENT_AS_CREDIT
    if reason is not None:
        return Skip(reason)
    sendable_at = delivery.sendable_at(platform)
    return Send(conversion) if current_time >= sendable_at else Later(sendable_at)


def _decide_correction(
    delivery: PendingDelivery, platform: Platform, destination: Destination, current_time: float
) -> Decision:
    """A correction goes where its conversion went: elsewhere, it would count as a new one. It also goes if
    the worth is again what the platform is known to have: an earlier attempt may have changed that.
    """
    correction, conversion = delivery.correction, delivery.conversion
    if correction is None or conversion is None:
        return Skip(SkipReason.SAME_AMOUNT)
    account = f"{platform.find_account(destination)}/"
    if correction.place is None or not correction.place.startswith(account):
        return Skip(SkipReason.OTHER_ACCOUNT)
    if delivery.erased or delivery.do_not_capi:
        return Skip(SkipReason.ERASED if delivery.erased else SkipReason.DO_NOT_CAPI)
    if current_time > delivery.too_old_at(platform):
        return Expired() if delivery.attempts else Skip(SkipReason.TOO_OLD)
    currency = correction.currency or correction.held_currency
    conversion = msgspec.structs.replace(
        conversion, amount=correction.amount, currency=currency, sent_name=correction.place[len(account) :]
    )
    reason = platform.skip_correction(conversion, destination)
    return Send(conversion) if reason is None else Skip(reason)


def _find_exclusion(
    delivery: PendingDelivery, conversion: Conversion, platform: Platform, destination: Destination
) -> SkipReason | None:
    if delivery.erased:
        return SkipReason.ERASED
    if delivery.do_not_capi:
        return SkipReason.DO_NOT_CAPI
    if conversion.amount is not None and conversion.amount < 0:
        return SkipReason.REFUND
    if platform.sent_as(conversion.event_name, destination.event_names, conversion.configured_name) is None:
        return SkipReason.NO_MAPPING
    needs_click = delivery.kind == "credit" or not destination.all_events
    if needs_click and conversion.click is None and delivery.first_attempt is None:
        return SkipReason.NOT_ATTRIBUTED
    return None


def keep_credited_click(conversion: Conversion, platform: Platform) -> Conversion:
    """Remove another platform's click: the last paid touch counts."""
    if conversion.click is None or conversion.click.source in platform.sources:
        return conversion
    return msgspec.structs.replace(conversion, click=None)


def _drop_other_clicks(conversion: Conversion, platform: Platform) -> Conversion:
    """Remove click ids and cookies of the event itself, which may belong to a later click."""
    if platform.credits is None:
        return conversion
    ids = platform.credits.ids
    return msgspec.structs.replace(
        conversion,
        cookies={name: value for name, value in conversion.cookies.items() if name not in ids},
        url_click_ids={name: value for name, value in conversion.url_click_ids.items() if name not in ids},
    )
