"""Pulls of spend from a fake Meta without a network: the history of new connections, and many Spaces."""

from __future__ import annotations

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import msgspec
import psutil
from tests.pulls.books import AdPlace, Books, Spent
from tests.pulls.meta.pretend import TOKEN, PretendMeta
from tests.support.wire import ReceivedRequest

from bench.stage import Stage
from headwater.base.egress.access_tokens import AccessTokens
from headwater.base.egress.models import EgressRequest, EgressResponse
from headwater.database.pool import Database
from headwater.spaces.encryption import derive_key
from headwater.spend.connections import connections
from headwater.spend.connections.inputs import read_new
from headwater.spend.connections.pull import PullServices
from headwater.spend.connections.puller import Puller
from headwater.spend.connections.session import Waits
from headwater.spend.platforms.registry import PLATFORMS

_ACCOUNT = re.compile("/act_[0-9]+")
KEY = derive_key("a secret of the benchmark")
ACCOUNTS, CAMPAIGNS = 5, 500
"""In one Space, with an ad in each campaign, over 13 months."""
SPACES, CAMPAIGNS_OF_A_SPACE = 1_000, 10
AHEAD = timedelta(days=30)
"""How far the puller's clock is ahead, so that the service's own puller finds nothing due."""
TODAY = (datetime.now(UTC) + AHEAD).date()


class QuickMeta(PretendMeta):
    """Sorts each day's rows once instead of for each page."""

    def __init__(self, books: Books) -> None:
        super().__init__(books)
        self._days: dict[tuple[date, bool], list[tuple[date, AdPlace, Spent]]] = defaultdict(list)
        for is_ad in (False, True):
            for row in super().select(date.min, date.max, is_ad=is_ad):
                self._days[row[0], is_ad].append(row)

    def select(self, first_day: date, last_day: date, *, is_ad: bool) -> list[tuple[date, AdPlace, Spent]]:
        days = (first_day + timedelta(days=number) for number in range((last_day - first_day).days + 1))
        return [row for day in days for row in self._days.get((day, is_ad), ())]


class PretendSender:
    """Answers with the same data for every account, without a network."""

    def __init__(self, books: Books) -> None:
        self._pretend = QuickMeta(books)
        self.calls = 0

    async def send(
        self, call: EgressRequest, seconds: float | None = None, *, most_bytes: int | None = None
    ) -> EgressResponse:
        del seconds, most_bytes
        self.calls += 1
        target = _ACCOUNT.sub("/act_1234567890", call.url.removeprefix("https://pretend.example"))
        headers = {name.lower(): text for name, text in call.headers.items()}
        answer = self._pretend(ReceivedRequest(call.method, target, headers, call.body, time.monotonic()))
        return EgressResponse(status=answer.status, body=msgspec.json.encode(answer.body))


def measure(stage: Stage, print_line: Callable[..., None]) -> None:
    """Print the part of the table on pulls."""
    print_line(
        f"Pull 13 months of {ACCOUNTS} accounts with {CAMPAIGNS} campaigns and ads each, into one Space"
    )
    _print_pull(
        print_line, stage.url, [space_id for space_id, _ in stage.spaces(1)] * ACCOUNTS, _fill(CAMPAIGNS, 396)
    )
    print_line(f"A day's pull of {SPACES:,} Spaces with {CAMPAIGNS_OF_A_SPACE} campaigns and ads each")
    spaces = [space_id for space_id, _ in stage.spaces(SPACES)]
    _print_pull(print_line, stage.url, spaces, _fill(CAMPAIGNS_OF_A_SPACE, 28))


def _fill(campaigns: int, days: int) -> Books:
    books = Books()
    for days_back in range(days):
        day = TODAY - timedelta(days=days_back)
        for number in range(campaigns):
            ad_place = AdPlace(f"{number}", f"{number}1", f"{number}11")
            books.figures[day, ad_place] = Spent(Decimal(f"{number % 90 + 1}.{days_back % 90 + 10}"))
    return books


def _print_pull(print_line: Callable[..., None], url: str, spaces: list[int], books: Books) -> None:
    print_line("s", "calls", "rows", "rows/s", "memory +MB", "what")
    for name in ("new", "unchanged"):
        sender = PretendSender(books)
        before = psutil.Process().memory_info().rss
        start = time.perf_counter()
        rows = asyncio.run(_pull(url, spaces if name == "new" else [], sender))
        seconds = time.perf_counter() - start
        growth = (psutil.Process().memory_info().rss - before) >> 20
        print_line(f"{seconds:.1f}", f"{sender.calls:,}", f"{rows:,}", f"{rows / seconds:,.0f}", growth, name)


async def _pull(url: str, spaces: list[int], sender: PretendSender) -> int:
    """Connect an account in each Space, or make the stored connections due, and pull."""
    async with Database(url) as database:
        await _connect(database, spaces)
        services = PullServices(
            database=database,
            egress=sender,
            tokens=AccessTokens(sender),
            platforms=PLATFORMS,
            urls=dict.fromkeys(PLATFORMS, "https://pretend.example"),
            sealing_key=KEY,
            waits=Waits(asyncio.sleep, lambda: time.time() + AHEAD.total_seconds()),
        )
        await Puller(services, asyncio.Event()).drain()
        async with database.connection() as connection:
            cursor = await connection.execute("SELECT count(*) FROM spend")
            row = await cursor.fetchone()
        assert row is not None
        return row[0]


async def _connect(database: Database, spaces: list[int]) -> None:
    async with database.transaction(60) as connection:
        for number, space_id in enumerate(spaces):
            new = read_new(
                {
                    "platform": "meta",
                    "settings": {"ad_account_id": str(1_000_000 + number)},
                    "secrets": {"access_token": TOKEN},
                }
            )
            await connections.create_connection(connection, space_id, new, KEY)
        await connection.execute("UPDATE spend_connections SET next_pull_at = now() + interval '1 day'")
