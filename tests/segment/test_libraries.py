"""Segment's own libraries send orders and refunds, in the long form while the API is killed: nothing is lost,
nothing doubled, every amount right to the cent. HEADWATER_SEGMENT_EVENTS sets the number.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest

from tests.conformance.node import Node
from tests.crash.faults import inject
from tests.crash.service import Service
from tests.segment.orders import REFUND, is_refunded, revenue
from tests.support.campaigns import IS_LONG, campaign_size
from tests.support.processes import environment
from tests.support.sizes import ROOT
from tests.support.waiting import PATIENCE_SECONDS, wait_until

EVENTS = campaign_size("HEADWATER_SEGMENT_EVENTS", 300, 10_000)
KILLS_AT = (0.2, 0.5, 0.8) if IS_LONG else ()
"""Shares of the events that have arrived when the API is killed."""
HERE = Path(__file__).parent
SECONDS = 4 * PATIENCE_SECONDS

if not Path("/proc/self/stat").exists():
    pytest.skip("processes cannot be found here", allow_module_level=True)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    service = Service(tmp_path)
    try:
        service.install()
        service.start()
        yield service
    finally:
        service.end()


@pytest.mark.parametrize("library", ["py", "js"])
def test_it_works(service: Service, library: str, request: pytest.FixtureRequest) -> None:
    account = service.open_account("Shop")
    arguments = [f"http://{account.host}:{account.port}", account.key, str(EVENTS)]
    if library == "js":
        node: Node = request.getfixturevalue("node")
        sender = node.start(HERE / "sending.mjs", *arguments)
    else:
        command = [sys.executable, "-m", "tests.segment.sending", *arguments]
        sender = subprocess.Popen(
            command, cwd=ROOT, env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    with psycopg.connect(service.database_url, autocommit=True) as connection:
        for share in KILLS_AT:
            wait_until(lambda share=share: count_receipts(connection) >= share * EVENTS)
            inject(service, "kill api", random.Random("segment"))
        _, errors = sender.communicate(timeout=SECONDS)
        assert sender.returncode == 0, errors
        service.drain()
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


def cents(amount: float) -> Decimal:
    return Decimal(f"{amount:.2f}")


def count_receipts(connection: psycopg.Connection) -> int:
    row = connection.execute("SELECT (SELECT count(*) FROM inbox) + (SELECT count(*) FROM events)").fetchone()
    assert row is not None
    return row[0]
