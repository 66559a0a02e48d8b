"""The database is frozen, dead or restarted: answers stay bounded in time, and the service recovers by
itself. Also, orderly and forced stops.
"""

from __future__ import annotations

import json
import random
import signal
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from http.client import HTTPConnection, HTTPResponse

import pytest

from tests.crash.campaign import wait_for_progress
from tests.crash.journeys import shipments
from tests.crash.load import API, Account, Ledger, Load, Outcome, Sender, resend
from tests.crash.processes import send_all
from tests.crash.service import Service
from tests.crash.verdict import judge
from tests.support.waiting import PATIENCE_SECONDS, wait_until

OUTAGE = ("database_unavailable", "database_back")
MOST_LINES = 40
"""The most log lines of all processes together, although hundreds of requests are refused."""
ANSWER_SECONDS = 5.0
EXIT_SECONDS = 10.0
EVENT = {"event_name": "sign_up", "email": "someone@firm.com"}
ROUTES = (
    ("POST", "/events/track"),
    ("GET", "/events?start_date=2024-01-01%2000:00:00&end_date=2024-02-01%2000:00:00"),
    ("GET", "/receipts/1"),
)


@pytest.fixture
def account(service: Service) -> Account:
    return service.open_account("Shop")


def start_load(account: Account, seed: str) -> Load:
    load = Load(Sender(account, shipments(f"{seed}:{number}")) for number in range(4))
    load.start()
    wait_for_progress(load, random.Random(seed))
    return load


def assert_kept(service: Service, ledger: Ledger, seed: str) -> None:
    """Check that every acknowledged event is stored once, also after unknown events were resent."""
    ledger.absorb(resend(ledger))
    service.drain()
    assert judge(service, ledger, f"{seed}:").violations == {}
    assert ledger.keys(Outcome.UNKNOWN) == []


def call(account: Account, method: str, path: str) -> tuple[int, str | None, float]:
    """Return status, Retry-After and duration in seconds of one request."""
    http = HTTPConnection(account.host, account.port, timeout=PATIENCE_SECONDS)
    headers = {"Authorization": f"Bearer {account.key}"}
    start = time.monotonic()
    http.request(method, API + path, json.dumps(EVENT) if method == "POST" else None, headers)
    answer = http.getresponse()
    answer.read()
    http.close()
    return answer.status, answer.headers["Retry-After"], time.monotonic() - start


def assert_refuses_in_time(*accounts: Account) -> None:
    """Check that every route soon answers 503: with a recently used key, with a new one, and again once the
    first connections have timed out.
    """
    calls = [(account, *route) for account in accounts for route in ROUTES]
    with ThreadPoolExecutor(len(calls)) as pool:
        for _ in range(2):
            answers = list(pool.map(lambda arguments: call(*arguments), calls))
            assert {status for status, _, _ in answers} == {503}
            assert all(retry_after and int(retry_after) > 0 for _, retry_after, _ in answers)
            assert max(seconds for _, _, seconds in answers) < ANSWER_SECONDS


@contextmanager
def freeze_postgresql(service: Service) -> Iterator[None]:
    """A frozen PostgreSQL: it neither responds nor ends."""
    processes = service.postgresql()
    send_all(processes, signal.SIGSTOP)
    yield
    send_all(processes, signal.SIGCONT)


@contextmanager
def stop_postgresql(service: Service) -> Iterator[None]:
    """A dead PostgreSQL that the stopped supervisor can't restart."""
    processes = service.postgresql()
    service.signal(signal.SIGSTOP)
    send_all(processes, signal.SIGKILL)
    yield
    service.signal(signal.SIGCONT)


@pytest.mark.parametrize("outage", [freeze_postgresql, stop_postgresql])
def test_refuses_in_time_and_heals(
    service: Service, account: Account, outage: Callable[[Service], Iterator[None]]
) -> None:
    unseen = service.open_account("Unseen")
    assert call(account, "POST", "/events/track")[0] == 202
    load = start_load(account, outage.__name__)
    lines_before, recoveries_before = (service.times_logged(event) for event in OUTAGE)
    with outage(service):
        assert_refuses_in_time(account, unseen)
    wait_until(lambda: call(account, "POST", "/events/track")[0] == 202)
    service.await_whole()
    assert 0 < service.times_logged(OUTAGE[0]) - lines_before < MOST_LINES
    assert service.times_logged(OUTAGE[1]) > recoveries_before
    assert_kept(service, load.stop(), outage.__name__)


def begin(account: Account) -> tuple[socket.socket, bytes]:
    """Send a request except its last byte. Return the connection and that byte."""
    body = json.dumps(EVENT).encode()
    head = (
        f"POST {API}/events/track HTTP/1.1\r\nHost: {account.host}\r\n"
        f"Authorization: Bearer {account.key}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    client = socket.create_connection((account.host, account.port), timeout=PATIENCE_SECONDS)
    client.sendall(head.encode() + body[:-1])
    return client, body[-1:]


def read_status(client: socket.socket) -> int:
    answer = HTTPResponse(client)
    answer.begin()
    answer.read()
    answer.close()
    return answer.status


def test_answers_everything_when_told_to_stop(service: Service, account: Account) -> None:
    load = start_load(account, "stop")
    under_way = [begin(account) for _ in range(20)]
    assert call(account, "POST", "/events/track")[0] == 202  # by now the others have arrived
    log_line = "Waiting for connections to close"
    before = service.times_logged(log_line)
    start = time.monotonic()
    service.signal(signal.SIGTERM)
    wait_until(lambda: service.times_logged(log_line) > before)
    ledger = load.stop()
    for client, last_byte in under_way[1:]:  # the first one is never completed
        client.sendall(last_byte)
    statuses = [read_status(client) for client, _ in under_way]
    for client, _ in under_way:
        client.close()
    assert service.wait() == 0
    assert time.monotonic() - start < EXIT_SECONDS
    assert set(statuses) <= {202, 503}
    service.start()
    assert_kept(service, ledger, "stop")


def test_leaves_no_orphans_when_killed(service: Service, account: Account) -> None:
    load = start_load(account, "orphans")
    family = service.family()
    assert len(family) > 3
    service.kill_supervisor()
    wait_until(lambda: not any(process.is_alive for process in family))
    ledger = load.stop()
    service.start()
    assert_kept(service, ledger, "orphans")


def test_starts_at_once_after_being_killed(service: Service, account: Account) -> None:
    """It does not wait for the killed service's remaining processes, which still hold its port."""
    load = start_load(account, "at once")
    family = service.family()
    service.kill_supervisor()
    service.port = 0
    service.start()
    wait_until(lambda: not any(process.is_alive for process in family))
    service.await_whole()
    ledger = load.stop()
    moved_account = replace(account, port=service.port)
    ledger.items = {key: (moved_account, item) for key, (_, item) in ledger.items.items()}
    assert_kept(service, ledger, "at once")
