"""Spend of a TikTok advertiser."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tests.pulls.books import Books, fill
from tests.pulls.checks import (
    Subject,
    check_books,
    check_clock_change,
    check_corrections,
    check_deleted_campaign,
    check_expired_token,
    check_fault,
    check_first_pull,
    check_pages,
    check_today_in_zone,
    pull_with_fault,
    serve_platform,
    set_page_size,
)
from tests.pulls.staging import TODAY, Pulls
from tests.pulls.tiktok.pretend import TOKEN, PretendTikTok, error, success
from tests.support.fake_platform import Answer
from tests.support.wire import ReceivedRequest

TIKTOK = Subject("tiktok", {"advertiser_id": "1234567890"}, {"access_token": TOKEN}, PretendTikTok)


def test_it_works(pulls: Pulls) -> None:
    check_first_pull(pulls, TIKTOK)


def test_corrections(pulls: Pulls) -> None:
    check_corrections(pulls, TIKTOK)


def test_a_deleted_campaign(pulls: Pulls) -> None:
    check_deleted_campaign(pulls, TIKTOK)


def test_a_clock_change(pulls: Pulls) -> None:
    check_clock_change(pulls, TIKTOK)


def test_the_last_day_is_the_accounts(pulls: Pulls) -> None:
    check_today_in_zone(pulls, TIKTOK)


def test_pages(pulls: Pulls, monkeypatch: pytest.MonkeyPatch) -> None:
    platform = check_pages(pulls, TIKTOK, 4, monkeypatch)
    assert any("&page=4" in request.target for request in platform.requests)


def test_an_expired_token(pulls: Pulls) -> None:
    refusal = error(40102, "Access token has expired.")
    check_expired_token(pulls, TIKTOK, refusal, is_renewed=False)


@pytest.mark.parametrize(
    ("answer", "fault", "status"),
    [
        (error(40104, "Access token is empty."), "token", "held"),
        (error(40105, "Access token is incorrect or has been revoked."), "token", "held"),
        (error(40001, "No permission to operate advertiser 1234567890."), "permission", "held"),
        (error(40100, "Requests made too frequently."), "throttled", "active"),
        (error(40016, "Requests made too frequently."), "throttled", "active"),
        (error(40133, "Advertiser's QPS (11) reaches QPS limit 10."), "throttled", "active"),
        (error(40002, "metrics: Invalid metric fields."), "refused", "active"),
        (error(20001, "Partially successful."), "temporary", "active"),
        (error(50000, "System error."), "temporary", "active"),
        (Answer(502, b"<html>Bad gateway</html>"), "temporary", "active"),
        (Answer(body=b'{"code": 0, "data": {"li'), "temporary", "active"),
        (success({}), "refused", "active"),
    ],
)
def test_faults(pulls: Pulls, answer: Answer, fault: str, status: str) -> None:
    check_fault(pulls, TIKTOK, answer, (fault, status))


def test_an_account_of_somebody_else(pulls: Pulls) -> None:
    check_fault(
        pulls, TIKTOK, error(40001, "No permission to operate advertiser."), ("permission", "held"), 0
    )
    assert pulls.ledger() == {}


def test_an_advertiser_that_is_not_listed(pulls: Pulls) -> None:
    check_fault(pulls, TIKTOK, success({"list": []}), ("account", "held"), request_count=0)


@pytest.mark.parametrize(
    ("limit", "headers", "seconds"),
    [
        ("QPM", {}, 300),
        ("QPD", {"Date": "Wed, 25 Nov 2026 12:00:00 GMT"}, 12 * 3600),
        ("QPD", {"Date": "today"}, 24 * 3600),
    ],
)
def test_limits_of_a_minute_and_of_a_day(
    pulls: Pulls, limit: str, headers: dict[str, str], seconds: float
) -> None:
    state = pull_with_fault(pulls, TIKTOK, error(40100, f"The app reaches its {limit} limit.", **headers))
    assert state.next_pull_at is not None
    assert datetime.fromisoformat(state.next_pull_at) - pulls.time == timedelta(seconds=seconds)
    assert pulls.waits == []


def test_rows_that_move_between_pages(pulls: Pulls, monkeypatch: pytest.MonkeyPatch) -> None:
    set_page_size(monkeypatch, TIKTOK, 4)
    books = fill(Books(), TODAY, days=5)
    pretend = PretendTikTok(books)
    is_moving = True

    def answer(request: ReceivedRequest) -> Answer:
        reply = pretend(request)
        if is_moving and "&page=2" in request.target:
            # A row was added to the first page, so one of its rows moved to this page.
            former = pretend(replace(request, target=request.target.replace("&page=2", "&page=1")))
            reply.body["data"]["list"][0] = former.body["data"]["list"][-1]
        return reply

    with serve_platform(pulls, TIKTOK, answer):
        connection = TIKTOK.connect(pulls)
        pulls.pull()
        assert pulls.state(connection).fault == "temporary"
        is_moving = False
        pulls.pull_later(connection, minutes=5)
    assert pulls.state(connection).fault is None
    check_books(pulls, books)
