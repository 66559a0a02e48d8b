"""Fetch platforms' verdicts on the events of accepted requests, and write them on the deliveries.

Only a delivery that still has the request's id gets its verdict, so a replay is never overwritten.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import structlog
from psycopg import AsyncConnection

from headwater.base.failpoints import failpoint
from headwater.base.masking import Mask
from headwater.database.bulk_values import rows
from headwater.database.jobs.backoff import climb
from headwater.database.pool import Database
from headwater.database.queries import Queries, fetch_all, fetch_optional
from headwater.forwarding.deliveries.corrections import correct_ended
from headwater.forwarding.deliveries.counters import count_deliveries
from headwater.forwarding.deliveries.eligibility import AGE_MARGIN
from headwater.forwarding.deliveries.queue import DeliveryRecord
from headwater.forwarding.deliveries.retry_policy import CallContext, read_retry_after, step_after
from headwater.forwarding.destinations import leases
from headwater.forwarding.destinations.leases import DestinationLease
from headwater.forwarding.platforms.models import Destination
from headwater.forwarding.platforms.platform import DAY, Platform
from headwater.forwarding.platforms.platform_client import PlatformClient
from headwater.forwarding.platforms.verdicts import (
    EventVerdict,
    VerdictAnswer,
    Verdicts,
    VerdictsDeferred,
    VerdictsPending,
    VerdictsUnavailable,
)

queries = Queries(__name__, "verdicts.sql")

HOUR = 3600.0
LADDER = (HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, DAY)
"""Seconds until the next question, by number of questions while the platform was processing."""
PAUSE = HOUR / 2
"""Seconds after the platform could not be asked."""
LONGEST = 14 * DAY
"""Seconds after sending when to give up."""
SHORTEST_RETRY = 6 * HOUR
"""Platforms need hours for what they ask to be sent again later."""

log = structlog.get_logger()


class _Awaiting(NamedTuple):
    """A delivery without a verdict."""

    id: int
    request: dict[str, Any] | None
    attempts: int
    event_time: float | None
    """In Unix seconds, None if the event is deleted."""


@dataclass(frozen=True)
class _Request:
    id: str
    asked_count: int
    deliveries: dict[int, _Awaiting]
    """By position."""


@dataclass(frozen=True)
class VerdictReader:
    """Reads the verdicts of a leased destination."""

    database: Database
    client: PlatformClient
    lease: DestinationLease

    async def read_next(self, platform: Platform, destination: Destination, current_time: float) -> bool:
        """Fetch one request's verdicts. Return whether to look for another. Raises LeaseLostError."""
        async with self.database.connection() as connection:
            request = await self._load_due(connection, current_time)
        if request is None:
            return False
        answer: VerdictAnswer = Verdicts({})
        if request.deliveries:
            parts = {position: delivery.request for position, delivery in request.deliveries.items()}
            answer = await self.client.fetch_verdicts(platform, destination, request.id, parts, current_time)
        records = list(_make_records(request, answer, platform, destination, current_time))
        async with self.database.transaction() as connection:
            await leases.lock_leased(connection, self.lease)
            ended_ids = await self._schedule(connection, request, answer, current_time)
            ended_deliveries = await self._lock(connection, ended_ids)
            # None have ended if the request went with its destination meanwhile: nothing could be sent again.
            records = [record for record in records if record.id in ended_ids]
            written_records = await self._write(connection, request.id, records, current_time)
            await correct_ended(connection, destination, ended_deliveries)
            failpoint("forward_before_commit")
        count_deliveries(platform.name, written_records)
        if isinstance(answer, VerdictsUnavailable):
            log.warning("no verdicts on a request", platform=platform.name, **self.lease.key._asdict())
        return not isinstance(answer, VerdictsDeferred)

    async def _load_due(self, connection: AsyncConnection, current_time: float) -> _Request | None:
        values = {**self.lease.values(), "now": current_time}
        row = await fetch_optional(connection, queries["due"], values)
        if row is None:
            return None
        request_id, ids, question_count = row
        request_values = {**values, "request_id": request_id, "ids": ids}
        awaiting_by_id = {
            row[0]: _Awaiting(*row)
            for row in await fetch_all(connection, queries["awaiting"], request_values)
        }
        positions = {
            position: awaiting_by_id[number]
            for position, number in enumerate(ids)
            if number in awaiting_by_id
        }
        return _Request(request_id, question_count, positions)

    async def _lock(self, connection: AsyncConnection, delivery_ids: Sequence[int]) -> list[DeliveryRecord]:
        values = {**self.lease.values(), "ids": delivery_ids}
        return [
            DeliveryRecord(id=number, sent_amount=amount, sent_currency=currency)
            for number, amount, currency in await fetch_all(connection, queries["lock"], values)
        ]

    async def _write(
        self,
        connection: AsyncConnection,
        request_id: str,
        records: Sequence[DeliveryRecord],
        current_time: float,
    ) -> list[DeliveryRecord]:
        """Return those that changed their status."""
        if not records:
            return []
        values = {**self.lease.values(), "request_id": request_id, "now": current_time, "rows": rows(records)}
        cursor = await connection.execute(queries["write"], values)
        written_ids = {number for number, status in await cursor.fetchall() if status != "delivered"}
        changed_records = [record for record in records if record.id in written_ids]
        if logged_records := [record for record in changed_records if record.status != "counted"]:
            await connection.execute(queries["log"], {**values, "rows": rows(logged_records)})
        return changed_records

    async def _schedule(
        self, connection: AsyncConnection, request: _Request, answer: VerdictAnswer, current_time: float
    ) -> list[int]:
        """Return the deliveries that wait for no verdict from now on."""
        values = {**self.lease.values(), "request_id": request.id, "now": current_time, "longest": LONGEST}
        is_final = False
        match answer:
            case VerdictsPending():
                until = current_time + climb(LADDER, request.asked_count + 1)
                await connection.execute(queries["postpone"], values | {"until": until})
            case VerdictsDeferred(retry_after):
                until = current_time + CallContext(current_time).pause(
                    PAUSE, read_retry_after(retry_after, current_time)
                )
                await connection.execute(queries["postpone_due"], values | {"until": until})
            case Verdicts() | VerdictsUnavailable():
                is_final = True
        ended_rows = await fetch_all(connection, queries["finish"], values | {"is_final": is_final})
        return [delivery_id for (delivery_ids,) in ended_rows for delivery_id in delivery_ids]


def _make_records(
    request: _Request,
    answer: VerdictAnswer,
    platform: Platform,
    destination: Destination,
    current_time: float,
) -> Iterator[DeliveryRecord]:
    mask = Mask(destination.secrets.values())
    if isinstance(answer, VerdictsUnavailable):
        error = mask.text(answer.error)
        for delivery in request.deliveries.values():
            yield DeliveryRecord(id=delivery.id, status="delivered", error=error)
    elif isinstance(answer, Verdicts):
        for position, verdict in answer.events.items():
            if position in request.deliveries:
                error = None if verdict.error is None else mask.text(verdict.error)
                yield _make_record(
                    request.deliveries[position], verdict, error, platform.limits.age, current_time
                )


def _make_record(
    delivery: _Awaiting, verdict: EventVerdict, error: str | None, age: float, now: float
) -> DeliveryRecord:
    status, due_at = str(verdict.status), None
    if verdict.status == "retrying":
        due_at = now + max(step_after(delivery.attempts), SHORTEST_RETRY)
        if delivery.event_time is None:
            status, due_at = "refused", None
        elif due_at > delivery.event_time + age - AGE_MARGIN:
            status, due_at = "expired", None
    return DeliveryRecord(id=delivery.id, status=status, reason=verdict.reason, due_at=due_at, error=error)
