"""Spend of a LinkedIn ad account."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from headwater.spend.platforms import linkedin
from tests.pulls import checks
from tests.pulls.books import AdPlace, Books, fill
from tests.pulls.linkedin.pretend import EXPIRED, TOKEN, PretendLinkedIn, error
from tests.pulls.staging import TODAY, Pulls
from tests.support.fake_platform import Answer
from tests.support.wire import ReceivedRequest

SETTINGS = {"ad_account_id": "1234567890"}
REFRESHING = {"client_id": "an-app", "client_secret": "a-secret", "refresh_token": "a-refresh-token"}
LINKEDIN = checks.Subject("linkedin", SETTINGS, {"access_token": TOKEN}, PretendLinkedIn)


def _make_books(days: int = 40) -> Books:
    return fill(Books(timezone="UTC"), TODAY, days)


def test_it_works(pulls: Pulls) -> None:
    checks.check_first_pull(pulls, LINKEDIN, _make_books())
    names = checks.read_names(pulls, "linkedin")
    assert (names["adset", "112"], names["ad", "1121"]) == ("Name of 112", "Name of 1121")


def test_corrections(pulls: Pulls) -> None:
    checks.check_corrections(pulls, LINKEDIN)


def test_the_day_of_the_clock_change(pulls: Pulls) -> None:
    checks.check_clock_change(pulls, LINKEDIN)


def test_pages_of_names(pulls: Pulls) -> None:
    in_pages = replace(LINKEDIN, pretend=partial(PretendLinkedIn, page_size=1))
    platform = checks.check_first_pull(pulls, in_pages, _make_books(5))
    assert any(
        "creatives" in request.target and "pageToken=2" in request.target for request in platform.requests
    )


def test_more_rows_than_an_answer_can_have(pulls: Pulls, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake LinkedIn leaves out rows without a sign, as the real one does."""
    monkeypatch.setattr(linkedin, "_MOST_FIGURES", 12)
    checks.check_first_pull(
        pulls, replace(LINKEDIN, pretend=partial(PretendLinkedIn, most_figures=12)), _make_books()
    )


def test_a_token_that_expires_between_two_pages(pulls: Pulls) -> None:
    checks.check_expired_token(pulls, LINKEDIN, EXPIRED, is_renewed=False)


def test_a_token_that_is_renewed(pulls: Pulls) -> None:
    checks.check_expired_token(pulls, replace(LINKEDIN, secrets=REFRESHING), EXPIRED, is_renewed=True)


@pytest.mark.parametrize(
    ("answer", "fault", "status"),
    [
        (EXPIRED, "token", "held"),
        (error(403, "Not enough permissions to access: GET /adAccounts"), "permission", "held"),
        (error(404, "Could not find entity"), "account", "held"),
        (error(426, "Requested version 20250601 is not active"), "version", "held"),
        (
            error(429, "Resource level throttle limit for calls to this resource is reached"),
            "throttled",
            "active",
        ),
        (error(500, "Internal error"), "temporary", "active"),
        (error(400, "Invalid query parameters"), "refused", "active"),
        (Answer(body=b'{"currency": "EUR", "na'), "temporary", "active"),
        (Answer(body={"name": "Main shop"}), "refused", "active"),
    ],
)
def test_faults(pulls: Pulls, answer: Answer, fault: str, status: str) -> None:
    checks.check_fault(pulls, LINKEDIN, answer, (fault, status), request_count=0)


def test_an_account_without_access_has_no_empty_spend(pulls: Pulls) -> None:
    pretend = PretendLinkedIn(fill(Books(), TODAY, days=3))

    def answer(request: ReceivedRequest) -> Answer:
        is_analytics = "adAnalytics" in request.target
        return Answer(body={"elements": []}) if is_analytics else pretend(request)

    with checks.serve_platform(pulls, LINKEDIN, answer):
        other_connection = pulls.connect("linkedin", {"ad_account_id": "999"}, {"access_token": TOKEN})
        pulls.pull()
    assert (pulls.state(other_connection).fault, pulls.state(other_connection).status) == (
        "permission",
        "held",
    )


def test_a_creative_that_is_not_listed_is_in_its_group_only(pulls: Pulls) -> None:
    books = _make_books(3)
    pretend = PretendLinkedIn(books)

    def answer(request: ReceivedRequest) -> Answer:
        is_missing = "/creatives" in request.target or "/adCampaignGroups" in request.target
        return Answer(body={"elements": []}) if is_missing else pretend(request)

    with checks.serve_platform(pulls, LINKEDIN, answer):
        LINKEDIN.connect(pulls)
        pulls.pull()
    checks.check_books(pulls, books, has_ads=False)
    assert books.figures[TODAY, AdPlace("13")].amount == pulls.ledger()[TODAY, "13"]
