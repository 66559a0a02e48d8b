"""Due destinations and deliveries, and their outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from operator import attrgetter
from typing import Any, Literal, NamedTuple

import msgspec
from psycopg import AsyncConnection, Connection

from headwater.database.bulk_values import rows
from headwater.database.jobs.due_tasks import AccountKey
from headwater.database.jobs.lease import LEASE
from headwater.database.queries import Queries, fetch_one
from headwater.forwarding.deliveries.retry_policy import DestinationBackoff, DestinationSuspension
from headwater.forwarding.destinations import leases
from headwater.forwarding.destinations.leases import DestinationLease
from headwater.forwarding.platforms.models import FirstAttempt

queries = Queries(__name__, "queue.sql")

OUTAGE = 2
"""After this many failed calls in a row, the destination is down."""
VERDICT_DELAY = 1800.0
"""Seconds after sending until the platform is first asked for verdicts."""

StatusChange = Literal["held", "recovered"]
"""A change to notify users of."""


class DeliveryRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a call or decision for a delivery."""

    id: int
    status: str | None = None
    """None keeps the status."""
    reason: str | None = None
    outcome: str | None = None
    """None if not sent."""
    tried: int = 0
    due_at: float | None = None
    error: str | None = None
    request: dict[str, Any] | None = None
    touchpoint_id: int | None = None
    first_attempt: FirstAttempt | None = None
    """As it was before this attempt, in case the credentials are refused."""
    sent_amount: Decimal | None = None
    sent_currency: str | None = None
    sent_to: str | None = None


class AcceptedRequest(NamedTuple):
    id: str
    """The platform's."""
    delivery_ids: Sequence[int]
    """In the order of the request."""


class CallRecord(NamedTuple):
    now: float
    deliveries: Sequence[DeliveryRecord]
    http_status: int | None = None
    answer: str | None = None
    destination: DestinationBackoff | DestinationSuspension | None = None
    called: bool = True
    """Without `destination`, the call succeeded."""
    secrets_version: int = 0
    accepted: AcceptedRequest | None = None
    """If the platform will publish verdicts."""

    def list_ended(self, accepted_status: str) -> list[DeliveryRecord]:
        """Return the sent deliveries that the platform has in this status, or refused."""
        ends = {accepted_status, "failed", "expired"}
        return [delivery for delivery in self.deliveries if delivery.tried and delivery.status in ends]


async def read_clock(connection: AsyncConnection) -> float:
    """Return Unix seconds."""
    row = await fetch_one(connection, queries["clock"])
    return row[0]


async def find_due(connection: AsyncConnection, current_time: float) -> list[AccountKey]:
    """Return unleased destinations."""
    cursor = await connection.execute(queries["destinations_due"], {"now": current_time, "lease": LEASE})
    return [AccountKey(*row) for row in await cursor.fetchall()]


def spaces_due(connection: Connection[Any]) -> list[int]:
    return [row[0] for row in connection.execute(queries["spaces_due"], {"lease": LEASE})]


async def next_ids(
    connection: AsyncConnection, lease: DestinationLease, current_time: float, limit: int, *, probing: bool
) -> list[int]:
    """Return deliveries longest due first, or with fewest attempts first when `probing`."""
    values = {**lease.values(), "now": current_time, "limit": limit}
    cursor = await connection.execute(queries["probes" if probing else "due"], values)
    return [row[0] for row in await cursor.fetchall()]


async def record(
    connection: AsyncConnection, lease: DestinationLease, call: CallRecord
) -> StatusChange | None:
    """Return the destination's status change. Raises LeaseLostError."""
    failures = await leases.lock_leased(connection, lease)
    values = {
        **lease.values(),
        "now": call.now,
        # In the order of corrections, which lock the same deliveries.
        "rows": rows(sorted(call.deliveries, key=attrgetter("id"))),
        "ids": [delivery.id for delivery in call.deliveries],
        "http_status": call.http_status,
        "answer": call.answer,
        "request_id": None if call.accepted is None else call.accepted.id,
    }
    if call.deliveries:
        await connection.execute(queries["record"], values)
        await connection.execute(queries["forget_erased"], values)
        await connection.execute(queries["log_attempts"], values)
    if call.accepted is not None:
        verdict_values = {"delivery_ids": call.accepted.delivery_ids, "due_at": call.now + VERDICT_DELAY}
        await connection.execute(queries["await_verdicts"], values | verdict_values)
    if not call.called:
        return None
    match call.destination:
        case DestinationBackoff() as backoff:
            await leases.postpone(connection, lease, backoff.until, backoff.failures)
        case DestinationSuspension(reason):
            return "held" if await leases.suspend(connection, lease, reason, call.secrets_version) else None
        case None:
            had_been_held = await leases.mark_well(connection, lease)
            if failures >= OUTAGE:
                await connection.execute(queries["wake"], values)
            return "recovered" if had_been_held else None
    return None
