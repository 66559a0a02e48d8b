"""How often something may be tried by somebody: logins of an account or from an address,
registrations from an address. Exact over any window, not only over those of a clock.

An attempt is counted before it is made, so that a thousand at once are not all let through
before the first has failed; one that should not have counted is given back.
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
"""Attempts of those with a growing delay that need not wait."""


@dataclass(frozen=True, slots=True)
class AttemptVerdict:
    """Whether an attempt may be made; if not, the seconds until one may."""

    admitted: bool
    retry_after: int = 0


async def take_attempt(
    connection: AsyncConnection,
    what: str,
    subject: str,
    limit: int,
    window_seconds: int,
    *,
    slowing: bool = False,
) -> AttemptVerdict:
    """Count an attempt at `what` by `subject`, if fewer than `limit` were made in the last
    `window_seconds`; `slowing` asks for ever longer waits between them as well.

    Within a transaction: the count is held until it ends.
    """
    digest = _digest(what, subject)
    row = await fetch_one(connection, queries["hold"], {"subject": digest})
    times, now = row
    window = timedelta(seconds=window_seconds)
    counted = [moment for moment in times if moment > now - window]
    wait = seconds_to_wait(counted, now, limit, window, slowing=slowing)
    if wait > 0:
        return AttemptVerdict(admitted=False, retry_after=math.ceil(wait))
    values = {"subject": digest, "taken_at": [*counted, now], "expires_at": now + window}
    await connection.execute(queries["put"], values)
    return AttemptVerdict(admitted=True)


async def give_back(connection: AsyncConnection, what: str, subject: str) -> None:
    """Uncount the latest attempt, as it was none that counts."""
    await connection.execute(queries["give_back"], {"subject": _digest(what, subject)})


async def tidy_attempts(connection: AsyncConnection) -> None:
    """Forget what no longer counts."""
    await connection.execute(queries["tidy"])


def seconds_to_wait(
    counted: Sequence[datetime], now: datetime, limit: int, window: timedelta, *, slowing: bool
) -> float:
    """How long until another attempt may be made, after those `counted`, oldest first."""
    if len(counted) >= limit:
        return max((counted[len(counted) - limit] + window - now).total_seconds(), 0.001)
    if slowing and len(counted) > FREE:
        delay = 2.0 ** (len(counted) - FREE - 1)
        return (counted[-1] - now).total_seconds() + delay
    return 0.0


def _digest(what: str, subject: str) -> bytes:
    return hash_secret(f"{what}\0{subject}")
