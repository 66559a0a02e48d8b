"""A sender that is killed and restarted, through a network that fails at random: every event that its buffer
has accepted arrives once.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from headwater_client import Client, EventBuffer

from tests.conftest import Running
from tests.sdks.test_python_buffer import stored_orders
from tests.sdks.wire import failing_network
from tests.support.factories import Stage
from tests.support.processes import environment
from tests.support.sizes import ROOT
from tests.support.waiting import PATIENCE_SECONDS, wait_until

KILLS = int(os.environ.get("HEADWATER_SDK_KILLS", "2"))
EVENTS = 60 * (KILLS + 1)
SEED = 7


def read_notes(notes: Path) -> list[int]:
    lines = notes.read_text().splitlines() if notes.exists() else []
    return [int(line) for line in lines]


def test_it_works(server: Running, stage: Stage, make_key: Callable[..., str], tmp_path: Path) -> None:
    chance = random.Random(SEED)
    file, notes = tmp_path / "events.db", tmp_path / "taken"
    with failing_network(server.base_url, SEED) as network:
        variables = environment(
            URL=network.url, KEY=make_key(stage.space_id),
            PYTHONPATH=str(ROOT / "sdks" / "python" / "src"),
        )  # fmt: skip

        def start() -> subprocess.Popen[bytes]:
            first = max(read_notes(notes), default=-1) + 1
            arguments = [str(file), str(notes), str(first), str(EVENTS)]
            script = str(Path(__file__).with_name("sending.py"))
            return subprocess.Popen([sys.executable, script, *arguments], env=variables)

        for kill in range(KILLS):
            sender = start()
            minimum = min(EVENTS - 5, 60 * kill + chance.randrange(5, 55))
            wait_until(lambda: len(read_notes(notes)) >= minimum)  # noqa: B023 - it is called right here
            sender.kill()
            sender.wait()
        last = start()
        assert last.wait(PATIENCE_SECONDS) == 0
    orders = stored_orders(stage)
    # The event that was being added during a kill may be stored but not recorded. It was then added once
    # more.
    assert orders == sorted(str(number) for number in range(EVENTS))
    with EventBuffer(Client(server.base_url, "any"), file=file) as file_buffer:
        assert len(file_buffer) == 0
