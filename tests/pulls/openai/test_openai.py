"""Spend of an ad account at OpenAI."""

from __future__ import annotations

from datetime import date

import pytest

from tests.pulls.books import Books, fill
from tests.pulls.checks import (
    Subject,
    check_books,
    check_clock_change,
    check_corrections,
    check_expired_token,
    check_fault,
    check_first_pull,
    check_pages,
    check_today_in_zone,
    pull_with_fault,
    serve_platform,
)
from tests.pulls.openai.pretend import KEY, PretendOpenAI, error
from tests.pulls.staging import TODAY, Pulls
from tests.support.fake_platform import Answer

OPENAI = Subject("openai", {}, {"api_key": KEY}, PretendOpenAI)


def test_it_works(pulls: Pulls) -> None:
    check_first_pull(pulls, OPENAI)


def test_corrections(pulls: Pulls) -> None:
    check_corrections(pulls, OPENAI)


def test_a_clock_change(pulls: Pulls) -> None:
    check_clock_change(pulls, OPENAI)


def test_ranges_do_not_end_in_the_future(pulls: Pulls) -> None:
    yesterday = Subject(
        "openai", {}, OPENAI.secrets, lambda books: PretendOpenAI(books, today=date(2026, 11, 24))
    )
    check_today_in_zone(pulls, yesterday)


def test_pages(pulls: Pulls, monkeypatch: pytest.MonkeyPatch) -> None:
    platform = check_pages(pulls, OPENAI, 4, monkeypatch)
    assert sum("after=" in request.target for request in platform.requests) > 4


def test_an_expired_key(pulls: Pulls) -> None:
    refusal = error(401, "Incorrect API key provided.", "invalid_api_key")
    check_expired_token(pulls, OPENAI, refusal, is_renewed=False)


@pytest.mark.parametrize(
    ("answer", "fault", "status"),
    [
        (error(401, "Incorrect API key provided.", "invalid_api_key"), "token", "held"),
        (error(403, "Forbidden"), "permission", "held"),
        (error(404, "Not found"), "permission", "held"),
        (error(429, "Rate limit reached.", "rate_limit_exceeded"), "throttled", "active"),
        (error(400, "Unknown field.", "invalid_value"), "refused", "active"),
        (error(500, "The server had an error."), "temporary", "active"),
        (Answer(body=b'{"object": "list", "da'), "temporary", "active"),
        (Answer(body={"object": "list"}), "refused", "active"),
    ],
)
def test_faults(pulls: Pulls, answer: Answer, fault: str, status: str) -> None:
    check_fault(pulls, OPENAI, answer, (fault, status))


def test_the_wait_that_a_limit_names(pulls: Pulls) -> None:
    pull_with_fault(pulls, OPENAI, error(429, "Rate limit reached.", **{"Retry-After": "7"}))
    assert pulls.waits == [7.0, 7.0, 7.0]


@pytest.mark.parametrize("is_prefixed", [False, True])
@pytest.mark.parametrize(("settings", "unit"), [({}, 1), ({"spend_unit": "micros"}, 1_000_000)])
def test_notations_of_spend(pulls: Pulls, settings: dict[str, str], unit: int, *, is_prefixed: bool) -> None:
    books = fill(Books(), TODAY, days=3)
    pretend = PretendOpenAI(books)
    pretend.unit, pretend.is_prefixed = unit, is_prefixed
    with serve_platform(pulls, OPENAI, pretend):
        pulls.connect("openai", dict(settings), dict(OPENAI.secrets))
        pulls.pull()
    check_books(pulls, books)
    assert all(row[8] == 1000 for row in pulls.rows() if row[5])
