"""Send a destination's deliveries, one call at a time, recorded before the next.

After a crash, deliveries that the platform already accepted are sent again with the same id.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec
import structlog
from psycopg import AsyncConnection

from headwater.base.failpoints import failpoint
from headwater.base.masking import Mask
from headwater.base.telemetry.spans import span
from headwater.database.jobs.lease import LeaseLostError
from headwater.database.pool import UNAVAILABLE, Database
from headwater.forwarding.deliveries import queue
from headwater.forwarding.deliveries.conversions import load_waiting
from headwater.forwarding.deliveries.corrections import correct_ended
from headwater.forwarding.deliveries.counters import call_seconds, count_call, count_deliveries
from headwater.forwarding.deliveries.credits import queue_credits
from headwater.forwarding.deliveries.delivery_counts import forget_old_counts
from headwater.forwarding.deliveries.eligibility import Later, PendingDelivery, Send, Skip, decide
from headwater.forwarding.deliveries.first_attempts import (
    keep_first_attempts,
    list_first_attempts,
    repeat_first_attempt,
)
from headwater.forwarding.deliveries.queue import AcceptedRequest, CallRecord, DeliveryRecord
from headwater.forwarding.deliveries.retry_policy import (
    CallContext,
    CallOutcome,
    DeliveryAttempt,
    DestinationSuspension,
    judge,
)
from headwater.forwarding.deliveries.sent_values import personal_values
from headwater.forwarding.deliveries.verdicts import VerdictReader
from headwater.forwarding.destinations import leases
from headwater.forwarding.destinations.credentials import unseal_destination
from headwater.forwarding.destinations.inputs import settings_problems
from headwater.forwarding.destinations.leases import DestinationLease, LeasedDestination
from headwater.forwarding.platforms.models import Conversion, Destination, SkipReason
from headwater.forwarding.platforms.platform import Platform
from headwater.forwarding.platforms.platform_client import CallContents, PlatformCall, PlatformClient
from headwater.spaces.encryption import Unsealable

MOST_EVENTS = 1_000
"""Per call, to bound memory."""

log = structlog.get_logger()


@dataclass(frozen=True)
class DeliveryServices:
    database: Database
    caller: PlatformClient
    platforms: Mapping[str, Platform]
    urls: Mapping[str, str]
    """By platform, the origin of its API."""
    sealing_key: bytes
    clock: Callable[[], float]
    """Unix seconds for due times; leases use the database's clock."""
    random: Callable[[], float] = field(default=random.random)


class _Target(NamedTuple):
    platform: Platform
    destination: Destination
    failures: int
    """Consecutive failures of whole calls."""
    secrets_version: int


class _Part(NamedTuple):
    """A delivery and its part of the call."""

    pending: PendingDelivery
    conversion: Conversion
    content: dict[str, Any]
    redacted: dict[str, Any] | None
    """The content to store."""
    place: str
    """The account and name that it is sent to."""


class DeliveryLoop:
    """Runs until nothing is due, the destination must wait, or the process stops."""

    def __init__(self, services: DeliveryServices, lease: DestinationLease, stopping: asyncio.Event) -> None:
        self._services, self._lease, self._stopping = services, lease, stopping
        self._verdicts = VerdictReader(services.database, services.caller, lease)

    async def run(self) -> None:
        """Send due deliveries, then read due verdicts, and release the lease."""
        try:
            async with leases.keep_renewing(self._services.database, self._lease):
                await self._work()
        except LeaseLostError:
            log.warning("destination lease lost", **self._lease.key._asdict())
        finally:
            with suppress(*UNAVAILABLE):  # it expires instead
                async with self._services.database.connection() as connection:
                    await leases.release_lease(connection, self._lease)
                    await forget_old_counts(connection, *self._lease.key)

    async def _work(self) -> None:
        size = 0
        while not self._stopping.is_set():
            current_time = self._services.clock()
            async with self._services.database.connection() as connection:
                leased_destination = await leases.keep_lease(connection, self._lease, current_time)
                if leased_destination is None:
                    return
                target = self._open(leased_destination)
                if isinstance(target, DestinationSuspension):
                    await self._write(
                        leased_destination.platform,
                        CallRecord(
                            current_time,
                            [],
                            destination=target,
                            secrets_version=leased_destination.secrets_version,
                        ),
                    )
                    return
                failures, batch_size = (
                    leased_destination.failures,
                    min(target.platform.limits.batch, MOST_EVENTS),
                )
                # After a failure, probe with one event; then batches grow.
                size = min(size * 2 or (1 if failures else batch_size), batch_size)
                probing = size < batch_size or failures > 0
                ids = await queue.next_ids(connection, self._lease, current_time, size, probing=probing)
            if ids:
                goes_on = await self._send_all(target, ids)
            else:
                goes_on = await self._verdicts.read_next(target.platform, target.destination, current_time)
            if not goes_on:
                return

    def _open(self, leased: LeasedDestination) -> _Target | DestinationSuspension:
        """Return why it is suspended, if so."""
        key, platform = self._lease.key, self._services.platforms.get(leased.platform)
        if platform is None:
            return DestinationSuspension("This version of Headwater does not know the platform.")
        url = self._services.urls.get(platform.name, platform.url)
        try:
            destination = unseal_destination(self._services.sealing_key, key, leased, platform, url)
        except msgspec.ValidationError:
            return DestinationSuspension(
                f"Enter the settings again. {settings_problems(platform, leased.settings)}"
            )
        except Unsealable:
            return DestinationSuspension(
                "Enter the tokens again: the stored ones can no longer be decrypted."
            )
        return _Target(platform, destination, leased.failures, leased.secrets_version)

    async def _send_all(self, target: _Target, ids: list[int]) -> bool:
        """Return whether to continue."""
        groups = [ids]
        while groups:
            ids = groups.pop(0)
            attributes = {
                "headwater.platform": target.platform.name,
                "headwater.space_id": self._lease.key.space_id,
                "headwater.destination_id": self._lease.key.id,
                "headwater.forwarding.deliveries": len(ids),
            }
            with span("delivery", attributes):
                outcome = await self._send(target, ids)
            if outcome.destination is not None or self._stopping.is_set():
                return False
            if outcome.results or outcome.resend:
                target = target._replace(failures=0)
            groups = outcome.resend + groups
        return True

    async def _send(self, target: _Target, ids: Sequence[int]) -> CallOutcome:
        """Make one call with deliveries still waiting."""
        current_time = self._services.clock()
        key, platform = self._lease.key, target.platform
        async with self._services.database.connection() as connection:
            waiting_deliveries = await load_waiting(connection, key.space_id, key.id, ids)
        parts, settled_records = _prepare(waiting_deliveries, target, current_time)
        if settled_records:
            await self._write(platform.name, CallRecord(current_time, settled_records, called=False), target)
        if not parts:
            return CallOutcome()
        parts, later_parts = _take_call(parts, platform)
        sent_pairs = ((content_part.pending, content_part.conversion) for content_part in parts)
        first_attempts = list_first_attempts(sent_pairs, platform, target.destination)
        await keep_first_attempts(self._services.database, self._lease, first_attempts)
        failpoint("forward_before_send")
        contents = CallContents([content_part.content for content_part in parts], parts[0].pending.kind)
        with call_seconds.labels(platform.name).time():
            call = await self._services.caller.call(platform, target.destination, contents, current_time)
        count_call(platform.name, call.answer.status if call.answer else None)
        failpoint("forward_after_send")
        current_time = self._services.clock()
        outcome = self._judge(call, target, parts, current_time)
        await self._write(platform.name, _call_record(current_time, target, parts, call, outcome), target)
        if later_parts:
            outcome.resend.append([content_part.pending.id for content_part in later_parts])
        return outcome

    def _judge(
        self, call: PlatformCall, target: _Target, parts: Sequence[_Part], current_time: float
    ) -> CallOutcome:
        retry_after = call.answer.headers.get("retry-after") if call.answer else None
        context = CallContext(current_time, target.failures, retry_after, self._services.random)
        attempts = [
            DeliveryAttempt(
                content_part.pending.id,
                content_part.pending.attempts,
                content_part.pending.ends_at(target.platform),
            )
            for content_part in parts
        ]
        return judge(call.verdict, attempts, context)

    async def _write(self, platform: str, call: CallRecord, called: _Target | None = None) -> None:
        key = self._lease.key._asdict()
        async with self._services.database.transaction() as connection:
            change = await queue.record(connection, self._lease, call)
            if called is not None:
                await _queue_later(connection, called, call)
            failpoint("forward_before_commit")
        count_deliveries(platform, call.deliveries)
        if change == "held" and isinstance(call.destination, DestinationSuspension):
            log.warning("destination held", reason=call.destination.reason, **key)
        elif change == "recovered":
            log.warning("destination recovered", **key)


def _prepare(
    waiting: Sequence[PendingDelivery], target: _Target, current_time: float
) -> tuple[list[_Part], list[DeliveryRecord]]:
    """Return a call's parts, and deliveries not to send."""
    parts: list[_Part] = []
    settled_records: list[DeliveryRecord] = []
    for delivery in (
        repeat_first_attempt(waiting_delivery, target.platform, target.destination)
        for waiting_delivery in waiting
    ):
        decision = decide(delivery, target.platform, target.destination, current_time)
        if isinstance(decision, Send):
            content_part = _build(delivery, decision.conversion, target, current_time)
            if isinstance(content_part, _Part):
                parts.append(content_part)
            else:
                settled_records.append(content_part)
        elif isinstance(decision, Skip):
            settled_records.append(DeliveryRecord(id=delivery.id, status="skipped", reason=decision.reason))
        elif isinstance(decision, Later):
            settled_records.append(DeliveryRecord(id=delivery.id, due_at=decision.at))
        else:
            error = "The event became too old."
            settled_records.append(DeliveryRecord(id=delivery.id, status="expired", error=error))
    return parts, settled_records


def _take_call(parts: Sequence[_Part], platform: Platform) -> tuple[Sequence[_Part], Sequence[_Part]]:
    """Return the parts of one call, and the rest."""
    if platform.corrections is not None and platform.corrections.are_separate:
        parts = sorted(parts, key=lambda part: part.pending.kind != parts[0].pending.kind)
        kind_count = sum(part.pending.kind == parts[0].pending.kind for part in parts)
    else:
        kind_count = len(parts)
    count = max(1, platform.count_fitting([content_part.content for content_part in parts[:kind_count]]))
    return parts[:count], parts[count:]


def _build(
    delivery: PendingDelivery, conversion: Conversion, target: _Target, current_time: float
) -> _Part | DeliveryRecord:
    platform, destination = target.platform, target.destination
    try:
        if delivery.kind == "correction":
            content = platform.build_correction(conversion, destination, current_time)
        elif delivery.kind == "credit":
            assert delivery.credit is not None
            content = platform.build_credit(conversion, destination, delivery.credit)
        else:
            content = platform.build(conversion, destination)
    except Exception:  # an unforeseen conversion must not stop the others
        log.exception("conversion not built", platform=platform.name, delivery=delivery.id)
        error = "Internal error: the event could not be prepared."
        return DeliveryRecord(id=delivery.id, status="failed", error=error)
    place = platform.find_place(conversion, destination)
    return _Part(delivery, conversion, content, _redact(platform, content), place)


def _redact(platform: Platform, content: dict[str, Any]) -> dict[str, Any] | None:
    try:
        return platform.redact(content)
    except Exception:  # an unrecorded delivery would be sent forever
        log.exception("part not redacted", platform=platform.name)
        return None


def _call_record(
    current_time: float, target: _Target, parts: Sequence[_Part], call: PlatformCall, outcome: CallOutcome
) -> CallRecord:
    mask = _make_mask(target, parts, call)
    # Without a response, the error contains at most the host.
    mask_text = mask.without_values if call.answer is None else mask.text
    state = outcome.destination
    if isinstance(state, DestinationSuspension):
        state = DestinationSuspension(mask_text(state.reason))
        deliveries = [
            _delivery_record(content_part, error=state.reason, outcome="held") for content_part in parts
        ]
    else:
        by_id = {content_part.pending.id: content_part for content_part in parts}
        deliveries = [
            _delivery_record(
                by_id[result.id],
                status=result.status,
                outcome=result.status,
                tried=1,
                due_at=result.due_at,
                error=None if result.error is None else mask_text(result.error),
            )
            for result in outcome.results
        ]
    answer = call.answer
    return CallRecord(
        current_time,
        deliveries,
        http_status=None if answer is None else answer.status,
        answer=None if answer is None else mask.answer(answer.body),
        destination=state,
        secrets_version=target.secrets_version,
        accepted=_find_accepted(target, parts, call, deliveries),
    )


async def _queue_later(connection: AsyncConnection, target: _Target, call: CallRecord) -> None:
    """Queue what follows from a call's deliveries: corrections and credit."""
    platform, destination = target.platform, target.destination
    if platform.corrections is not None:
        await correct_ended(connection, destination, call.list_ended(platform.corrections.accepted))
    accepted_ids = [delivery.id for delivery in call.deliveries if delivery.status == "delivered"]
    replaced_ids = [
        delivery.id for delivery in call.deliveries if delivery.reason == SkipReason.SENT_AS_CREDIT
    ]
    credited_ids = replaced_ids if platform.sends_credit_only(destination) else accepted_ids
    await queue_credits(connection, platform, destination, credited_ids, call.now)


def _find_accepted(
    target: _Target, parts: Sequence[_Part], call: PlatformCall, deliveries: Sequence[DeliveryRecord]
) -> AcceptedRequest | None:
    """Return the request to ask for verdicts, in the order of its events."""
    was_accepted = any(delivery.status == "delivered" for delivery in deliveries)
    if call.request_id is None or target.destination.test or not was_accepted:
        return None
    return AcceptedRequest(call.request_id, [content_part.pending.id for content_part in parts])


def _make_mask(target: _Target, parts: Sequence[_Part], call: PlatformCall) -> Mask:
    values = {*target.destination.secrets.values(), call.token or ""}
    for content_part in parts:
        values.update(personal_values(content_part.conversion, content_part.content, content_part.redacted))
    return Mask(values, target.platform.quoted_fields)


def _delivery_record(content_part: _Part, **state: Any) -> DeliveryRecord:
    pending, conversion = content_part.pending, content_part.conversion
    amount = conversion.amount
    if amount is None and pending.kind == "conversion":  # only a correction without one takes an event back
        amount = Decimal(0)
    return DeliveryRecord(
        id=pending.id,
        request=content_part.redacted,
        touchpoint_id=conversion.touchpoint_id,
        first_attempt=pending.first_attempt,
        sent_amount=amount,
        sent_currency=conversion.currency,
        sent_to=content_part.place,
        **state,
    )
