"""The counters of several API processes: one that is started again goes on with those of the one
that died, so that sums never shrink and no files of dead processes pile up.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx

from tests.conftest import API
from tests.support.processes import Serve, headwater
from tests.support.waiting import PATIENCE_SECONDS, wait_until

EVENTS = 5


def accepted(url: str) -> float:
    """How many events have been accepted, as any process tells it."""
    text = httpx.get(f"{url}/metrics", timeout=PATIENCE_SECONDS).text
    found = re.search(r"^headwater_accepted_rows_total(?:\{[^}]*\})? (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def send(url: str, key: str) -> None:
    for _ in range(EVENTS):
        answer = httpx.post(
            f"{url}{API}/events/track", timeout=PATIENCE_SECONDS,
            headers={"Authorization": f"Bearer {key}"},
            json={"event_name": "sign_up", "email": "ada@acme.example"},
        )  # fmt: skip
        assert answer.status_code == 202


def kill_each_api_process(serve: Serve) -> None:
    for victim in serve.named(" api "):
        victim.kill()
        wait_until(lambda gone=victim.pid: gone not in [one.pid for one in serve.named(" api ")])
        wait_until(lambda: len(serve.named(" api ")) == 2)


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
        files = {file.name for file in (data_dir / "metrics").iterdir()}
        kill_each_api_process(serve)
        send(url, key)
        assert accepted(url) == 2 * EVENTS
        assert {file.name for file in (data_dir / "metrics").iterdir()} == files
        assert serve.stop() == 0
