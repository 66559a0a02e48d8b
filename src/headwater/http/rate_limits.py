"""Rate limits: one count per Space, bucket and minute, exact across all processes.

The database stores the count and defines the minute. Taking is one statement for any number of Spaces. Costs
are cut to the remaining units; callers return unused ones.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct
from psycopg import AsyncConnection, AsyncRawCursor

from headwater.database.bulk_values import array
from headwater.database.queries import Queries
from headwater.http.errors import RateLimited
from headwater.http.refusal_log import log_refusal

queries = Queries(__name__, "rate_limits.sql")


class RateLimit(Struct, frozen=True):
    """Units per minute of a Space, counted in a bucket."""

    bucket: str
    per_minute: int

    def for_space(self, own_limits: Mapping[str, int], factor: float) -> int:
        """Return a Space's limit, given its own limits by bucket; `factor` scales all."""
        return int(own_limits.get(self.bucket, self.per_minute) * factor)


class QuotaRequest(msgspec.Struct, frozen=True):
    """A request for `cost` units of a Space's minute, which has `limit` units."""

    space_id: int
    cost: int
    limit: int


class Quota(msgspec.Struct):
    """The units granted to a Space, and the state of its minute."""

    limit: int
    granted: int
    remaining: int
    reset_at: int
    """Start of the next minute, in Unix seconds."""
    reset_in: int

    def with_more(self, units: int) -> Quota:
        """Return the quota with this many unused units added back."""
        return Quota(self.limit, self.granted, self.remaining + units, self.reset_at, self.reset_in)

    def admit(self, cost: int) -> None:
        """Raise RateLimited unless all of `cost` was granted."""
        if self.granted < cost:
            raise RateLimited(self.reset_in)

    def headers(self) -> list[tuple[bytes, bytes]]:
        return [
            (b"x-ratelimit-limit", b"%d" % self.limit),
            (b"x-ratelimit-remaining", b"%d" % self.remaining),
            (b"x-ratelimit-reset", b"%d" % self.reset_at),
        ]


async def take(connection: AsyncConnection, bucket: str, demands: Iterable[QuotaRequest]) -> dict[int, Quota]:
    """Take as much of each demand as the Space's minute has left, by Space. Each Space occurs once."""
    # Always in the same order, so two processes can't deadlock.
    ordered_demands = sorted(demands, key=lambda demand: demand.space_id)
    spaces = [demand.space_id for demand in ordered_demands]
    allowed_units = [demand.limit for demand in ordered_demands]
    granted_units = [min(demand.cost, demand.limit) for demand in ordered_demands]
    if len(ordered_demands) == 1:
        statement, columns = _TAKE_ONE, (str(spaces[0]), str(allowed_units[0]), str(granted_units[0]))
    else:
        statement, columns = _TAKE, (array(spaces), array(allowed_units), array(granted_units))
    cursor = AsyncRawCursor(connection)
    await cursor.execute(statement, [bucket, *columns], prepare=True, binary=True)
    current_time = time.time()
    quotas = {
        space_id: _quota(allowed_units, granted_units, used_units, int(minute.timestamp()) + 60, current_time)
        for space_id, allowed_units, granted_units, used_units, minute in await cursor.fetchall()
    }
    for demand in ordered_demands:
        if quotas[demand.space_id].granted < demand.cost:
            log_refusal("rate_limit", space_id=demand.space_id, bucket=bucket)
    return quotas


_TAKE_ONE = queries["take"].format(rows=queries["one"]).as_bytes()
_TAKE = queries["take"].format(rows=queries["many"]).as_bytes()


def _quota(limit: int, granted: int, used: int, reset_at: int, current_time: float) -> Quota:
    """Return a quota. The minute ends by the database's clock, the remaining seconds are by ours and capped
    at a minute, because the clocks may differ.
    """
    reset_in = min(max(0, math.ceil(reset_at - current_time)), 60)
    return Quota(limit, granted, max(0, limit - used), reset_at, reset_in)


async def give_back(connection: AsyncConnection, bucket: str, space_id: int, cost: int) -> None:
    """Return granted but unused units."""
    parameters = {"bucket": bucket, "space_id": space_id, "cost": cost}
    await connection.execute(queries["give_back"], parameters)
