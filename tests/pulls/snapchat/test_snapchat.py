"""Spend of a Snap ad account."""

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
    serve_platform,
)
from tests.pulls.snapchat.pretend import PretendSnap, error
from tests.pulls.staging import TODAY, Pulls
from tests.pulls.tokens import SECRETS
from tests.support.fake_platform import Answer

SNAPCHAT = Subject("snapchat", {"ad_account_id": "1234567890"}, SECRETS, PretendSnap)
PART_FAILED = {
    "request_status": "SUCCESS",
    "timeseries_stats": [{"sub_request_status": "ERROR", "sub_request_error_reason": "Timed out"}],
    "ads": [{"sub_request_status": "ERROR", "sub_request_error_reason": "Timed out"}],
}


def test_it_works(pulls: Pulls) -> None:
    check_first_pull(pulls, SNAPCHAT)


def test_statuses_in_lower_case(pulls: Pulls) -> None:
    subject = Subject(
        "snapchat", SNAPCHAT.settings, SECRETS, lambda books: PretendSnap(books, success="success")
    )
    check_first_pull(pulls, subject, fill(Books(), TODAY, days=3))


def test_corrections(pulls: Pulls) -> None:
    check_corrections(pulls, SNAPCHAT)


def test_a_clock_change(pulls: Pulls) -> None:
    check_clock_change(pulls, SNAPCHAT)


def test_the_last_day_is_the_accounts(pulls: Pulls) -> None:
    check_today_in_zone(pulls, SNAPCHAT)


def test_pages_never_lead_to_another_host(pulls: Pulls, monkeypatch: pytest.MonkeyPatch) -> None:
    platform = check_pages(pulls, SNAPCHAT, 1, monkeypatch)
    assert any("cursor=2" in request.target for request in platform.requests)


def test_an_ad_that_is_not_listed_counts_for_its_campaign(pulls: Pulls) -> None:
    books = fill(Books(), TODAY, days=3)
    pretend = PretendSnap(books)
    pretend.unlisted = {"1121", "13"}
    with serve_platform(pulls, SNAPCHAT, pretend):
        SNAPCHAT.connect(pulls)
        pulls.pull()
    assert pulls.total() == books.total(TODAY.replace(month=1), TODAY)
    assert {ad for _, ad in pulls.ledger("ad")} == {"1111", "1211"}


def test_an_expired_token(pulls: Pulls) -> None:
    check_expired_token(pulls, SNAPCHAT, error(401, "E1001", "unauthorized"), is_renewed=True)


def test_a_revoked_refresh_token(pulls: Pulls) -> None:
    revoked_subject = Subject(
        "snapchat", SNAPCHAT.settings, {**SECRETS, "refresh_token": "refresh-9"}, PretendSnap
    )
    check_fault(pulls, revoked_subject, Answer(), ("token", "held"))


@pytest.mark.parametrize(
    ("answer", "fault", "status"),
    [
        (error(401, "E1001", "unauthorized"), "token", "held"),
        (error(403, "E1002", "The user is not permitted"), "permission", "held"),
        (error(404, "E1008", "Resource can not be found"), "account", "held"),
        (error(429, "E1004", "Too many requests"), "throttled", "active"),
        (error(400, "E1001", "Unsupported Stats Query"), "refused", "active"),
        (error(503, "E1005", "Unavailable"), "temporary", "active"),
        (error(200, "E1001", "Unsupported Stats Query"), "refused", "active"),
        (Answer(body={"request_status": "partial"}), "temporary", "active"),
        (Answer(body=PART_FAILED), "temporary", "active"),
        (Answer(body=b'{"request_status": "SUCC'), "temporary", "active"),
        (Answer(body={"request_status": "SUCCESS"}), "refused", "active"),
    ],
)
def test_faults(pulls: Pulls, answer: Answer, fault: str, status: str) -> None:
    check_fault(pulls, SNAPCHAT, answer, (fault, status))
