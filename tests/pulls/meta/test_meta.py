"""Spend of a Meta ad account."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta

import pytest

from tests.pulls.books import AdPlace, Books, fill
from tests.pulls.checks import Subject, check_deleted_campaign, check_pages
from tests.pulls.meta.pretend import TOKEN, PretendMeta, error
from tests.pulls.staging import TODAY, Pulls
from tests.support.fake_platform import Answer, FakePlatform
from tests.support.wire import ReceivedRequest

SETTINGS = {"ad_account_id": "1234567890"}
SECRETS = {"access_token": TOKEN}
META = Subject("meta", SETTINGS, SECRETS, PretendMeta)


@pytest.fixture
def books() -> Books:
    return fill(Books(), TODAY)


@pytest.fixture
def _meta(pulls: Pulls, books: Books) -> Iterator[None]:
    with FakePlatform(default=PretendMeta(books)) as platform:
        pulls.urls["meta"] = platform.url
        yield


@pytest.mark.usefixtures("_meta")
def test_it_works(pulls: Pulls, books: Books) -> None:
    connection = pulls.connect("meta", SETTINGS, SECRETS)
    pulls.pull()
    assert pulls.total() == books.total(TODAY - timedelta(days=395), TODAY)
    expected = {
        (day, ad_place.ad): spent.amount for (day, ad_place), spent in books.figures.items() if ad_place.ad
    }
    assert pulls.ledger("ad") == expected
    state = pulls.state(connection)
    assert (state.account_name, state.currency, state.timezone) == ("Main shop", "EUR", "Europe/Berlin")
    assert (state.status, state.fault, state.failures, state.history_share) == ("active", None, 0, 1.0)
    first = next(row for row in pulls.rows() if row[3:6] == ("11", "111", "1111"))
    assert first[6:] == ("EUR", first[7], 1000, 20, 1, 0, "Europe/Berlin")


def test_a_deleted_campaign(pulls: Pulls) -> None:
    check_deleted_campaign(pulls, META)


def test_pages(pulls: Pulls, monkeypatch: pytest.MonkeyPatch) -> None:
    platform = check_pages(pulls, META, 2, monkeypatch)
    assert any("after=4" in request.target for request in platform.requests)


@pytest.mark.usefixtures("_meta")
def test_a_correction_and_a_row_that_is_gone(pulls: Pulls, books: Books) -> None:
    connection = pulls.connect("meta", SETTINGS, SECRETS)
    pulls.pull()
    books.spend(TODAY - timedelta(days=3), AdPlace("12", "121", "1211"), "5.50")
    for day in range(4):
        del books.figures[TODAY - timedelta(days=day), AdPlace("13")]
    pulls.pull_later(connection, hours=6)
    assert pulls.total() == books.total(TODAY - timedelta(days=395), TODAY)
    zeros = [row for row in pulls.rows() if row[3] == "13" and row[7] == 0]
    assert len(zeros) == 4


@pytest.mark.usefixtures("_meta")
def test_a_renamed_campaign(pulls: Pulls, books: Books) -> None:
    connection = pulls.connect("meta", SETTINGS, SECRETS)
    pulls.pull()
    books.names["11"] = "Winter sale"
    pulls.pull_later(connection, hours=6)
    names = pulls.stage.connection.execute(
        "SELECT name FROM ad_names WHERE space_id = %s AND kind = 'campaign' AND id = '11'",
        (pulls.stage.space_id,),
    ).fetchall()
    assert names == [("Winter sale",)]


@pytest.mark.parametrize(
    ("answer", "fault", "status"),
    [
        (error(190, "Error validating access token: Session has expired", 463), "token", "held"),
        (error(200, "Ad account owner has NOT granted ads_read permission"), "permission", "held"),
        (error(100, "Unsupported get request. Object does not exist", 33), "account", "held"),
        (error(2635, "You are calling a deprecated version of the Ads API"), "version", "held"),
        (error(17, "User request limit reached"), "throttled", "active"),
        (error(2, "An unexpected error has occurred. Please retry", status=500), "temporary", "active"),
        (error(100, "Invalid parameter"), "refused", "active"),
        (Answer(body=b'{"currency": "EUR", "timez'), "temporary", "active"),
        (Answer(body={"name": "Main shop"}), "refused", "active"),
        (Answer(body={"account_status": 2, "currency": "EUR"}), "account", "held"),
    ],
)
def test_faults(pulls: Pulls, answer: Answer, fault: str, status: str) -> None:
    with FakePlatform(default=lambda _: answer) as platform:
        pulls.urls["meta"] = platform.url
        connection = pulls.connect("meta", SETTINGS, SECRETS)
        pulls.pull()
    state = pulls.state(connection)
    assert (state.fault, state.status, state.failures) == (fault, status, 1)
    assert TOKEN not in (state.fault_message or "")


def test_too_much_data_is_asked_in_parts(pulls: Pulls, books: Books) -> None:
    pretend = PretendMeta(books)
    lengths: list[int] = []

    def answer(request: ReceivedRequest) -> Answer:
        days = re.search(r"since%22%3A%22([-0-9]+)%22%2C%22until%22%3A%22([-0-9]+)", request.target)
        if days is not None:
            lengths.append((date.fromisoformat(days[2]) - date.fromisoformat(days[1])).days + 1)
            if lengths[-1] > 7:
                return error(1, "Please reduce the amount of data you're asking for", status=500)
        return pretend(request)

    with FakePlatform(default=answer) as platform:
        pulls.urls["meta"] = platform.url
        pulls.connect("meta", SETTINGS, SECRETS)
        pulls.pull()
    assert pulls.total() == books.total(TODAY - timedelta(days=395), TODAY)
    assert 7 in lengths
