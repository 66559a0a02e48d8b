"""The environment of every test: a real PostgreSQL, and the real application on a real port.

A test gets its own Space instead of an empty database: the product promises isolation by Space, so the tests
rely on it.
"""

from __future__ import annotations

import functools
import hashlib
import os
import secrets
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import httpx2
import hypothesis
import psycopg
import pytest
from psycopg.sql import SQL, Identifier, Literal
from structlog.testing import capture_logs
from xdist.remote import Producer

from headwater.app import create_app
from headwater.base import logs
from headwater.base.egress.client import Egress
from headwater.base.settings import Settings
from headwater.database.cluster.distribution import distribute
from headwater.database.embedded import Embedded
from headwater.database.migrator import migrate
from headwater.forwarding.platforms.registry import PLATFORMS
from headwater.http.refusal_log import log_repeated
from headwater.http.server import make_server
from headwater.spaces.accounts.passwords import Passwords
from headwater.spaces.keys import SCOPES
from headwater.spend.platforms.registry import PLATFORMS as SPEND_PLATFORMS
from tests.support.campaigns import IS_LONG
from tests.support.clusters import CLUSTER_URL, left_out
from tests.support.connections import Lender
from tests.support.distribution import Scheduling, keep_share, mark_by_folder, put_longest_first
from tests.support.installations import UNSAFE, install
from tests.support.old_postgresql import find_tested
from tests.support.spaces import insert_space
from tests.support.waiting import PATIENCE_SECONDS, wait_until

API = "/public-api/v1"
BASE_URL = "http://headwater.test"
"""The public address in the tested application's settings."""
NOWHERE = "http://127.0.0.1:9"
"""An address without a listener."""
MOST_CORES = 8
"""The most cores that a run uses: each process has its own PostgreSQL and collects all tests."""

# Tests have no deadlines: a busy machine must not fail one. An ordinary run uses half of hypothesis's
# examples.
hypothesis.settings.register_profile(
    "headwater",
    max_examples=100 if IS_LONG else 50,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("headwater")

# Every HTTP client would read all trusted certificates of the machine, which takes longer than most tests.
# They don't change during a run.

ssl.create_default_context = functools.cache(ssl.create_default_context)
httpx2.create_ssl_context = functools.cache(httpx2.create_ssl_context)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the longest tests first, mark tests by folder, and skip those that don't apply to a cluster on one.

    A run that ends at the first failure keeps the order of its command line: the tests most likely to fail
    are first.
    """
    if not config.getoption("maxfail"):
        put_longest_first(items)
    if share := os.environ.get("HEADWATER_TEST_SHARE"):
        keep_share(config, items, share)
    for item in items:
        mark_by_folder(item)
        if reason := left_out(item.nodeid):
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Number cases of bytes: packed ones contain a time, and workers must collect the same names."""
    return argname if isinstance(val, bytes) else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Run one process more than cores, because tests also wait. With two more, two cores took 8 % longer."""
    return min(os.cpu_count() or 1, MOST_CORES) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling | None:
    """Use our distribution of tests for `--dist loadfile`."""
    return Scheduling(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture(scope="session", autouse=True)
def _logging() -> None:
    logs.configure("error")


@pytest.fixture(autouse=True)
def _logging_restored() -> Iterator[None]:
    """Undo a test's logging configuration: a command under test logs to that test's standard error, which is
    closed afterwards.
    """
    yield
    logs.configure("error")


@pytest.fixture(scope="session")
def database_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A migrated database. Durability is off, because no test of this server outlives a crash.

    HEADWATER_TEST_CITUS_URL selects a cluster's database instead, HEADWATER_TEST_POSTGRESQL other programs.
    """
    if CLUSTER_URL is not None:
        migrate(CLUSTER_URL)
        with psycopg.connect(CLUSTER_URL, autocommit=True) as connection:
            distribute(connection)
        yield CLUSTER_URL
        return
    data_dir, programs = tmp_path_factory.mktemp("headwater") / "data", find_tested()
    server = Embedded(install(data_dir) if programs is None else data_dir, programs)
    url = server.start(UNSAFE, tied=True)
    migrate(url)
    _make_logins_cheap(url, server.read_password())
    yield url
    server.stop()


def _make_logins_cheap(url: str, password: str) -> None:
    """Verify the password in one round instead of thousands, because tests open many connections."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET scram_iterations = 1")
        connection.execute(SQL("ALTER ROLE CURRENT_USER PASSWORD {}").format(Literal(password)))


@pytest.fixture(scope="session")
def _young_template(database_url: str) -> Iterator[str]:
    """The name of an empty database to copy, because running all migrations takes much longer."""
    with _new_database(database_url, "template1") as (name, _):
        yield name


@pytest.fixture
def young_url(database_url: str, _young_template: str) -> Iterator[str]:
    """An empty database."""
    with _new_database(database_url, _young_template) as (_, url):
        yield url


@contextmanager
def _new_database(database_url: str, template: str) -> Iterator[tuple[str, str]]:
    """Create a migrated database, and yield its name and URL. A copy still gets its own role."""
    name = f"young_{secrets.token_hex(8)}"
    url = urlsplit(database_url)._replace(path=f"/{name}").geturl()
    with psycopg.connect(database_url, autocommit=True) as server:
        server.execute(
            SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy").format(
                Identifier(name), Identifier(template)
            )
        )
        migrate(url)
        yield name, url
        server.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


@pytest.fixture(scope="session")
def _lender(database_url: str) -> Iterator[Lender]:
    lender = Lender(database_url)
    yield lender
    lender.close()


@pytest.fixture
def connection(_lender: Lender) -> Iterator[psycopg.Connection]:
    """A connection in autocommit, for tests that check the database directly."""
    connection = _lender.lend()
    yield connection
    _lender.take_back(connection)


@pytest.fixture
def _no_service(connection: psycopg.Connection) -> None:
    """Forget the address that an earlier test's service has stored for commands."""
    connection.execute("UPDATE installation SET base_url = NULL")


@pytest.fixture
def make_space(connection: psycopg.Connection) -> Callable[..., int]:
    """A function that creates an empty Space with the given columns."""

    def make(**columns: Any) -> int:
        return insert_space(connection, **columns)

    return make


@pytest.fixture
def refusal_lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The log lines of this test. Earlier repeated lines are flushed, and no minute ends during the test."""
    monkeypatch.setattr("headwater.http.refusal_log.log_repeated", lambda: None)
    log_repeated()
    with capture_logs() as log_lines:
        yield log_lines
    log_repeated()


@pytest.fixture
def space_id(make_space: Callable[..., int]) -> int:
    """An empty Space."""
    return make_space()


@pytest.fixture
def make_key(connection: psycopg.Connection) -> Callable[..., str]:
    """A function that creates an API key for a Space, with every scope by default."""

    def make(space_id: int, scopes: Sequence[str] = SCOPES) -> str:
        key = "trk_sk_" + secrets.token_urlsafe(32)
        digest = hashlib.sha256(key.encode()).digest()
        connection.execute(
            "INSERT INTO api_keys (space_id, name, key_hash, hint, scopes) VALUES (%s, 'test', %s, %s, %s)",
            (space_id, digest, key[-4:], list(scopes)),
        )
        return key

    return make


@dataclass
class Running:
    """A server of the real application in a thread."""

    base_url: str
    stop: Callable[[], None]
    data_dir: Path


def run_application(
    settings: Settings,
    database_url: str,
    passwords: Passwords | None = None,
    egress: Egress | None = None,
    host: str = "127.0.0.1",
) -> Running:
    """Start the application on a free port and wait until it responds. `host` is a name of this machine."""
    listener = socket.create_server(("127.0.0.1", 0))
    base_url = f"http://{host}:{listener.getsockname()[1]}"
    server = make_server(create_app(settings, database_url, base_url, passwords, egress))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    wait_until(lambda: server.started or not thread.is_alive())
    assert server.started

    def stop() -> None:
        server.should_exit = True
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()

    return Running(base_url, stop, settings.data_dir)


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the application's files."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="session")
def server(database_url: str, data_dir: Path) -> Iterator[Running]:
    """The application, with limits and platform addresses that no test reaches by accident."""
    nowhere = dict.fromkeys([*PLATFORMS, *(f"{name}_spend" for name in SPEND_PLATFORMS)], NOWHERE)
    settings = Settings(rate_limit_factor=1000, base_url=BASE_URL, data_dir=data_dir, platform_urls=nowhere)
    application = run_application(settings, database_url)
    yield application
    application.stop()


@pytest.fixture
def client(server: Running, space_id: int, make_key: Callable[..., str]) -> Iterator[httpx.Client]:
    """An HTTP client with a key to the test's Space that has every scope."""
    with client_for(server, make_key(space_id)) as client:
        yield client


def client_for(server: Running, key: str) -> httpx.Client:
    """Return an HTTP client with the key `key`."""
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.Client(base_url=server.base_url + API, headers=headers, timeout=PATIENCE_SECONDS)


# Fixtures shared by several files.
pytest_plugins = [
    "tests.support.reading_fixtures", "tests.support.exports", "tests.support.webhooks",
    "tests.support.importing", "tests.support.import_desk", "tests.support.sites",
    "tests.support.destinations", "tests.support.sides", "tests.conformance.node",
    "tests.oauth.fixtures", "tests.support.collecting",
]  # fmt: skip
