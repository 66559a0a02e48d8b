"""Limits on attempts, by kind and by account or address: logins, registrations. Exact over any window, not
only over full minutes or hours.

An attempt is counted before it is made, so that a thousand at once cannot all pass before the first has
failed. An attempt that should not count is released again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from psycopg import AsyncConnection

from headwater.database.queries import Queries, fetch_one
from headwater.spaces.secret_hash import hash_secret

queries = Queries(__name__, "attempts.sql")

FREE = 3
"""The attempts that need not wait where the delay between them grows."""


@dataclass(frozen=True, slots=True)
class AttemptVerdict:
    """The decision on an attempt: admitted, or the seconds until one will be."""

    admitted: bool
    retry_after: int = 0


async def take_attempt(
    connection: AsyncConnection,
    action: str,
    subject: str,
    limit: int,
    window_seconds: int,
    *,
    slowing: bool = False,
) -> AttemptVerdict:
    """Count an attempt at `action` by `subject`, if fewer than `limit` were made in the last
    `window_seconds`; `slowing` asks for ever longer waits between them as well.

    Within a transaction: the count is held until it ends.
    """
    digest = _digest(action, subject)
    (times,) = await fetch_one(connection, queries["hold"], {"subject": digest})
    (now,) = await fetch_one(connection, queries["clock"])
    window = timedelta(seconds=window_seconds)
    counted = [moment for moment in times if moment > now - window]
    wait = seconds_to_wait(counted, now, limit, window, slowing=slowing)
    if wait > 0:
        return AttemptVerdict(admitted=False, retry_after=math.ceil(wait))
    values = {"subject": digest, "taken_at": [*counted, now], "expires_at": now + window}
    await connection.execute(queries["put"], values)
    return AttemptVerdict(admitted=True)


async def give_back(connection: AsyncConnection, action: str, subject: str) -> None:
    """Remove the latest attempt from the count."""
    await connection.execute(queries["give_back"], {"subject": _digest(action, subject)})


async def tidy_attempts(connection: AsyncConnection) -> None:
    """Delete the attempts that no longer count."""
    await connection.execute(queries["tidy"])


def seconds_to_wait(
    counted: Sequence[datetime], now: datetime, limit: int, window: timedelta, *, slowing: bool
) -> float:
    """The seconds until another attempt may be made, after those `counted`, oldest first."""
    if len(counted) >= limit:
        return max((counted[len(counted) - limit] + window - now).total_seconds(), 0.001)
    if slowing and len(counted) > FREE:
        delay = 2.0 ** (len(counted) - FREE - 1)
        return (counted[-1] - now).total_seconds() + delay
    return 0.0


def _digest(action: str, subject: str) -> bytes:
    return hash_secret(f"{action}\0{subject}")
