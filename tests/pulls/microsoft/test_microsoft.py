"""Spend of a Microsoft Advertising account."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from headwater.base.egress.client import Egress
from headwater.database.pool import Database
from headwater.spend.connections.check import SealedConnections, SpendConnectionCheck, check_connection
from headwater.spend.connections.leases import open_secrets
from headwater.spend.ledger import put_report
from headwater.spend.models import SpendRow
from tests.pulls import checks
from tests.pulls.books import Books, fill
from tests.pulls.microsoft.pretend import CUSTOMER, EXPIRED, POLL, SECRETS, PretendMicrosoft, error, pack
from tests.pulls.staging import KEY, NOW, TODAY, AccountKey, Pulls
from tests.support.fake_platform import Answer
from tests.support.reading_files import read_at_a_terminal
from tests.support.reading_fixtures import Api
from tests.support.wire import ReceivedRequest

SETTINGS = {"account_id": "1234567890", "customer_id": CUSTOMER}
MICROSOFT = checks.Subject("microsoft", SETTINGS, SECRETS, PretendMicrosoft)
NO_ROWS = Answer(body={"ReportRequestStatus": {"Status": "Success"}})
REFUSED_BLOB = Answer(403, b"<?xml version='1.0'?><Error/>", {"Content-Type": "application/xml"})


def test_it_works(pulls: Pulls) -> None:
    platform = checks.check_first_pull(pulls, MICROSOFT)
    first = next(row for row in pulls.rows() if row[3:6] == ("11", "111", "1111"))
    assert first[10:12] == (1, 0)
    report = next(request.json()["ReportRequest"] for request in platform.requests if b"Time" in request.body)
    assert report["Time"]["ReportTimeZone"] == "AmsterdamBerlinBernRomeStockholmVienna"


def test_an_imported_export_is_not_counted_again(pulls: Pulls, api: Api) -> None:
    """Exports name an account by its number, which is not its id."""
    books, day = fill(Books(), TODAY, days=3), TODAY - timedelta(days=1)
    lines = ["Gregorian date,Account number,Campaign ID,Campaign name,Currency code,Impressions,Clicks,Spend"]
    lines += [
        f"{day},X0001,{place.campaign},Name,EUR,{spent.impressions},{spent.clicks},{spent.amount}"
        for _, place, spent in books.campaign_rows(day, day)
    ]
    rows, refused = read_at_a_terminal("spend", "\n".join(lines).encode())
    assert not refused
    with checks.serve_platform(pulls, MICROSOFT, PretendMicrosoft(books)):
        MICROSOFT.connect(pulls)
        pulls.pull()
    pulls.run(lambda database: _store(database, pulls.stage.space_id, rows))
    params = {"start_date": f"{day} 00:00:00", "end_date": f"{day} 23:59:59", "currency": "EUR"}
    report = api.get("/reports/spend", params=params | {"group_by": "platform"}).json()
    assert report["totals"]["spend"] == float(books.total(day, day))


async def _store(database: Database, space_id: int, rows: list[SpendRow]) -> None:
    async with database.transaction() as connection:
        await put_report(connection, space_id, rows, NOW)


def test_corrections(pulls: Pulls) -> None:
    checks.check_corrections(pulls, MICROSOFT)


def test_the_day_of_the_clock_change(pulls: Pulls) -> None:
    checks.check_clock_change(pulls, MICROSOFT)


def test_today_is_the_account_s(pulls: Pulls) -> None:
    checks.check_today_in_zone(pulls, MICROSOFT)


def test_a_token_that_expires_during_a_report(pulls: Pulls) -> None:
    checks.check_expired_token(pulls, MICROSOFT, EXPIRED, is_renewed=True)


@pytest.mark.parametrize(
    ("answer", "fault", "status"),
    [
        (EXPIRED, "token", "held"),
        (error(401, 105, "InvalidCredentials"), "token", "held"),
        (error(400, 106, "UserIsNotAuthorized"), "permission", "held"),
        (error(400, 1102, "InvalidAccountId"), "account", "held"),
        (error(400, 117, "CallRateExceeded"), "throttled", "active"),
        (error(500, 0, "InternalError"), "temporary", "active"),
        (error(400, 100, "NullRequest"), "refused", "active"),
        (Answer(404, b"<html/>", {"Content-Type": "text/html"}), "version", "held"),
        (Answer(502, b"<html/>", {"Content-Type": "text/html"}), "temporary", "active"),
        (Answer(body=b'{"Account": {"Id'), "temporary", "active"),
        (Answer(body={"Account": {}}), "refused", "active"),
    ],
)
def test_faults(pulls: Pulls, answer: Answer, fault: str, status: str) -> None:
    checks.check_fault(pulls, MICROSOFT, answer, (fault, status), request_count=0)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (Answer(body={"ReportRequestStatus": {"Status": "Error", "ReportDownloadUrl": None}}), "temporary"),
        (NO_ROWS, None),
    ],
)
def test_an_error_or_no_rows_in_a_good_answer(pulls: Pulls, answer: Answer, fault: str | None) -> None:
    state = _pull_with(pulls, POLL, answer)
    assert state.fault == fault
    assert pulls.ledger() == {}


def test_a_report_that_is_never_ready(pulls: Pulls) -> None:
    async def wait(seconds: float) -> None:
        pulls.time += timedelta(seconds=seconds)

    pulls._wait = wait
    answer = Answer(body={"ReportRequestStatus": {"Status": "Pending"}})
    state = _pull_with(pulls, POLL, answer)
    assert (state.fault, state.status) == ("temporary", "active")
    assert pulls.time - NOW < timedelta(hours=1)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (REFUSED_BLOB, "temporary"),
        (Answer(body=pack(b"TimePeriod,CampaignId\r\n")[:40]), "temporary"),
        (Answer(body=pack(b'TimePeriod,CampaignId\r\n"2026-11-01,1')), "refused"),
        (Answer(body=pack(b" " * (40 << 20))), "too_large"),
    ],
    ids=["address expired", "cut archive", "cut file", "bomb"],
)
def test_downloads_that_cannot_be_used(pulls: Pulls, answer: Answer, fault: str) -> None:
    assert _pull_with(pulls, "/download/", answer).fault == fault


def test_rotated_tokens_are_stored_before_use_and_survive_a_kill(pulls: Pulls) -> None:
    books = fill(Books(), TODAY, days=3)
    pretend = PretendMicrosoft(books)
    refresh_tokens: list[str] = []

    def answer(request: ReceivedRequest) -> Answer:
        if "token" not in request.target:
            refresh_tokens.append(_stored_secrets(pulls, connection)["refresh_token"])
            assert refresh_tokens[-1] == pretend.refresh_token
        return pretend(request)

    with checks.serve_platform(pulls, MICROSOFT, answer):
        connection = MICROSOFT.connect(pulls)
        wait, pulls._wait = pulls._wait, _die
        pulls.pull()
        assert (pretend.issued, pulls.ledger()) == (1, {})
        pulls._wait = wait
        pulls.stage.connection.execute(
            "UPDATE spend_connections SET leased_until = NULL WHERE space_id = %s", (pulls.stage.space_id,)
        )
        pulls.pull()
    assert pulls.state(connection).status == "active"
    checks.check_books(pulls, books)
    assert set(refresh_tokens) == {"M.C5_refresh.1", "M.C5_refresh.2"}


def test_a_check_stores_a_rotated_token(pulls: Pulls) -> None:
    """The token before works no longer."""
    pretend = PretendMicrosoft(Books())
    with checks.serve_platform(
        pulls, MICROSOFT, lambda request: NO_ROWS if request.target == POLL else pretend(request)
    ):
        connection = MICROSOFT.connect(pulls)

        async def check(database: Database) -> SpendConnectionCheck:
            stored = SealedConnections(database.transaction, pulls.urls, KEY)
            async with Egress(["127.0.0.1"], seconds=5) as egress:
                return await check_connection(stored, egress, AccountKey(pulls.stage.space_id, connection))

        for number in (1, 2):
            result = pulls.run(check)
            assert result.ok, result.message
            assert _stored_secrets(pulls, connection) == {
                **SECRETS,
                "refresh_token": f"M.C5_refresh.{number}",
            }


def _pull_with(pulls: Pulls, path: str, answer: Answer) -> Any:
    """Pull while requests to one path get this answer. Return the connection's state."""
    pretend = PretendMicrosoft(fill(Books(), TODAY, days=3))
    with checks.serve_platform(
        pulls, MICROSOFT, lambda request: answer if request.target.startswith(path) else pretend(request)
    ):
        connection = MICROSOFT.connect(pulls)
        pulls.pull()
    return pulls.state(connection)


def _stored_secrets(pulls: Pulls, connection: int) -> dict[str, str]:
    key = AccountKey(pulls.stage.space_id, connection)
    row = pulls.stage.connection.execute(
        "SELECT secrets FROM spend_connections WHERE space_id = %s AND id = %s", key
    ).fetchone()
    return open_secrets(KEY, key, row[0])


async def _die(_: float) -> None:
    raise asyncio.CancelledError
