"""Spend of an ad account at OpenAI."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

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
    check_today_in_zone,
    pull_with_fault,
    serve_platform,
)
from tests.pulls.openai.pretend import KEY, PretendOpenAI, error
from tests.pulls.staging import TODAY, Pulls
from tests.support.fake_platform import Answer
from tests.support.reading_fixtures import Api

OPENAI = Subject("openai", {}, {"api_key": KEY}, PretendOpenAI)


def test_it_works(pulls: Pulls) -> None:
    check_first_pull(pulls, OPENAI)


def test_an_account_is_the_same_by_every_way_in(pulls: Pulls, api: Api) -> None:
    """OpenAI's ids look like Meta's, whose prefix is left out of spend that is sent or looked for."""
    books = fill(Books(account="act_1234567890"), TODAY, days=2)
    with serve_platform(pulls, OPENAI, PretendOpenAI(books)):
        OPENAI.connect(pulls)
        pulls.pull()
    row = {"date": f"{TODAY}", "platform": "openai", "account_id": books.account, "campaign_id": "13"}
    spent = books.figures[TODAY, AdPlace("13")]
    sent = api.send("PUT", "/spend", json={"spend": [row | {"amount": f"{spent.amount}", "currency": "EUR"}]})
    assert sent.status_code == 200, sent.text
    assert pulls.total() == books.total(TODAY - timedelta(days=1), TODAY)
    params = {"start_date": f"{TODAY}", "end_date": f"{TODAY}", "account_id": books.account}
    listed = api.get("/spend", params=params).json()["data"]
    assert {(row["campaign_id"], row["ad_id"]) for row in listed} >= {("13", None), ("11", "1111")}
    assert len(pulls.rows()) == len({row[:6] for row in pulls.rows()})
    assert {row[2] for row in pulls.rows()} == {"1234567890"}


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
