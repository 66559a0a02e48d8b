"""Pages of ad accounts whose spend is fetched: connecting, viewing, repairing and removing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from ipaddress import ip_network

import psycopg
import pytest

from headwater.base.settings import Settings
from headwater.spend.platforms.registry import PLATFORMS
from tests.conftest import Running, run_application
from tests.console.conftest import Counting, Person
from tests.console.test_platforms import page_text
from tests.pulls.books import Books, fill
from tests.pulls.meta.pretend import TOKEN, PretendMeta
from tests.support.factories import Stage
from tests.support.fake_platform import FakePlatform

BOOKS = fill(Books(), datetime.now(UTC).date())


@pytest.fixture(scope="module")
def console(
    database_url: str, tmp_path_factory: pytest.TempPathFactory, passwords: Counting
) -> Iterator[Running]:
    """The application with a fake Meta."""
    with FakePlatform(default=PretendMeta(BOOKS)) as meta:
        settings = Settings(
            rate_limit_factor=1000,
            data_dir=tmp_path_factory.mktemp("spend"),
            trusted_proxies=(ip_network("127.0.0.1"),),
            platform_urls={"meta_spend": meta.url},
        )
        application = run_application(settings, database_url, passwords)
        yield application
        application.stop()


def base(space_id: int) -> str:
    return f"/console/spaces/{space_id}/spend/connections"


def connect(owner: Person, space_id: int, **fields: str) -> str:
    """Fill in the form, and return the text of the next page."""
    path = f"{base(space_id)}/connect/meta"
    account = {"settings.ad_account_id": BOOKS.account, "secrets.access_token": TOKEN}
    return page_text(owner.browser.fill(path, path, **{**account, **fields}).text)


def test_it_works(owner: Person, space_id: int, connection: psycopg.Connection) -> None:
    """From an empty list to a connection that waits for its first pull."""
    empty = owner.browser.get(base(space_id)).text
    assert "No ad account is connected" in empty
    assert all(f"/connect/{name}" in empty for name in PLATFORMS)
    page = connect(owner, space_id, name="Main account")
    assert "Main account" in page
    assert "Starting" in page
    assert "Main account" in owner.browser.get(f"/console/spaces/{space_id}/spend").text
    rows = connection.execute(
        "SELECT platform, name, status, secrets IS NOT NULL FROM spend_connections WHERE space_id = %s",
        (space_id,),
    ).fetchall()
    assert rows == [("meta", "Main account", "active", True)]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"secrets.access_token": "another"}, "Invalid OAuth access token"),
        ({"settings.ad_account_id": "99"}, "Object does not exist"),
        ({"settings.ad_account_id": "act_x"}, "must be 1 to 20 digits"),
        ({"secrets.access_token": ""}, "is required"),
    ],
)
def test_bad_input(owner: Person, space_id: int, fields: dict[str, str], message: str) -> None:
    """Nothing is saved, and the page says what is wrong."""
    page = connect(owner, space_id, **fields)
    assert message in page
    assert "No ad account is connected" in owner.browser.get(base(space_id)).text


def test_a_refused_account_can_be_saved_anyway(owner: Person, space_id: int) -> None:
    assert "Starting" in connect(owner, space_id, **{"secrets.access_token": "another", "anyway": "yes"})


@pytest.fixture
def destination(owner: Person, space_id: int) -> int:
    """A destination at Meta, with a token that may also read ads."""
    path = f"/console/spaces/{space_id}/platforms/connect/meta"
    account = {"name": "Shop pixel", "settings.pixel_id": "1234567890123456", "secrets.access_token": TOKEN}
    page = owner.browser.fill(path, path, **account)
    return int(str(page.url).partition("/platforms/")[2].partition("/")[0])


def test_a_destination_lends_its_token(
    owner: Person, space_id: int, destination: int, connection: psycopg.Connection
) -> None:
    """The token is offered, checked and used; the page names the destination until another token is
    entered.
    """
    new = owner.browser.get(f"{base(space_id)}/connect/meta").text
    assert "Use the token of Shop pixel" in page_text(new)
    page = connect(owner, space_id, **{"secrets.access_token": "ignored", "destination_id": f"{destination}"})
    assert "Starting" in page
    assert "Shop pixel" in page
    (row,) = connection.execute(
        "SELECT id, lender_id, secret_names FROM spend_connections WHERE space_id = %s", (space_id,)
    ).fetchall()
    assert row[1:] == (destination, ["access_token"])
    path = f"{base(space_id)}/{row[0]}"
    owner.browser.fill(f"{path}/settings", f"{path}/settings", name="Another name")
    assert "Shop pixel" in owner.browser.get(path).text
    owner.browser.fill(f"{path}/settings", f"{path}/settings", **{"secrets.access_token": TOKEN})
    assert "Shop pixel" not in owner.browser.get(path).text


@pytest.mark.usefixtures("destination")
def test_another_token_than_the_destinations(
    owner: Person, space_id: int, connection: psycopg.Connection
) -> None:
    assert "Shop pixel" not in connect(owner, space_id, destination_id="")
    assert connection.execute(
        "SELECT lender_id FROM spend_connections WHERE space_id = %s", (space_id,)
    ).fetchall() == [(None,)]


@pytest.mark.parametrize("change", ["status = 'held'", "secret_names = '{}'", "platform = 'tiktok'"])
def test_a_token_that_cannot_be_used_is_not_offered(
    owner: Person, space_id: int, destination: int, connection: psycopg.Connection, change: str
) -> None:
    connection.execute(f"UPDATE destinations SET {change} WHERE id = %s", (destination,))
    assert "the token of" not in owner.browser.get(f"{base(space_id)}/connect/meta").text


@pytest.mark.parametrize("fields", ["999", "x", "\u0661"])
def test_a_destination_that_is_not_there_lends_nothing(owner: Person, space_id: int, fields: str) -> None:
    connect(owner, space_id, destination_id=fields)
    assert "No ad account is connected" in owner.browser.get(base(space_id)).text


@pytest.fixture
def held_connection(connection: psycopg.Connection, space_id: int) -> int:
    """A connection whose token has expired."""
    fault = {"fault": "token", "fault_message": "Session has expired", "failures": 1}
    return Stage(connection, space_id, "").spend_connection(
        status="held", failing_since=datetime.now(UTC), settings='{"ad_account_id": "1234567890"}', **fault
    )


def test_a_day_that_is_too_large_is_not_called_a_file(
    owner: Person, connection: psycopg.Connection, space_id: int
) -> None:
    """Watched files have a fault of the same name."""
    fault = {"fault": "too_large", "fault_message": "x", "failures": 1, "failing_since": datetime.now(UTC)}
    Stage(connection, space_id, "").spend_connection(**fault)
    text = page_text(owner.browser.get(base(space_id)).text)
    assert "Too large" in text
    assert "File too large" not in text


def test_a_held_connection_says_what_to_do(owner: Person, space_id: int, held_connection: int) -> None:
    text = page_text(owner.browser.get(f"{base(space_id)}/{held_connection}").text)
    assert "Session has expired" in text
    assert "new token" in text
    assert "Sign-in needed" in page_text(owner.browser.get(base(space_id)).text)


def test_a_new_token_ends_the_hold(
    owner: Person, space_id: int, held_connection: int, connection: psycopg.Connection
) -> None:
    path = f"{base(space_id)}/{held_connection}/settings"
    owner.browser.fill(path, path, **{"secrets.access_token": TOKEN})
    assert status(connection, held_connection) == "active"


def test_pause_resume_and_remove(
    owner: Person, space_id: int, held_connection: int, connection: psycopg.Connection
) -> None:
    page = f"{base(space_id)}/{held_connection}"
    owner.browser.fill(page, f"{page}/resume")
    assert status(connection, held_connection) == "active"
    owner.browser.fill(page, f"{page}/pause")
    assert status(connection, held_connection) == "paused"
    owner.browser.fill(page, f"{page}/remove")
    assert status(connection, held_connection) is None


def status(connection: psycopg.Connection, connection_id: int) -> str | None:
    row = connection.execute(
        "SELECT status FROM spend_connections WHERE id = %s", (connection_id,)
    ).fetchone()
    return None if row is None else row[0]


def test_campaigns_without_visits_and_spend_without_an_account(
    owner: Person, space_id: int, connection: psycopg.Connection
) -> None:
    stage = Stage(connection, space_id, "")
    row = stage.spend_connection(account_id="1234567890", currency="EUR", account_name="Main")
    today = datetime.now(UTC).date()
    for account, campaign in (("1234567890", "11"), ("1234567890", "12"), ("", "old")):
        connection.execute(
            "INSERT INTO spend (space_id, date, key, platform, account_id, campaign_id, adset_id, ad_id,"
            " country, currency, amount, as_of, place) VALUES (%s, %s, decode(md5(%s), 'hex'), 'meta', %s,"
            " %s, '', '', '', 'EUR', 12.50, now(), 0)",
            (space_id, today, account + campaign, account, campaign),
        )
    stage.touchpoint(stage.contact(), "facebook_ads", campaign_id="11")
    text = page_text(owner.browser.get(f"{base(space_id)}/{row}").text)
    assert "1 campaign spends, but no visit carries its tag" in text
    assert "1 row of Meta" in text
