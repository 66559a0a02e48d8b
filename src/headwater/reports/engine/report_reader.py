"""Read a Space's report data from one snapshot, with a deadline. Threads process paths in batches."""

from __future__ import annotations

import asyncio
import time
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Hashable,
    Iterable,
    Sequence,
)
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from msgspec import Struct
from psycopg import AsyncConnection
from psycopg.errors import InternalError, OperationalError, QueryCanceled

from headwater.attribution.paths.cache import Key, PathSource, cache, fetch_source
from headwater.attribution.paths.path_data import Column, PathData
from headwater.attribution.paths.reader import Batch, PathReader
from headwater.attribution.paths.scan_plan import Block, ScanPlan
from headwater.base.telemetry.spans import span
from headwater.database.allowance import seconds_left
from headwater.database.queries import Queries, fetch_one
from headwater.events.accepted import ORDER_NAME
from headwater.http.inputs.timerange import between
from headwater.reports.engine.block_sums import Addition, BlockSums, Fingerprint, Subject
from headwater.reports.engine.conversion import (
    ConvertedAmounts,
    CurrencyExchange,
    LeftOutAmounts,
    load_conversion,
)
from headwater.reports.engine.dimensions import conversion_names
from headwater.reports.engine.groups import fetch_contacts_meeting
from headwater.reports.engine.plan import EventConditions, FirstOrders
from headwater.reports.query import DateTimeSpan, Filters, ReportTooLarge
from headwater.spaces.models import Space
from headwater.spaces.spaces import fetch_space
from headwater.spend.rates.store import RatePoint

queries = Queries(__name__, "reports.sql")

LATEST_EVENTS = 50_000
"""These decide whether a Space sells."""
SECONDS = 19.0
"""The limit of a report, with its request's earlier database time."""
CONNECTION_SECONDS = SECONDS + 0.5
"""A caller should hold its connection this long."""
_PATIENCE_STEP = 0.2
"""The smallest change of the statement timeout, in seconds."""
_AT_ONCE = 3
"""Batches in memory, in work or read ahead."""
_threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="reports")

S = TypeVar("S", bound=Subject)
T = TypeVar("T")


@asynccontextmanager
async def open_reader(
    connection: AsyncConnection, space_id: int, currency: str | None = None, *, money: bool = True
) -> AsyncGenerator[ReportReader]:
    """Yield a Space's report reader. Needs a fresh transaction available for CONNECTION_SECONDS. Amounts are
    in `currency`, by default the Space's; without `money` only their sign is used.

    Raises NotFound for an unknown Space, and ReportTooLarge if all takes longer than SECONDS.
    """
    await connection.execute(queries["snapshot"])
    space = await fetch_space(connection, space_id)
    with limit_time() as deadline, span("report", {"headwater.space_id": space_id}):
        values = {"space_id": space_id, "latest": LATEST_EVENTS, "order": ORDER_NAME}
        began_at, *ends, sells = await fetch_one(connection, queries["ends"], values)
        source = await fetch_source(connection, space_id)
        scans = _find_scans(connection, SnapshotId(began_at, space_id))
        reported = ReportedSpace(space, source, (ends[0], ends[1]), sells, scans)
        target = (currency or space.currency) if money else None
        reader = ReportReader(connection, reported, deadline, target)
        yield reader
        reader.require_time()  # PostgreSQL may have shut the connection meanwhile


@contextmanager
def limit_time() -> Generator[float]:
    """Yield the deadline of a report's statements, on the monotonic clock. Raises ReportTooLarge if they
    take longer.
    """
    deadline = time.monotonic() + seconds_left(SECONDS)
    try:
        yield deadline
    except QueryCanceled:
        raise ReportTooLarge from None
    # psycopg raises InternalError for rows directly followed by a cancellation. The connection is shut, which
    # is an OperationalError, when the computing between two statements takes too long.
    except (InternalError, OperationalError):
        if time.monotonic() < deadline:
            raise
        raise ReportTooLarge from None


class SnapshotId(NamedTuple):
    began_at: datetime
    """The start of the transaction: a connection has one at a time."""
    space_id: int


ScanKey = tuple[bool, date, date]
"""Whether paths are companies', and the days."""
Scans = dict[ScanKey, ScanPlan]

_scans = WeakKeyDictionary[AsyncConnection, tuple[SnapshotId, Scans]]()
"""The scans of the last snapshot of each connection. The reports of a page read the same days."""


def _find_scans(connection: AsyncConnection, snapshot: SnapshotId) -> Scans:
    """Return the scans planned so far in a snapshot. They can't change in it."""
    snapshot_scans = _scans.get(connection)
    if snapshot_scans is None or snapshot_scans[0] != snapshot:
        snapshot_scans = _scans[connection] = snapshot, {}
    return snapshot_scans[1]


class PeriodBounds(Struct, frozen=True):
    seconds: range
    first_day: date
    last_day: date


class ReportedSpace(Struct, frozen=True):
    space: Space
    source: PathSource
    ends: tuple[datetime | None, datetime | None]
    sells: bool
    """True if the LATEST_EVENTS include a purchase."""
    scans: Scans
    """Those planned so far in the snapshot."""


class ReportReader:
    def __init__(
        self,
        connection: AsyncConnection,
        reported: ReportedSpace,
        deadline: float,
        currency: str | None,
        rates_at: RatePoint | None = None,
    ) -> None:
        """`deadline` is on the monotonic clock. Without `currency` amounts aren't converted. `rates_at`
        selects past rates.
        """
        self.connection, self._reported = connection, reported
        self.space, self._source, self._ends = reported.space, reported.source, reported.ends
        self._currency = currency
        self._conversions: dict[tuple[date, date], ConvertedAmounts | None] = {}
        self._rates_at = rates_at
        self._deadline = deadline
        self.first_orders: dict[Hashable, tuple[date, FirstOrders]] = {}
        """By scope, each with its last day."""
        self._patience = float("inf")
        """The statement timeout in seconds."""

    def require_time(self) -> float:
        """Return the seconds left. Raises ReportTooLarge when the time is over."""
        remaining_seconds = self._deadline - time.monotonic()
        if remaining_seconds <= 0:
            raise ReportTooLarge
        return remaining_seconds

    async def bound_time(self) -> None:
        """Limit further statements. Raises ReportTooLarge without time left."""
        remaining_seconds = self.require_time()
        if remaining_seconds < self._patience - _PATIENCE_STEP:
            self._patience = remaining_seconds
            patience = {"patience": str(round(1_000 * remaining_seconds))}
            await self.connection.execute(queries["patience"], patience)

    def bounds(self, span: DateTimeSpan) -> PeriodBounds:
        instants = between(span.start, span.end, self.space.zone)
        start, end = (moment.astimezone(UTC) for moment in (instants.start, instants.end))
        seconds = range(int(start.timestamp()), int(end.timestamp()))
        return PeriodBounds(seconds, start.date(), (end - timedelta(seconds=1)).date())

    async def load_conditions(self, filters: Filters) -> EventConditions:
        if not filters.conditions:
            return EventConditions(filters)
        contacts = await fetch_contacts_meeting(self.connection, self.space.id, filters.conditions)
        return EventConditions(filters, contacts)

    def conversion_names(self, filters: Filters) -> tuple[str, ...]:
        return conversion_names(filters, sells=self._reported.sells)

    def path_reader(self, columns: Iterable[Column], *, by_company: bool = False) -> PathReader:
        return PathReader(self.connection, self._source, columns, by_company=by_company)

    async def batches(
        self, paths: PathReader, days: tuple[date, date], work: Callable[[PathData], T]
    ) -> AsyncIterator[T]:
        """Yield each batch's result, in any order. Raises ReportTooLarge."""
        scan = await self.plan_scan(paths, days)
        conversion = await self._conversion(scan.first_day, scan.last_day)

        def work_on(_: Block, batch: PathData) -> T:
            return work(_convert(batch, conversion))

        async for result in self._process(paths.read(scan, lambda _: False), work_on):
            yield result

    async def sums(
        self,
        paths: PathReader,
        scan: ScanPlan,
        subjects: Sequence[S],
        addition: Addition[S, T],
        *,
        signs: bool = False,
    ) -> AsyncIterator[Sequence[T]]:
        """Yield and cache every subject's sums over each block, in any order. Use `signs` if only the sign of
        amounts matters. Raises ReportTooLarge.
        """
        conversion = None if signs else await self._conversion(scan.first_day, scan.last_day)
        sums = BlockSums(self._source, subjects, addition, conversion)

        def work(block: Block, batch: PathData) -> tuple[Block, Sequence[T]]:
            return block, sums.add_up(block, _convert(batch, conversion))

        batches = paths.read(scan, sums.is_cached)
        async for block, values in self._process(batches, work):
            yield sums.complete(block, values)
        for values in sums.find_cached():
            yield values

    async def load_cached(self, key: Key | None, make: Callable[[], Awaitable[T]]) -> T:
        """Cache a value unless it has no key."""
        value: T | None = self.find_cached(key)
        return self.put_cached(key, await make()) if value is None else value

    def find_cached(self, key: Key | None) -> Any:
        if key is None or (self._source, *key) not in cache:
            return None
        return cache.get((self._source, *key))

    def put_cached(self, key: Key | None, value: T) -> T:
        if key is not None:
            cache.put((self._source, *key), value)
        return value

    async def make_key(self, scan: ScanPlan, subject: object) -> Key | None:
        """Return the cache key for a subject and a scan's paths; None if uncacheable."""
        conversion = await self._conversion(scan.first_day, scan.last_day)
        fingerprint = Fingerprint((subject, conversion))
        history, orders = scan.history(scan.last_day), fingerprint.history(scan.last_day)
        return None if history is None or orders is None else (fingerprint.digest, history, orders)

    async def plan_scan(self, paths: PathReader, days: tuple[date, date]) -> ScanPlan:
        """Plan a scan of days between the Space's first and last event."""
        first, last = self._ends
        if first is None or last is None:
            return ScanPlan.empty()
        first_day = max(days[0], first.astimezone(UTC).date())
        last_day = min(days[1], last.astimezone(UTC).date())
        scans, key = self._reported.scans, (paths.by_company, first_day, last_day)
        if key not in scans:
            scans[key] = _narrow_wider(scans, key) or await paths.plan_scan(first_day, last_day)
        return scans[key]

    async def _process(
        self, batches: AsyncIterator[Batch], work: Callable[[Block, PathData], T]
    ) -> AsyncIterator[T]:
        running_tasks: set[asyncio.Future[T]] = set()
        async for block, batch in batches:
            await self.bound_time()
            running_tasks.add(run_in_thread(work, block, batch))
            if len(running_tasks) >= _AT_ONCE:
                finished_tasks, running_tasks = await asyncio.wait(
                    running_tasks, return_when=asyncio.FIRST_COMPLETED
                )
                for result in finished_tasks:
                    yield result.result()
        for result in await asyncio.gather(*running_tasks):
            yield result

    async def in_one_currency(self, paths: PathData) -> PathData:
        """Convert the amounts of paths read elsewhere."""
        if not paths.events:
            return paths
        seconds = paths[Column.SECONDS]
        first, last = (datetime.fromtimestamp(int(s), UTC).date() for s in (seconds.min(), seconds.max()))
        conversion = await self._conversion(first, last)
        return paths if conversion is None else conversion.replace_in(paths)

    async def _conversion(self, first_day: date, last_day: date) -> ConvertedAmounts | None:
        if self._currency is None or last_day < first_day:
            return None
        days = (first_day, last_day)
        if days not in self._conversions:
            await self.bound_time()
            self._conversions[days] = await load_conversion(
                self.connection, CurrencyExchange(self.space, self._currency, self._rates_at), days
            )
        return self._conversions[days]

    def with_rates(self, point: RatePoint | None) -> ReportReader:
        if point is None:
            return self
        return ReportReader(self.connection, self._reported, self._deadline, self._currency, point)

    @property
    def leaves_out_money(self) -> bool:
        """True if amounts read so far are left out."""
        loaded = [conversion for conversion in self._conversions.values() if conversion is not None]
        return any(len(conversion.left_out.event_ids) for conversion in loaded)

    async def left_out_amounts(self, scan: ScanPlan) -> LeftOutAmounts:
        conversion = await self._conversion(scan.first_day, scan.last_day)
        return LeftOutAmounts.of({}) if conversion is None else conversion.left_out

    @property
    def is_about_money(self) -> bool:
        """True if more than amounts' sign matters."""
        return self._currency is not None

    @property
    def currency(self) -> str:
        return self._currency or self.space.currency

    def began_by(self, moment: datetime) -> bool:
        """Return whether the first event was by a local second."""
        first, _ = self._ends
        return first is not None and first < between(moment, moment, self.space.zone).end

    def ends_within(self, span: DateTimeSpan) -> tuple[datetime | None, datetime | None]:
        """Return the first and last event's local times, each only if the range reaches past it."""
        first, last = self._ends
        if first is None or last is None:
            return None, None
        first, last = (moment.replace(microsecond=0) for moment in (first, last))
        zone = self.space.zone
        instants = between(span.start, span.end, zone)
        return (
            first.astimezone(zone).replace(tzinfo=None) if instants.start < first else None,
            last.astimezone(zone).replace(tzinfo=None)
            if last < instants.end - timedelta(seconds=1)
            else None,
        )


def _narrow_wider(scans: Scans, key: ScanKey) -> ScanPlan | None:
    """Return the part of a scan that covers more days; None without one."""
    by_company, first_day, last_day = key
    for (is_companies, *_), scan in scans.items():
        if is_companies == by_company and scan.covers(first_day, last_day):
            return scan.narrow(first_day, last_day)
    return None


def _convert(paths: PathData, conversion: ConvertedAmounts | None) -> PathData:
    return paths if conversion is None else conversion.replace_in(paths)


def run_in_thread(work: Callable[..., T], *arguments: object) -> asyncio.Future[T]:
    return asyncio.get_running_loop().run_in_executor(_threads, work, *arguments)
