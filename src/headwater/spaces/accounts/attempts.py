"""Limits on attempts, such as logins, by account or address. Exact over any window.

An attempt is counted before it is made, so that a thousand at once cannot all pass before the first has
failed; one that should not count is released again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from psycopg import AsyncConnection

from headwater.database.queries import Queries, fetch_one
from headwater.spaces.secret_hash import hash_secret

queries = Queries(__name__, "attempts.sql")

FREE = 3
"""The first attempts need not wait, even with growing delays."""


class AttemptVerdict(Struct, frozen=True):
    """The decision on an attempt, and the seconds to wait after a refusal."""

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
    """Count an attempt unless `limit` were made in the last `window_seconds`; `slowing` adds growing delays.

    The subject stays locked until the transaction ends.
    """
    digest = _digest(action, subject)
    (times,) = await fetch_one(connection, queries["hold"], {"subject": digest})
    (current_time,) = await fetch_one(connection, queries["clock"])
    window = timedelta(seconds=window_seconds)
    counted_times = [moment for moment in times if moment > current_time - window]
    wait = seconds_to_wait(counted_times, current_time, limit, window, slowing=slowing)
    if wait > 0:
        return AttemptVerdict(admitted=False, retry_after=math.ceil(wait))
    values = {
        "subject": digest,
        "taken_at": [*counted_times, current_time],
        "expires_at": current_time + window,
    }
    await connection.execute(queries["put"], values)
    return AttemptVerdict(admitted=True)


async def give_back(connection: AsyncConnection, action: str, subject: str) -> None:
    await connection.execute(queries["give_back"], {"subject": _digest(action, subject)})


async def tidy_attempts(connection: AsyncConnection) -> None:
    await connection.execute(queries["tidy"])


def seconds_to_wait(
    attempts: Sequence[datetime], current_time: datetime, limit: int, window: timedelta, *, slowing: bool
) -> float:
    """Return the seconds until the next attempt; `attempts` are oldest first."""
    if len(attempts) >= limit:
        return max((attempts[len(attempts) - limit] + window - current_time).total_seconds(), 0.001)
    if slowing and len(attempts) > FREE:
        delay = 2.0 ** (len(attempts) - FREE - 1)
        return (attempts[-1] - current_time).total_seconds() + delay
    return 0.0


def _digest(action: str, subject: str) -> bytes:
    return hash_secret(f"{action}\0{subject}")
