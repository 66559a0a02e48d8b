"""Campaign: the ledger equals a fake platform's books after every day of restatements, outages, throttling,
expired tokens and kills.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.database.jobs import due_tasks
from headwater.spend.connections import pull
from headwater.spend.connections.comparison import StoredRow, choose_rows
from headwater.spend.models import SpendRow
from tests.pulls.books import AdPlace, Books
from tests.pulls.meta.pretend import TOKEN, PretendMeta, error
from tests.pulls.staging import SECRET, Pulls
from tests.support.campaigns import campaign_size
from tests.support.fake_platform import Answer, FakePlatform, ResetRead
from tests.support.processes import environment
from tests.support.waiting import PATIENCE_SECONDS, wait_until
from tests.support.wire import ReceivedRequest

DAYS = campaign_size("HEADWATER_BOOK_DAYS", 25, 60)
SEEDS = campaign_size("HEADWATER_BOOKS", 1, 20)
KILLS = campaign_size("HEADWATER_PULLER_KILLS", 1, 100)
ACCOUNT = {"ad_account_id": "1234567890"}
PLACES = (
    AdPlace("11", "111", "1111"),
    AdPlace("11", "112", "1121"),
    AdPlace("12", "121", "1211"),
    AdPlace("13"),
)
POINTS = ("spend_pulled", "spend_stored")


class Killed(BaseException):
    """Raised in place of a kill: the process ends without cleanup."""


class Account:
    """A fake account whose platform corrects it, and fails in every temporary way."""

    def __init__(self, seed: int) -> None:
        self.books, self.random = Books(), random.Random(seed)
        self.pretend = PretendMeta(self.books)
        self.faults: list[Callable[[ReceivedRequest], Answer | ResetRead]] = []

    def __call__(self, request: ReceivedRequest) -> Answer | ResetRead:
        return self.faults.pop()(request) if self.faults else self.pretend(request)

    def spend(self, day: date) -> None:
        """Record the spend of a part of a day."""
        for ad_place in self.random.sample(PLACES, self.random.randint(1, len(PLACES))):
            self.books.spend(day, ad_place, f"{self.random.randint(0, 99_999) / 100:.2f}")

    def restate(self, today: date) -> None:
        """Correct, remove and add rows of days that the platform may still change."""
        for _ in range(self.random.randint(0, 5)):
            day = today - timedelta(days=self.random.randint(0, 27))
            key = day, self.random.choice(PLACES)
            if key in self.books.figures and self.random.random() < 0.3:
                del self.books.figures[key]
            else:
                self.books.spend(*key, f"{self.random.randint(0, 99_999) / 100:.2f}")

    def fail(self) -> None:
        """Fail some requests in a row: retries may succeed, or the whole pull may fail."""
        fault = self.random.choice(
            (
                lambda _: error(2, "An unexpected error has occurred", status=500),
                lambda _: error(17, "User request limit reached"),
                lambda _: Answer(body=b'{"data": [{"campaign_id": "11", "spend": "1'),
                lambda _: ResetRead(),
            )
        )
        self.faults = [fault] * self.random.choice((1, 2, 6))

    def campaign_amounts(self) -> dict[tuple[date, str], Decimal]:
        rows = self.books.campaign_rows(date.min, date.max)
        return {(day, ad_place.campaign): spent.amount for day, ad_place, spent in rows if spent.amount}

    def ad_amounts(self) -> dict[tuple[date, str], Decimal]:
        rows = self.books.ad_rows(date.min, date.max)
        return {(day, ad_place.ad): spent.amount for day, ad_place, spent in rows if spent.amount}


def assert_equal(pulls: Pulls, account: Account) -> None:
    """Check that nothing is lost or duplicated."""
    assert pulls.ledger() == account.campaign_amounts()
    assert pulls.ledger("ad") == account.ad_amounts()
    assert pulls.total() == account.books.total(date.min, date.max)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_it_works(pulls: Pulls, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    account = Account(seed)
    kills = Kills(account.random)
    monkeypatch.setattr(pull, "failpoint", kills)
    with FakePlatform(default=account) as platform:
        pulls.urls["meta"] = platform.url
        connection = pulls.connect("meta", ACCOUNT, {"access_token": TOKEN})
        for _ in range(DAYS):
            pulls.time += timedelta(hours=18)
            account.spend(pulls.time.date())
            account.restate(pulls.time.date())
            disturb(pulls, account, kills, connection)
            account.faults.clear()
            expire_lease(pulls, connection)
            pulls.pull_later(connection, hours=6)
            assert_equal(pulls, account)
    state = pulls.state(connection)
    assert (state.status, state.fault, state.failures) == ("active", None, 0)
    assert kills.number > DAYS // 10


def test_a_fault_is_not_noted_by_a_process_that_lost_its_lease(pulls: Pulls) -> None:
    """Another process works on the connection, and has newer information."""

    def take_lease_and_refuse(_: ReceivedRequest) -> Answer:
        pulls.stage.connection.execute(
            "UPDATE spend_connections SET lease = %s WHERE space_id = %s AND id = %s",
            (uuid4(), pulls.stage.space_id, connection),
        )
        return error(190, "The access token has expired", status=401)

    with FakePlatform(default=take_lease_and_refuse) as platform:
        pulls.urls["meta"] = platform.url
        connection = pulls.connect("meta", ACCOUNT, {"access_token": TOKEN})
        pulls.pull()
    assert platform.requests
    state = pulls.state(connection)
    assert (state.status, state.fault, state.failures) == ("active", None, 0)


def test_a_lease_is_renewed_while_the_platform_answers(pulls: Pulls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(due_tasks, "RENEW_SECONDS", 0.01)
    account, renewals = PretendMeta(Books()), list[bool]()

    def is_leased() -> bool:
        row = pulls.stage.connection.execute(
            "SELECT leased_until > now() FROM spend_connections WHERE space_id = %s AND id = %s",
            (pulls.stage.space_id, connection),
        ).fetchone()
        return row is not None and row[0]

    def answer_late(request: ReceivedRequest) -> Answer | ResetRead:
        if not renewals:
            expire_lease(pulls, connection)
            with suppress(AssertionError):  # a thread of the platform's: the test itself fails below
                wait_until(is_leased, 5, "a renewed lease")
            renewals.append(is_leased())
        return account(request)

    with FakePlatform(default=answer_late) as platform:
        pulls.urls["meta"] = platform.url
        connection = pulls.connect("meta", ACCOUNT, {"access_token": TOKEN})
        pulls.pull()
    assert renewals == [True]


class Kills:
    """Kill a pull at one of its failpoints."""

    def __init__(self, chance: random.Random) -> None:
        self._random, self._left = chance, -1
        self.number = 0

    def arm(self) -> None:
        self._left = self._random.randint(0, 1)

    def disarm(self) -> None:
        self._left = -1

    def __call__(self, name: str) -> None:
        assert name in POINTS
        if self._left == 0:
            self.number += 1
            self._left = -1
            raise Killed
        self._left = max(self._left - 1, -1)


def disturb(pulls: Pulls, account: Account, kills: Kills, connection: int) -> None:
    """On most days, pull under bad conditions."""
    match account.random.choice(("", "fault", "kill", "token", "kill and change")):
        case "fault":
            account.fail()
        case "kill":
            kills.arm()
        case "kill and change":
            kills.arm()
            pulls.pull_at(connection, pulls.time)
            pulls.pull()
            kills.disarm()
            account.restate(pulls.time.date())
            return
        case "token":
            account.pretend.token = f"{TOKEN}-{account.random.randint(0, 10**9)}"
        case _:
            return
    pulls.pull_at(connection, pulls.time)
    pulls.pull()
    kills.disarm()
    state = pulls.state(connection)
    if state.status == "held":
        assert state.fault == "token"
        pulls.change(connection, secrets={"access_token": account.pretend.token})


def expire_lease(pulls: Pulls, connection: int) -> None:
    """Expire the lease of a killed process."""
    pulls.stage.connection.execute(
        "UPDATE spend_connections SET leased_until = '-infinity' WHERE space_id = %s AND id = %s",
        (pulls.stage.space_id, connection),
    )


# ---------------------------------------------------------------------------------- processes


def test_killed_processes(pulls: Pulls) -> None:
    """Processes are killed while the platform changes its books. Now and then one finishes."""
    account, today = Account(7), datetime.now(UTC).date()
    for days_ago in range(60):
        account.spend(today - timedelta(days=days_ago))
    with FakePlatform(default=account) as platform:
        connection = pulls.connect("meta", ACCOUNT, {"access_token": TOKEN})
        for number in range(KILLS):
            account.restate(today)
            make_due(pulls, connection)
            with puller(pulls, platform, POINTS[number % 2]) as process:
                assert process.wait(PATIENCE_SECONDS) == -signal.SIGKILL
            if number % 10 == 9 or number == KILLS - 1:
                make_due(pulls, connection)
                finish(pulls, platform, connection)
                assert_equal(pulls, account)


@contextmanager
def puller(pulls: Pulls, platform: FakePlatform, point: str) -> Iterator[subprocess.Popen[bytes]]:
    variables = environment(
        HEADWATER_DATABASE_URL=pulls.database_url,
        HEADWATER_SECRET_KEY=SECRET,
        HEADWATER_META_SPEND_URL=platform.url,
        HEADWATER_FAILPOINT=point,
    )
    command = [sys.executable, "-m", "headwater", "puller"]
    with subprocess.Popen(command, env=variables, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


def make_due(pulls: Pulls, connection: int) -> None:
    expire_lease(pulls, connection)
    pulls.pull_at(connection, datetime.now(UTC))


def finish(pulls: Pulls, platform: FakePlatform, connection: int) -> None:
    """Let a process pull until the next pull is scheduled."""
    with puller(pulls, platform, "") as process:
        wait_until(lambda: is_planned(pulls, connection))
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def is_planned(pulls: Pulls, connection: int) -> bool:
    row = pulls.stage.connection.execute(
        "SELECT next_pull_at > now() AND fault IS NULL AND lease IS NULL FROM spend_connections"
        " WHERE space_id = %s AND id = %s",
        (pulls.stage.space_id, connection),
    ).fetchone()
    assert row is not None
    return row[0]


# --------------------------------------------------------------------------------- comparison

FIRST = date(2026, 11, 1)
SOURCE = ("meta", "1234567890")
CELLS = st.tuples(st.integers(0, 2), st.sampled_from(["11", "12", "13"]))
AMOUNTS = st.integers(0, 3)


def make_row(cell: tuple[int, str], amount: int) -> SpendRow:
    day, campaign = cell
    return SpendRow(
        FIRST + timedelta(days=day), SOURCE[0], "EUR", Decimal(amount), SOURCE[1], campaign,
        impressions=amount, clicks=amount,
    )  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(CELLS, st.tuples(AMOUNTS, st.booleans())), st.lists(st.tuples(CELLS, AMOUNTS)))
def test_what_is_stored_of_a_pull(
    former_rows: dict[tuple[int, str], tuple[int, bool]], pulled: list[tuple[tuple[int, str], int]]
) -> None:
    """After a pull, the ledger has the pulled amounts: the last one of each row, and 0 for missing rows."""
    stored_rows = [
        StoredRow(make_row(cell, amount), is_complete) for cell, (amount, is_complete) in former_rows.items()
    ]
    rows = choose_rows(stored_rows, [make_row(*row) for row in pulled])
    latest = dict(pulled)
    after = {cell: amount for cell, (amount, _) in former_rows.items()}
    for row in rows:
        cell = (row.date - FIRST).days, row.campaign_id
        amount, is_complete = former_rows.get(cell, (0, True))
        assert row.amount != amount or not is_complete, "nothing is stored without a reason"
        after[cell] = int(row.amount)
    assert {cell: amount for cell, amount in after.items() if amount} == {
        cell: amount for cell, amount in latest.items() if amount
    }
    incomplete = {cell for cell, (_, is_complete) in former_rows.items() if not is_complete}
    assert incomplete & latest.keys() <= {((row.date - FIRST).days, row.campaign_id) for row in rows}
    assert len(rows) == len({(row.date, row.key()) for row in rows})
