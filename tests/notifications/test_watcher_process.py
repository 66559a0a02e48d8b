"""The watcher process: it evaluates Spaces, and has a lower priority than the processes that accept, store
and answer.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psycopg

from headwater.cli.service.watcher import NICENESS
from tests.support.processes import environment
from tests.support.spaces import backdate_space
from tests.support.waiting import PATIENCE_SECONDS, wait_until

LOOKED_AT = "SELECT FROM alert_watches WHERE space_id = %s"


def test_it_works(database_url: str, connection: psycopg.Connection, space_id: int, tmp_path: Path) -> None:
    variables = environment(
        HEADWATER_DATABASE_URL=database_url, HEADWATER_SECRET_KEY="x" * 32,
        HEADWATER_DATA_DIR=str(tmp_path),
    )  # fmt: skip
    backdate_space(connection, space_id)
    process = subprocess.Popen([sys.executable, "-m", "headwater", "watcher"], env=variables)
    try:
        wait_until(lambda: connection.execute(LOOKED_AT, (space_id,)).fetchone() is not None)
        own_priority = os.getpriority(os.PRIO_PROCESS, 0)
        assert os.getpriority(os.PRIO_PROCESS, process.pid) == min(own_priority + NICENESS, 19)
    finally:
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0
