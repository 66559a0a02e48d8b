"""The TypeScript client under faults, in Node: bad keys and events, failing callbacks, a hanging or missing
service, and an end without `close`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.conftest import Running
from tests.sdks.test_typescript_client import run_program
from tests.support.factories import make_stage

SCRIPT = Path(__file__).parent / "enduring.mts"
PACKAGE = Path(__file__).parents[2] / "sdks" / "typescript" / "package.json"


@pytest.fixture(scope="module")
def outcome(server: Running, database_url: str) -> dict[str, Any]:
    """The program's output, and the stored orders."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        return run_program(SCRIPT, make_stage(connection), DIRECT=server.base_url)


def test_it_works(outcome: dict[str, Any]) -> None:
    """Events that were waiting at the program's end are sent, too."""
    orders_at_exit = {f"left-{number}" for number in range(40)}
    assert set(outcome["orders"]) == {"as-added", "late", "kept-alive"} | orders_at_exit


def test_bad_keys_and_addresses_are_refused_at_once(outcome: dict[str, Any]) -> None:
    assert outcome["addresses"] == ["TypeError"] * 5


def test_an_event_that_json_cannot_hold_is_refused_when_it_is_added(outcome: dict[str, Any]) -> None:
    assert outcome["unwritable"] == ["InvalidEventError", "InvalidEventError"]


def test_callbacks_that_fail_stop_nothing(outcome: dict[str, Any]) -> None:
    assert outcome["rejected"] == ["wrong-1", "wrong-2"]
    assert outcome["warnings"].count("planted") >= 2


def test_calls_and_closing_end_in_time(outcome: dict[str, Any]) -> None:
    assert outcome["hanging"]["result"] == "ConnectionFailedError"
    assert outcome["closed"]["result"] is False
    assert outcome["gone"]["result"] == "ConnectionFailedError"
    assert outcome["hanging"]["milliseconds"] < 10_000 > outcome["closed"]["milliseconds"]


def test_closing_tries_until_the_service_is_back(outcome: dict[str, Any]) -> None:
    assert outcome["late"] is True


def test_a_requested_pause_is_kept(outcome: dict[str, Any]) -> None:
    assert outcome["limited"] == [False, 1]


def test_a_closed_buffer_takes_nothing(outcome: dict[str, Any]) -> None:
    assert outcome["full"] == "BufferFullError"


def test_requests_name_the_client_and_its_version(outcome: dict[str, Any]) -> None:
    version = json.loads(PACKAGE.read_text())["version"]
    assert outcome["agents"] == [f"headwater-client-typescript/{version}"]


def test_only_small_requests_are_kept_alive(outcome: dict[str, Any]) -> None:
    assert outcome["kept"] == [True, False]
