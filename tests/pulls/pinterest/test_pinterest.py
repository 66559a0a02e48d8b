"""Spend of a Pinterest ad account."""

from __future__ import annotations

from datetime import date, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from headwater.spend.platforms import pinterest
from tests.pulls.books import AdPlace, Books, fill
from tests.pulls.checks import (
    Subject,
    check_books,
    check_clock_change,
    check_corrections,
    check_expired_token,
    check_fault,
    check_first_pull,
    check_pages,
    interrupt,
    serve_platform,
)
from tests.pulls.pinterest.pretend import PretendPinterest, error
from tests.pulls.staging import TODAY, Pulls
from tests.pulls.tokens import SECRETS
from tests.support.fake_platform import Answer

SETTINGS = {"ad_account_id": "1234567890", "timezone": "Europe/Berlin"}
PINTEREST = Subject("pinterest", SETTINGS, SECRETS, PretendPinterest)


def test_it_works(pulls: Pulls) -> None:
    platform = check_first_pull(pulls, PINTEREST)
    queries = [parse_qs(urlsplit(request.target).query) for request in platform.requests]
    first = min(query["start_date"][0] for query in queries if "start_date" in query)
    assert date.fromisoformat(first) == TODAY - timedelta(days=89)


def test_corrections(pulls: Pulls) -> None:
    check_corrections(pulls, PINTEREST)


def test_a_clock_change(pulls: Pulls) -> None:
    check_clock_change(pulls, PINTEREST)


def test_pages(pulls: Pulls, monkeypatch: pytest.MonkeyPatch) -> None:
    platform = check_pages(pulls, PINTEREST, 1, monkeypatch)
    assert any("bookmark=2" in request.target for request in platform.requests)


def test_many_campaigns_are_asked_for_in_parts(pulls: Pulls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pinterest, "_MOST_IDS", 2)
    check_first_pull(pulls, PINTEREST, fill(Books(), TODAY, days=5))


def test_history_that_continues_when_its_first_days_are_gone(pulls: Pulls) -> None:
    books = fill(Books(), TODAY, days=100)
    pretend = PretendPinterest(books)
    pretend.oldest = TODAY - timedelta(days=89)
    # The account, the last days with both lists, and one chunk of the history succeed.
    outage = interrupt(pretend, error(500, 0, "Internal error"), request_count=7)
    with serve_platform(pulls, PINTEREST, outage):
        connection = PINTEREST.connect(pulls)
        pulls.pull()
    assert 0 < pulls.state(connection).history_share < 1
    pretend.oldest += timedelta(days=3)
    with serve_platform(pulls, PINTEREST, pretend):
        pulls.pull_later(connection, days=3)
    state = pulls.state(connection)
    assert (state.fault, state.history_share) == (None, 1.0)
    assert min(day for day, _ in pulls.ledger()) == pretend.oldest


def test_days_are_in_utc_unless_chosen(pulls: Pulls) -> None:
    subject = Subject("pinterest", {"ad_account_id": "1234567890"}, SECRETS, PretendPinterest)
    check_first_pull(pulls, subject, fill(Books(timezone="UTC"), TODAY, days=5))


def test_an_expired_token(pulls: Pulls) -> None:
    check_expired_token(pulls, PINTEREST, error(401, 2, "Authentication failed."), is_renewed=True)


def test_a_refresh_token_that_is_replaced(pulls: Pulls) -> None:
    books = fill(Books(), TODAY, days=3)
    with serve_platform(pulls, PINTEREST, PretendPinterest(books, rotates=True)):
        connection = PINTEREST.connect(pulls)
        pulls.pull()
        books.spend(TODAY, AdPlace("11", "111", "1111"), "99.99")
        # Another process, which only has what is stored.
        pulls.pull_later(connection, hours=6)
    assert pulls.state(connection).fault is None
    check_books(pulls, books)


def test_a_revoked_refresh_token(pulls: Pulls) -> None:
    revoked_subject = Subject(
        "pinterest", SETTINGS, {**SECRETS, "refresh_token": "refresh-9"}, PretendPinterest
    )
    check_fault(pulls, revoked_subject, Answer(), ("token", "held"))


@pytest.mark.parametrize(
    ("answer", "fault", "status"),
    [
        (error(401, 2, "Authentication failed."), "token", "held"),
        (error(403, 29, "You are not permitted to access that resource."), "permission", "held"),
        (error(404, 50, "Ad account not found."), "account", "held"),
        (error(429, 8, "You have exceeded your rate limit."), "throttled", "active"),
        (error(400, 1, "Invalid parameters."), "refused", "active"),
        (error(500, 0, "Internal error"), "temporary", "active"),
        (Answer(body=b'{"items": [{"id": "1'), "temporary", "active"),
        (Answer(body=b'[{"CAMPAIGN_ID": "1'), "temporary", "active"),
        (Answer(body={"code": 1}), "refused", "active"),
    ],
)
def test_faults(pulls: Pulls, answer: Answer, fault: str, status: str) -> None:
    check_fault(pulls, PINTEREST, answer, (fault, status))
