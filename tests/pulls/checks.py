"""Checks for the spend of every platform: the same books, corrections and faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest

from headwater.spend.connections.connections import ConnectionRow
from headwater.spend.platforms.registry import PLATFORMS
from tests.pulls.books import AdPlace, Books, fill
from tests.pulls.staging import TODAY, Pulls
from tests.support.fake_platform import Answer, FakePlatform
from tests.support.wire import ReceivedRequest

Answering = Callable[[ReceivedRequest], Answer]
CLOCK_CHANGE = date(2026, 10, 25)
"""A day of 25 hours in Berlin."""


@dataclass(frozen=True)
class Subject:
    """A platform under test, and how to connect an account."""

    platform: str
    settings: Mapping[str, Any]
    secrets: Mapping[str, str]
    pretend: Callable[[Books], Answering]
    has_adsets: bool = True
    """True if ads are reported with their ad sets."""

    def connect(self, pulls: Pulls) -> int:
        return pulls.connect(self.platform, dict(self.settings), dict(self.secrets))


@contextmanager
def serve_platform(pulls: Pulls, subject: Subject, answering: Answering) -> Iterator[FakePlatform]:
    """Run the fake platform in this context."""
    with FakePlatform(default=answering) as platform:
        pulls.urls[subject.platform] = platform.url
        yield platform


def check_books(pulls: Pulls, books: Books, *, has_ads: bool = True) -> None:
    """Check that the ledger equals the books, to the cent."""
    ads = {
        (day, ad_place.ad): spent.amount for (day, ad_place), spent in books.figures.items() if ad_place.ad
    }
    assert pulls.ledger("ad") == (ads if has_ads else {})
    campaigns = books.campaign_rows(date.min, date.max)
    assert pulls.ledger() == {(day, ad_place.campaign): spent.amount for day, ad_place, spent in campaigns}


def check_first_pull(pulls: Pulls, subject: Subject, books: Books | None = None) -> FakePlatform:
    """Check that a new connection fetches everything, with names, counts and the account."""
    books = books or fill(Books(), TODAY)
    with serve_platform(pulls, subject, subject.pretend(books)) as platform:
        connection = subject.connect(pulls)
        pulls.pull()
    state = pulls.state(connection)
    assert (state.status, state.fault, state.fault_message) == ("active", None, None)
    assert (state.failures, state.history_share) == (0, 1.0)
    assert (state.account_name, state.currency, state.timezone) == (
        books.name,
        books.currency,
        books.timezone,
    )
    check_books(pulls, books)
    first = next(row for row in pulls.rows() if row[3] == "11" and row[5] == "1111")
    adset = "111" if subject.has_adsets else ""
    assert first[1:7] == (subject.platform, books.account, "11", adset, "1111", books.currency)
    assert (first[8], first[9], first[12]) == (1000, 20, books.timezone)
    names = read_names(pulls, subject.platform)
    assert {("campaign", "11"), ("campaign", "13"), ("ad", "1111")} <= names.keys()
    assert all(name == books.find_name(level_id) for (_, level_id), name in names.items())
    return platform


def read_names(pulls: Pulls, platform: str) -> dict[tuple[str, str], str]:
    """Return the ad names of a platform."""
    rows = pulls.stage.connection.execute(
        "SELECT kind, id, name FROM ad_names WHERE space_id = %s AND platform = %s",
        (pulls.stage.space_id, platform),
    )
    return {(kind, level_id): name for kind, level_id, name in rows}


def check_corrections(pulls: Pulls, subject: Subject) -> None:
    """Check that a corrected amount is restated, and that a campaign that is no longer reported has spent
    nothing.
    """
    books = fill(Books(), TODAY, days=5)
    with serve_platform(pulls, subject, subject.pretend(books)):
        connection = subject.connect(pulls)
        pulls.pull()
        books.spend(TODAY - timedelta(days=3), AdPlace("12", "121", "1211"), "5.50", clicks=0)
        for days_ago in range(5):
            del books.figures[TODAY - timedelta(days=days_ago), AdPlace("13")]
        pulls.pull_later(connection, hours=6)
    check_books(pulls, books)
    assert len([row for row in pulls.rows() if row[3] == "13" and row[7] == 0]) == 5


def check_deleted_campaign(pulls: Pulls, subject: Subject) -> None:
    """Check that a campaign keeps its spend after it was deleted at the platform."""
    books = fill(Books(), TODAY, days=5)
    with serve_platform(pulls, subject, subject.pretend(books)):
        connection = subject.connect(pulls)
        pulls.pull()
        books.deleted |= {"12", "13"}
        pulls.pull_later(connection, hours=6)
    check_books(pulls, books)


def check_clock_change(pulls: Pulls, subject: Subject) -> None:
    """Check that days of 25 and of 24 hours are complete and not duplicated."""
    pulls.time = datetime(2026, 10, 26, 12, tzinfo=UTC)
    books = fill(Books(), pulls.time.date(), days=4)
    with serve_platform(pulls, subject, subject.pretend(books)):
        subject.connect(pulls)
        pulls.pull()
    check_books(pulls, books)
    assert (CLOCK_CHANGE, "11") in pulls.ledger()


def check_today_in_zone(pulls: Pulls, subject: Subject, timezone: str = "America/Los_Angeles") -> None:
    """Check that the last requested day is the account's, not UTC's."""
    pulls.time = datetime(2026, 11, 25, 3, tzinfo=UTC)
    books = fill(Books(timezone=timezone), date(2026, 11, 24), days=3)
    with serve_platform(pulls, subject, subject.pretend(books)):
        subject.connect(pulls)
        pulls.pull()
    check_books(pulls, books)


def set_page_size(monkeypatch: pytest.MonkeyPatch, subject: Subject, size: int) -> None:
    platform = PLATFORMS[subject.platform]
    monkeypatch.setattr(type(platform), "limits", replace(platform.limits, page_sizes=(size,)))


def check_pages(
    pulls: Pulls, subject: Subject, page_size: int, monkeypatch: pytest.MonkeyPatch
) -> FakePlatform:
    """Check that reports with several pages are read completely."""
    set_page_size(monkeypatch, subject, page_size)
    return check_first_pull(pulls, subject, fill(Books(), TODAY, days=5))


def pull_with_fault(pulls: Pulls, subject: Subject, fault: Answer, request_count: int = 1) -> ConnectionRow:
    """Pull when everything is refused after `request_count` answers. Tokens are still issued. Return the
    connection's state.
    """
    reaction = interrupt(subject.pretend(fill(Books(), TODAY, days=3)), fault, request_count)
    with serve_platform(pulls, subject, reaction):
        connection = subject.connect(pulls)
        pulls.pull()
    state = pulls.state(connection)
    assert not any(secret in (state.fault_message or "") for secret in subject.secrets.values())
    return state


def check_fault(
    pulls: Pulls, subject: Subject, fault: Answer, expected: tuple[str, str], request_count: int = 1
) -> None:
    """Check that the pull stops with this fault and this connection state."""
    state = pull_with_fault(pulls, subject, fault, request_count)
    assert (state.fault, state.status, state.failures) == (*expected, 1), state.fault_message


def is_token_request(request: ReceivedRequest) -> bool:
    return urlsplit(request.target).path.lower().endswith("token")


def interrupt(answering: Answering, fault: Answer, request_count: int, count: int = 10**9) -> Answering:
    """Return a platform that answers with `fault`, `count` times after `request_count` answers. Token
    requests are not counted.
    """
    calls = 0

    def answer(request: ReceivedRequest) -> Answer:
        nonlocal calls
        if is_token_request(request):
            return answering(request)
        calls += 1
        return fault if request_count < calls <= request_count + count else answering(request)

    return answer


def check_expired_token(pulls: Pulls, subject: Subject, refusal: Answer, *, is_renewed: bool) -> None:
    """Check a token that expires between two pages. If it can't be renewed, the owner enters another."""
    books = fill(Books(), TODAY, days=3)
    reaction = interrupt(subject.pretend(books), refusal, request_count=3, count=1)
    with serve_platform(pulls, subject, reaction) as platform:
        connection = subject.connect(pulls)
        pulls.pull()
        if not is_renewed:
            assert (pulls.state(connection).fault, pulls.state(connection).status) == ("token", "held")
            pulls.change(connection, secrets=dict(subject.secrets))
            pulls.pull_later(connection, minutes=1)
        requests = platform.requests
    tokens = list(filter(is_token_request, requests))
    assert len(tokens) == (2 if is_renewed else 0)
    assert pulls.state(connection).status == "active"
    check_books(pulls, books)
