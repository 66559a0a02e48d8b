"""Published libraries send orders and refunds. In the long form the API is killed meanwhile: nothing is lost
or doubled, and every amount is right to the cent. HEADWATER_SEGMENT_EVENTS sets the number.
"""

from __future__ import annotations

import random
import secrets
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import serve_pages
from tests.conformance.node import Node
from tests.crash.faults import inject
from tests.crash.load import Account
from tests.crash.service import Service
from tests.segment.orders import REFUND, is_refunded, revenue
from tests.support.campaigns import IS_LONG, campaign_size
from tests.support.processes import environment
from tests.support.sizes import ROOT
from tests.support.waiting import PATIENCE_SECONDS, wait_until

EVENTS = campaign_size("HEADWATER_SEGMENT_EVENTS", 300, 10_000)
KILLS_AT = (0.2, 0.5, 0.8) if IS_LONG else ()
"""The API is killed when these shares of the events have arrived."""
HERE = Path(__file__).parent
SECONDS = 4 * PATIENCE_SECONDS
HOST = "hw.shop.example"

if not Path("/proc/self/stat").exists():
    pytest.skip("processes cannot be found here", allow_module_level=True)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
    variables = {"HEADWATER_BASE_URL": f"http://{HOST}:{port}"}
    service = Service(tmp_path_factory.mktemp("libraries"), variables=variables)
    service.port = port
    with service.run_installed():
        yield service


@pytest.mark.parametrize("library", ["py", "rudder-py", "js", "rudder-js"])
def test_it_works(service: Service, library: str, request: pytest.FixtureRequest) -> None:
    account = service.open_account(library)
    arguments = [library, f"http://{account.host}:{account.port}", account.key, str(EVENTS)]
    if library.endswith("js"):
        node: Node = request.getfixturevalue("node")
        sender = node.start(HERE / "sending.mjs", *arguments)
    else:
        command = [sys.executable, "-m", "tests.segment.sending", *arguments]
        sender = subprocess.Popen(
            command, cwd=ROOT, env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    kill_while_it_arrives(service, account)
    _, errors = sender.communicate(timeout=SECONDS)
    assert sender.returncode == 0, errors
    check_orders(service, account, library, is_refunded)


def test_a_page(service: Service, chromium: Browser, node: Node) -> None:
    """The browser library, with the settings that it loads from this server. A page cannot send refunds."""
    account = service.open_account("page")
    page = chromium.new_page()
    page.set_default_timeout(1000 * SECONDS)
    with serve_pages({"/": "<!doctype html><title>Shop</title>"}) as port:
        origin = f"http://www.shop.example:{port}"
        key = open_site(service, account, origin)
        page.goto(origin)
        page.add_script_tag(path=node.package("@segment/analytics-next/dist/umd/index.js"))
        page.add_script_tag(path=HERE / "sending_page.js")
        options = {"writeKey": key, "cdnURL": f"http://{HOST}:{service.port}/segment", "count": EVENTS}
        page.evaluate("(options) => { sendOrders(options) }", options)
        kill_while_it_arrives(service, account)
        await_receipts(service, account, EVENTS)
        assert page.evaluate("failed") == []
        page.close()
    check_orders(service, account, "page", lambda _: False)


def open_site(service: Service, account: Account, origin: str) -> str:
    key = "trk_pk_" + secrets.token_urlsafe(18)
    with service.connect() as connection:
        connection.execute(
            "INSERT INTO sites (space_id, name, site_key, origins) VALUES (%s, 'Shop', %s, %s)",
            (account.space_id, key, [origin]),
        )
    return key


def kill_while_it_arrives(service: Service, account: Account) -> None:
    for share in KILLS_AT:
        await_receipts(service, account, share * EVENTS)
        inject(service, "kill api", random.Random("segment"))


def await_receipts(service: Service, account: Account, count: float) -> None:
    """Wait until this many rows of the account are waiting or stored."""
    with service.connect() as connection:
        wait_until(lambda: count_receipts(connection, account.space_id) >= count, SECONDS)


def check_orders(
    service: Service, account: Account, library: str, is_refunded: Callable[[int], bool]
) -> None:
    """Check that every order and refund is stored once."""
    service.drain()
    with service.connect() as connection:
        rows = connection.execute(
            "SELECT order_id, order_name, amount, currency FROM events WHERE space_id = %s",
            (account.space_id,),
        ).fetchall()
    expected = {f"{library}-{number}": cents(revenue(number)) for number in range(EVENTS)}
    assert {order_id: amount for order_id, _, amount, _ in rows if order_id} == expected
    refunds = Counter((order_name, amount) for order_id, order_name, amount, _ in rows if not order_id)
    assert refunds == Counter(
        (f"{library}-{number}", -cents(REFUND)) for number in range(EVENTS) if is_refunded(number)
    )
    assert len(rows) == len(expected) + refunds.total()
    assert {currency for *_, currency in rows} == {"EUR"}


def cents(amount: float) -> Decimal:
    return Decimal(f"{amount:.2f}")


def count_receipts(connection: psycopg.Connection, space_id: int) -> int:
    row = connection.execute(
        "SELECT (SELECT count(*) FROM inbox WHERE space_id = %(space)s)"
        " + (SELECT count(*) FROM events WHERE space_id = %(space)s)",
        {"space": space_id},
    ).fetchone()
    assert row is not None
    return row[0]
