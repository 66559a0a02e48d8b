"""Spend of a Reddit ad account."""

from __future__ import annotations

import pytest

from tests.pulls.books import Books, fill
from tests.pulls.checks import (
    Subject,
    check_clock_change,
    check_corrections,
    check_expired_token,
    check_fault,
    check_first_pull,
    check_pages,
    check_today_in_zone,
    pull_with_fault,
)
from tests.pulls.reddit.pretend import PretendReddit, error
from tests.pulls.staging import TODAY, Pulls
from tests.pulls.tokens import SECRETS
from tests.support.fake_platform import Answer

REDDIT = Subject("reddit", {"ad_account_id": "1234567890"}, SECRETS, PretendReddit, has_adsets=False)
LIMIT = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "12.5"}


def test_it_works(pulls: Pulls) -> None:
    platform = check_first_pull(pulls, REDDIT)
    assert any("page.token" in request.target for request in platform.requests)
    lists = [request.target for request in platform.requests if request.method == "GET"]
    assert len(lists) == len(set(lists)), "lists of names are fetched once per pull"


def test_corrections(pulls: Pulls) -> None:
    check_corrections(pulls, REDDIT)


@pytest.mark.parametrize("has_local_times", [False, True])
def test_a_clock_change(pulls: Pulls, *, has_local_times: bool) -> None:
    subject = Subject(
        "reddit",
        REDDIT.settings,
        SECRETS,
        lambda books: PretendReddit(books, has_local_times=has_local_times),
    )
    check_clock_change(pulls, subject)


@pytest.mark.parametrize("timezone", ["America/Los_Angeles", "Pacific/Kiritimati", "Asia/Kolkata"])
@pytest.mark.parametrize("has_local_times", [False, True])
def test_days_are_whole_in_every_zone(pulls: Pulls, timezone: str, *, has_local_times: bool) -> None:
    subject = Subject(
        "reddit",
        REDDIT.settings,
        SECRETS,
        lambda books: PretendReddit(books, has_local_times=has_local_times),
    )
    check_today_in_zone(pulls, subject, timezone)


def test_pages(pulls: Pulls, monkeypatch: pytest.MonkeyPatch) -> None:
    platform = check_pages(pulls, REDDIT, 1, monkeypatch)
    assert any("page.size=1&page.token=2" in request.target for request in platform.requests)


def test_an_expired_token(pulls: Pulls) -> None:
    check_expired_token(pulls, REDDIT, error(401, "Unauthorized"), is_renewed=True)


def test_a_revoked_refresh_token(pulls: Pulls) -> None:
    revoked_subject = Subject(
        "reddit", REDDIT.settings, {**SECRETS, "refresh_token": "refresh-9"}, PretendReddit
    )
    check_fault(pulls, revoked_subject, Answer(), ("token", "held"))


@pytest.mark.parametrize(
    ("answer", "fault", "status"),
    [
        (error(401, "Unauthorized"), "token", "held"),
        (error(403, "Forbidden"), "permission", "held"),
        (error(404, "Ad account not found"), "account", "held"),
        (error(429, "Too many requests"), "throttled", "active"),
        (error(400, "starts_at must be on the hour"), "refused", "active"),
        (error(500, "Internal error"), "temporary", "active"),
        (error(200, "Invalid breakdowns"), "refused", "active"),
        (Answer(body=b'{"data": {"metrics": [{"camp'), "temporary", "active"),
        (Answer(body={"data": {}}), "refused", "active"),
    ],
)
def test_faults(pulls: Pulls, answer: Answer, fault: str, status: str) -> None:
    after = 2 if answer.body == {"data": {}} else 1
    check_fault(pulls, REDDIT, answer, (fault, status), after)


def test_the_wait_that_a_limit_names(pulls: Pulls) -> None:
    pull_with_fault(pulls, REDDIT, error(429, "Too many requests", **LIMIT))
    assert pulls.waits == [12.5, 12.5, 12.5]


def test_nothing_is_reported(pulls: Pulls) -> None:
    check_fault(pulls, REDDIT, Answer(404, b""), ("account", "held"), request_count=0)
    assert pulls.ledger() == {}
    assert fill(Books(), TODAY, days=1).figures
