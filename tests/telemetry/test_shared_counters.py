"""The counters of several processes: one that is started again goes on with those of the one that
died, so that sums never shrink and no files of dead processes pile up.
"""

from __future__ import annotations

import json
import socket
from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families

from tests.conftest import API
from tests.support.processes import Serve, headwater
from tests.support.waiting import PATIENCE_SECONDS, wait_until

EVENTS = 5


def counted(url: str, name: str, **labels: str) -> float:
    """What has been counted, as any process tells it."""
    text = httpx.get(f"{url}/metrics", timeout=PATIENCE_SECONDS).text
    found = [
        sample.value for family in text_string_to_metric_families(text)
        for sample in family.samples if sample.name == name and sample.labels == labels
    ]  # fmt: skip
    return sum(found)


def accepted(url: str) -> float:
    return counted(url, "headwater_accepted_rows_total")


def processed(url: str) -> float:
    return counted(url, "headwater_processed_rows_total", outcome="taken")


def send(url: str, key: str) -> None:
    for _ in range(EVENTS):
        answer = httpx.post(
            f"{url}{API}/events/track", timeout=PATIENCE_SECONDS,
            headers={"Authorization": f"Bearer {key}"},
            json={"event_name": "sign_up", "email": "ada@acme.example"},
        )  # fmt: skip
        assert answer.status_code == 202


def kill_each(serve: Serve, word: str) -> None:
    victims = serve.named(word)
    for victim in victims:
        victim.kill()
        wait_until(lambda gone=victim.pid: gone not in [one.pid for one in serve.named(word)])
        wait_until(lambda: len(serve.named(word)) == len(victims))


def other_worker_counts(url: str, data_dir: Path) -> None:
    """One that no supervisor started, as on a machine without an API process."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with Serve(data_dir, "--metrics", f"127.0.0.1:{port}", command="worker") as other:
        at = f"http://127.0.0.1:{port}"
        wait_until(lambda: other.process.poll() is not None or answers(at))
        assert counted(at, "headwater_process_starts_total", process="worker") == 1
        assert counted(url, "headwater_process_starts_total", process="worker") == 2
        assert other.stop() == 0


def answers(at: str) -> bool:
    try:
        return httpx.get(at).status_code == 200
    except httpx.TransportError:
        return False


def test_it_works(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with Serve(data_dir, "--port", "0", "--workers", "2") as serve:
        url = serve.url()
        where = ("--data-dir", str(data_dir), "--json")
        space = json.loads(headwater("space", "create", "--name", "Shop", *where).stdout)["id"]
        made = headwater("key", "create", "--space", str(space), "--name", "x", *where)
        key = json.loads(made.stdout)["key"]
        send(url, key)
        assert accepted(url) == EVENTS
        wait_until(lambda: processed(url) == EVENTS)
        files = {file.name for file in (data_dir / "metrics").iterdir()}
        kill_each(serve, " api ")
        kill_each(serve, " worker ")
        send(url, key)
        assert accepted(url) == 2 * EVENTS
        wait_until(lambda: processed(url) == 2 * EVENTS)
        assert {file.name for file in (data_dir / "metrics").iterdir()} == files
        assert counted(url, "headwater_process_starts_total", process="api") == 4
        other_worker_counts(url, data_dir)
        assert serve.stop() == 0
