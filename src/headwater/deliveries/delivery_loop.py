"""Sending what waits for one destination: a call after the other, each with what is known when it
is made, and each written down before the next.

Killed anywhere, it leaves deliveries that still wait. What the platform had taken by then it is
told once more, under the same id.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
import structlog

from headwater.database.pool import UNAVAILABLE, Database
from headwater.deliveries import queue
from headwater.deliveries.conversions import load_waiting
from headwater.deliveries.eligibility import Later, PendingDelivery, Send, Skip, decide
from headwater.deliveries.queue import CallRecord, DeliveryRecord, DestinationLease, LeaseLostError
from headwater.deliveries.retry_policy import (
    CallContext,
    CallOutcome,
    DeliveryAttempt,
    DestinationHold,
    judge,
)
from headwater.deliveries.sent_values import personal_values
from headwater.destinations.credentials import open_secrets
from headwater.destinations.inputs import faults_of
from headwater.failpoints import failpoint
from headwater.masking import Mask
from headwater.platforms.models import Conversion, Destination
from headwater.platforms.platform import Platform
from headwater.platforms.platform_client import PlatformCall, PlatformClient
from headwater.spaces.encryption import Unsealable

BEAT_SECONDS = 5.0
MOST_EVENTS = 1_000
"""In one call, whatever the platform takes: all are in memory."""

log = structlog.get_logger()


@dataclass(frozen=True)
class DeliveryServices:
    """What sending needs."""

    database: Database
    caller: PlatformClient
    platforms: Mapping[str, Platform]
    urls: Mapping[str, str]
    """Platform → the origin of its interface."""
    sealing_key: bytes
    clock: Callable[[], float]
    """Unix seconds. Due times are its; leases go by the database's."""
    random: Callable[[], float] = field(default=random.random)


class _Part(NamedTuple):
    """A delivery that is sent, and its part of the call."""

    waiting: PendingDelivery
    conversion: Conversion
    part: dict[str, Any]
    redacted: dict[str, Any] | None
    """The part as it is kept."""


class DeliveryLoop:
    """Sends to one destination until nothing is due, it has to wait, or somebody says stop."""

    def __init__(
        self, tools: DeliveryServices, lease: DestinationLease, stopping: asyncio.Event
    ) -> None:
        self._tools, self._lease, self._stopping = tools, lease, stopping

    async def run(self) -> None:
        """Send what is due, and give the lease back."""
        beating = asyncio.create_task(self._beat())
        try:
            await self._work()
        except LeaseLostError:
            log.warning("destination lease lost", **self._lease.place._asdict())
        finally:
            beating.cancel()
            with suppress(*UNAVAILABLE):  # it then runs out
                async with self._tools.database.connection() as connection:
                    await queue.give_back(connection, self._lease)

    async def _work(self) -> None:
        size = 0
        while not self._stopping.is_set():
            now = self._tools.clock()
            async with self._tools.database.connection() as connection:
                held = await queue.keep(connection, self._lease, now)
                if held is None:
                    return
                turn = self._turn(held)
                if isinstance(turn, DestinationHold):
                    await self._write(CallRecord(now, [], destination=turn))
                    return
                most = min(turn.platform.limits.batch, MOST_EVENTS)
                # After a failure one event finds out whether it is over; then ever more.
                size = min(size * 2 or (1 if held.failures else most), most)
                ids = await queue.next_ids(
                    connection, self._lease, now, size, probing=size < most or held.failures > 0
                )  # fmt: skip
            if not ids or not await self._send_all(turn, ids):
                return

    def _turn(self, held: queue.LeasedDestination) -> _Turn | DestinationHold:
        """What to send with, or why it cannot be sent to."""
        place, platform = self._lease.place, self._tools.platforms.get(held.platform)
        if platform is None:
            return DestinationHold("This version of Headwater does not know the platform.")
        try:
            settings = msgspec.convert(held.settings, platform.settings)
            secrets = open_secrets(self._tools.sealing_key, *place, held.secrets)
        except msgspec.ValidationError:
            faults = faults_of(platform, held.settings)
            return DestinationHold(f"The settings have to be given anew. {faults}")
        except Unsealable:
            return DestinationHold(
                "The tokens have to be given anew: they cannot be read any more."
            )
        destination = Destination(
            space_id=place.space_id,
            id=place.id,
            platform=platform.name,
            url=self._tools.urls.get(platform.name, platform.url),
            settings=settings,
            secrets=secrets,
            event_names=held.event_names,
            all_events=held.all_events,
        )
        return _Turn(platform, destination, held.failures)

    async def _send_all(self, turn: _Turn, ids: list[int]) -> bool:
        """Send deliveries in as many calls as it takes. Returns whether to go on."""
        groups = [ids]
        while groups:
            consequences = await self._send(turn, groups.pop(0))
            if consequences.destination is not None:
                return False
            if self._stopping.is_set():
                return False
            if consequences.after or consequences.again:
                turn = turn._replace(failures=0)
            groups = consequences.again + groups
        return True

    async def _send(self, turn: _Turn, ids: Sequence[int]) -> CallOutcome:
        """One call with what of these deliveries is still to be sent, and what came of it."""
        now = self._tools.clock()
        place = self._lease.place
        async with self._tools.database.connection() as connection:
            waiting = await load_waiting(connection, place.space_id, place.id, ids)
        parts, settled = _prepare(waiting, turn, now)
        if settled:
            await self._write(CallRecord(now, settled, called=False))
        if not parts:
            return CallOutcome()
        count = max(1, turn.platform.fits([each.part for each in parts]))
        parts, later = parts[:count], parts[count:]
        failpoint("forward_before_send")
        sent = [each.part for each in parts]
        called = await self._tools.caller.call(turn.platform, turn.destination, sent, now)
        failpoint("forward_after_send")
        now = self._tools.clock()
        header = called.answer.headers.get("retry-after") if called.answer else None
        around = CallContext(now, turn.failures, header, self._tools.random)
        tried = [
            DeliveryAttempt(
                each.waiting.id, each.waiting.attempts, each.waiting.ends_at(turn.platform)
            )
            for each in parts
        ]
        consequences = judge(called.verdict, tried, around)
        await self._write(_report(now, turn, parts, called, consequences))
        if later:
            consequences.again.append([each.waiting.id for each in later])
        return consequences

    async def _write(self, report: CallRecord) -> None:
        place = self._lease.place._asdict()
        async with self._tools.database.transaction() as connection:
            turn = await queue.record(connection, self._lease, report)
            failpoint("forward_before_commit")
        if turn == "held" and isinstance(report.destination, DestinationHold):
            log.warning("destination held", reason=report.destination.reason, **place)
        elif turn == "recovered":
            log.warning("destination recovered", **place)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            with suppress(*UNAVAILABLE):
                async with self._tools.database.connection() as connection:
                    await queue.beat(connection, self._lease)


class _Turn(NamedTuple):
    """A destination as it is for some calls."""

    platform: Platform
    destination: Destination
    failures: int


def _prepare(
    waiting: Sequence[PendingDelivery], turn: _Turn, now: float
) -> tuple[list[_Part], list[DeliveryRecord]]:
    """The parts of a call, and what is not sent."""
    parts: list[_Part] = []
    settled: list[DeliveryRecord] = []
    for each in waiting:
        decision = decide(each, turn.platform, turn.destination, now)
        if isinstance(decision, Send):
            try:
                part = turn.platform.build(decision.conversion, turn.destination)
            except Exception:  # one that nobody has thought of must not stop the others
                log.exception("conversion not built", platform=turn.platform.name, delivery=each.id)
                error = "An internal error: its part of the call could not be made."
                settled.append(DeliveryRecord(id=each.id, status="failed", error=error))
                continue
            redacted = _redacted(turn.platform, part)
            parts.append(_Part(each, decision.conversion, part, redacted))
        elif isinstance(decision, Skip):
            settled.append(DeliveryRecord(id=each.id, status="skipped", reason=decision.reason))
        elif isinstance(decision, Later):
            settled.append(DeliveryRecord(id=each.id, due_at=decision.at))
        else:
            settled.append(
                DeliveryRecord(id=each.id, status="expired", error="It has become too old.")
            )
    return parts, settled


def _report(
    now: float, turn: _Turn, parts: Sequence[_Part], called: PlatformCall, consequences: CallOutcome
) -> CallRecord:
    mask = _mask_of(turn, parts, called)
    # Where nobody answered, the words are our own and name no more than the host.
    fit = mask.without_values if called.answer is None else mask.text
    state = consequences.destination
    if isinstance(state, DestinationHold):
        state = DestinationHold(fit(state.reason))
        entries = [
            _entry(each, error=state.reason, outcome="held") for each in parts
        ]  # fmt: skip
    else:
        by_id = {each.waiting.id: each for each in parts}
        entries = [
            _entry(
                by_id[after.id], status=after.status, outcome=after.status, tried=1,
                due_at=after.due_at,
                error=None if after.error is None else fit(after.error),
            )
            for after in consequences.after
        ]  # fmt: skip
    answer = called.answer
    return CallRecord(
        now,
        entries,
        http_status=None if answer is None else answer.status,
        answer=None if answer is None else mask.answer(answer.body),
        destination=state,
    )


def _mask_of(turn: _Turn, parts: Sequence[_Part], called: PlatformCall) -> Mask:
    """What masks everything that the platform may quote of a call."""
    values = {*turn.destination.secrets.values(), called.token or ""}
    for each in parts:
        values.update(personal_values(each.conversion, each.part, each.redacted))
    return Mask(values, turn.platform.quotes)


def _entry(each: _Part, **told: Any) -> DeliveryRecord:
    click = each.conversion.click
    return DeliveryRecord(
        id=each.waiting.id,
        request=each.redacted,
        touchpoint_id=None if click is None else click.touchpoint_id,
        **told,
    )


def _redacted(platform: Platform, part: dict[str, Any]) -> dict[str, Any] | None:
    try:
        return platform.redact(part)
    except Exception:  # what was sent has to be written down, or it would be sent for ever
        log.exception("part not redacted", platform=platform.name)
        return None
