"""The durable inbox: requests from many connections share one commit.

The flusher takes all requests that arrived during its last commit, charges rate limits, inserts the rows and
answers after the commit, within five seconds.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

import msgspec
from prometheus_client import Counter, Histogram
from psycopg import AsyncConnection

from headwater.base.background import BackgroundTask
from headwater.base.failpoints import failpoint
from headwater.database.allowance import charge, seconds_left
from headwater.database.outage_log import OutageLog
from headwater.database.pool import bounded, connect
from headwater.http.errors import Problem, RateLimited, Unavailable
from headwater.http.rate_limits import Quota, QuotaRequest, RateLimit, give_back, take
from headwater.intake.inbox.accepted_rows import NewRow, append
from headwater.intake.inbox.notices import Notices

MAX_FLUSH_ROWS = 5_000
MAX_FLUSH_BYTES = 8 * 1024 * 1024
MAX_WAITING_ROWS = 50_000
MAX_WAITING_BYTES = 64 * 1024 * 1024
"""Rows can be larger than their bodies, which are limited earlier."""
WAIT_SECONDS = 2.0
FLUSH_SECONDS = 2.0
RECONNECT_SECONDS = 0.2
rows_accepted = Counter("headwater_accepted_rows", "Rows acknowledged after their commit")
flush_seconds = Histogram(
    "headwater_flush_seconds",
    "Time of one group commit",
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2),
)


class Request(msgspec.Struct, eq=False):
    """The rows of an HTTP request and the result. Creating structs is four times as fast as dataclasses."""

    space_id: int
    limit: int
    """The Space's limit per minute."""
    cost: int
    """More than the rows if some were invalid."""
    rows: Sequence[NewRow]
    receipts: Sequence[int] = ()
    quota: Quota | None = None
    failure: Problem | None = None
    expires: float = 0.0
    """The monotonic deadline of the commit."""
    size: int = 0
    """Of all rows, in bytes."""
    done: asyncio.Future[None] | None = None

    def finish(self, failure: Problem | None = None) -> None:
        self.failure = failure
        if self.done is not None and not self.done.done():
            self.done.set_result(None)


class Inbox:
    """A queue of requests and the connection that commits them.

    With a second connection, groups would be half as large for little gain.
    """

    def __init__(self, url: str, limit: RateLimit) -> None:
        self._url = url
        self.limit = limit
        self._waiting: deque[Request] = deque()
        self._waiting_rows = 0
        self._waiting_bytes = 0
        self._arrived = asyncio.Event()
        self._notices = Notices()
        self._outage = OutageLog("inbox")
        self.is_connected = False
        """Whether the last group found the connection working."""
        self._tasks = BackgroundTask(self._commit), BackgroundTask(self._sweep)

    def start(self) -> None:
        for task in self._tasks:
            task.start()

    async def stop(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_SECONDS):
                await asyncio.gather(*(request.done for request in self._waiting if request.done))
        for task in self._tasks:
            await task.stop()

    async def put(self, request: Request) -> Request:
        """Return the request once its rows are durable. Raises RateLimited (with `request.quota`) or
        Unavailable; then nothing is stored, unless a commit's outcome is unknown.
        """
        request.size = sum(len(row.payload) for row in request.rows)
        started_at = time.monotonic()
        patience = min(WAIT_SECONDS, seconds_left() - FLUSH_SECONDS)
        if patience < 0 or self._is_full(request.size):
            raise Unavailable
        request.done = asyncio.get_running_loop().create_future()
        request.expires = started_at + patience
        self._waiting.append(request)
        self._count(request, 1)
        self._arrived.set()
        await request.done
        charge(time.monotonic() - started_at)
        if request.failure is not None:
            raise request.failure
        return request

    def _is_full(self, size: int) -> bool:
        """Return whether to refuse more rows; never if empty."""
        return self._waiting_rows > MAX_WAITING_ROWS or (
            self._waiting_bytes > 0 and self._waiting_bytes + size > MAX_WAITING_BYTES
        )

    def _count(self, request: Request, sign: int) -> None:
        self._waiting_rows += sign * len(request.rows)
        self._waiting_bytes += sign * request.size

    async def _commit(self) -> None:
        """Commit groups, reconnecting after errors."""
        while True:
            try:
                async with await connect(self._url) as connection:
                    self.is_connected = True
                    self._outage.end()
                    await self._commit_groups(connection)
            except Exception as error:  # noqa: BLE001 - a new connection may work
                self.is_connected = False
                self._outage.fail(error)
                await asyncio.sleep(RECONNECT_SECONDS)

    async def _commit_groups(self, connection: AsyncConnection) -> None:
        while True:
            await self._arrived.wait()
            group = self._gather()
            if group:
                await self._flush(connection, group)

    def _gather(self) -> list[Request]:
        group: list[Request] = []
        rows, size, current_time = 0, 0, time.monotonic()
        while self._waiting and rows < MAX_FLUSH_ROWS and size < MAX_FLUSH_BYTES:
            request = self._waiting.popleft()
            self._count(request, -1)
            if request.expires < current_time:
                request.finish(Unavailable())
                continue
            group.append(request)
            rows += len(request.rows)
            size += request.size
        if not self._waiting:
            self._arrived.clear()
        return group

    async def _flush(self, connection: AsyncConnection, group: list[Request]) -> None:
        started_at = time.perf_counter()
        with bounded(connection, FLUSH_SECONDS):
            try:
                admitted_requests = await self._admit(connection, group)
            except BaseException:
                self._put_back(group)  # nothing was stored: another connection may retry
                raise
            try:
                if admitted_requests:
                    failpoint("inbox_before_insert")
                    await _insert(connection, admitted_requests)
                    failpoint("inbox_after_commit")
            except BaseException:
                for request in group:
                    request.finish(request.failure or Unavailable())
                raise
        for request in group:
            request.finish(request.failure)
        flush_seconds.observe(time.perf_counter() - started_at)
        rows_accepted.inc(sum(len(request.receipts) for request in admitted_requests))
        with bounded(connection, FLUSH_SECONDS):
            await self._notices.send(connection)

    def _put_back(self, group: list[Request]) -> None:
        self._waiting.extendleft(reversed(group))
        for request in group:
            self._count(request, 1)
        self._arrived.set()

    async def _admit(self, connection: AsyncConnection, group: list[Request]) -> list[Request]:
        """Charge quotas, and return admitted requests with rows."""
        costs: dict[int, QuotaRequest] = {}
        for request in group:
            earlier_cost = costs.get(request.space_id)
            cost = request.cost + (earlier_cost.cost if earlier_cost else 0)
            costs[request.space_id] = QuotaRequest(request.space_id, cost, request.limit)
        quotas = await take(connection, self.limit.bucket, costs.values())
        remaining_units = {space_id: quota.granted for space_id, quota in quotas.items()}
        admitted_requests: list[Request] = []
        for request in group:
            quota = quotas[request.space_id]
            if remaining_units[request.space_id] >= request.cost:
                remaining_units[request.space_id] -= request.cost
                request.failure = None
                admitted_requests.append(request)
            else:
                request.failure = RateLimited(quota.reset_in)
            request.quota = quota.with_more(remaining_units[request.space_id])
        for space_id, unused_units in remaining_units.items():
            if unused_units:
                await give_back(connection, self.limit.bucket, space_id, unused_units)
        return [request for request in admitted_requests if request.rows]

    async def _sweep(self) -> None:
        """Refuse requests past their deadline."""
        while True:
            await asyncio.sleep(0.1)
            current_time = time.monotonic()
            while self._waiting and self._waiting[0].expires < current_time:
                request = self._waiting.popleft()
                self._count(request, -1)
                request.finish(Unavailable())


async def _insert(connection: AsyncConnection, group: list[Request]) -> None:
    space_ids = [request.space_id for request in group for _ in request.rows]
    receipts = await append(connection, space_ids, [row for request in group for row in request.rows])
    start = 0
    for request in group:
        end = start + len(request.rows)
        request.receipts = receipts[start:end]
        start = end
