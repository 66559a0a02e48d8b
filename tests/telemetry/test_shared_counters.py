"""The counters of several processes. A restarted process continues the counters of the one that died, and a
replacement has separate counters in addition to its predecessor's. So sums never shrink, and no files of dead
processes accumulate.
"""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from headwater.base.telemetry.counter_files import (
    DIRECTORY,
    FILE_BYTES,
    PROCESS,
    find_beginning,
    reserve_files,
    take_name,
)
from tests.conftest import API
from tests.support.campaigns import campaign_size
from tests.support.commands import run_command
from tests.support.installations import install
from tests.support.processes import Serve
from tests.support.waiting import PATIENCE_SECONDS, wait_until

EVENTS = 5
RELOADS = campaign_size("HEADWATER_RELOADS", 1, 2)


def read_count(url: str, name: str, **labels: str) -> float:
    """Return a count as any process reports it."""
    text = httpx.get(f"{url}/metrics", timeout=PATIENCE_SECONDS).text
    values = [
        sample.value for family in text_string_to_metric_families(text)
        for sample in family.samples if sample.name == name and sample.labels == labels
    ]  # fmt: skip
    return sum(values)


def accepted_rows(url: str) -> float:
    return read_count(url, "headwater_accepted_rows_total")


def processed_rows(url: str) -> float:
    return read_count(url, "headwater_processed_rows_total", outcome="taken")


def send(url: str, key: str) -> None:
    for _ in range(EVENTS):
        answer = httpx.post(
            f"{url}{API}/events/track", timeout=PATIENCE_SECONDS,
            headers={"Authorization": f"Bearer {key}"},
            json={"event_name": "sign_up", "email": "ada@acme.example"},
        )  # fmt: skip
        assert answer.status_code == 202


def kill_each(serve: Serve, role: str) -> None:
    victims = serve.find_children(role)
    for victim in victims:
        victim.kill()
        wait_until(lambda gone=victim.pid: gone not in [process.pid for process in serve.find_children(role)])
        wait_until(lambda: len(serve.find_children(role)) == len(victims))


def other_worker_counts(url: str, data_dir: Path) -> None:
    """Check a worker without a supervisor: a machine may have no API process."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with Serve(data_dir, "--metrics", f"127.0.0.1:{port}", command="worker") as worker:
        worker_url = f"http://127.0.0.1:{port}"
        wait_until(lambda: worker.process.poll() is not None or answers(worker_url))
        assert read_count(worker_url, "headwater_process_starts_total", process="worker") == 1
        assert read_count(url, "headwater_process_starts_total", process="worker") == 2 + RELOADS
        assert worker.stop() == 0


def answers(url: str) -> bool:
    try:
        return httpx.get(url).status_code == 200
    except httpx.TransportError:
        return False


def generations(data_dir: Path) -> int:
    """Return the number of processes that have counted for the API at the same time."""
    return len(list((data_dir / "metrics").glob("api-1*.lock")))


def count_on(url: str, key: str, batches: int) -> None:
    """Send another batch, and check the sums of all batches so far."""
    send(url, key)
    assert accepted_rows(url) == batches * EVENTS
    wait_until(lambda: processed_rows(url) == batches * EVENTS)


def test_it_works(tmp_path: Path) -> None:
    data_dir = install(tmp_path / "data")
    with Serve(data_dir, "--port", "0") as serve:
        url = serve.url()
        data_options = ("--data-dir", str(data_dir), "--json")
        space = json.loads(run_command("space", "create", "--name", "Shop", *data_options).stdout)["id"]
        result = run_command("key", "create", "--space", str(space), "--name", "x", *data_options)
        key = json.loads(result.stdout)["key"]
        count_on(url, key, 1)
        kill_each(serve, " api ")
        kill_each(serve, " worker ")
        count_on(url, key, 2)
        assert generations(data_dir) == 1
        for number in range(RELOADS):
            assert run_command("reload", *data_options).returncode == 0
            count_on(url, key, 3 + number)
            assert generations(data_dir) == 2  # for a while there were two of each
        assert read_count(url, "headwater_process_starts_total", process="api") == 2 + RELOADS
        other_worker_counts(url, data_dir)
        assert serve.stop() == 0


def test_a_name_belongs_to_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DIRECTORY, str(tmp_path))
    for name in ("api-1", "api-1.2", "api-1.3"):
        monkeypatch.setenv(PROCESS, "api-1")
        assert take_name() == name
    os.utime(tmp_path / "api-1.3.lock", ns=(0, 7))
    assert find_beginning() == 7


@pytest.mark.parametrize(("variable", "missing"), [(DIRECTORY, PROCESS), (PROCESS, DIRECTORY)])
def test_a_process_that_shares_no_counters_has_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, missing: str
) -> None:
    monkeypatch.delenv(missing, raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    assert take_name() is None


def test_files_have_their_space_from_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk, writing to a mapped page without space ends the process."""
    monkeypatch.setenv(DIRECTORY, str(tmp_path))
    assert reserve_files("api-1")
    assert reserve_files("api-1")
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["counter_api-1.db", "histogram_api-1.db"]
    for file in files:
        assert file.stat().st_size == FILE_BYTES <= 512 * file.stat().st_blocks
    monkeypatch.setenv(DIRECTORY, str(tmp_path / "missing"))
    assert not reserve_files("api-1")
