"""A worker process, started as in production, makes the exports requested through the API."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from tests.support.exports import Exports
from tests.support.factories import Stage
from tests.support.waiting import PATIENCE_SECONDS, wait_until


def test_it_works(stage: Stage, exports: Exports) -> None:
    stage.event(stage.contact())
    environment = {
        **os.environ, "HEADWATER_DATABASE_URL": exports.url,
        "HEADWATER_DATA_DIR": str(exports.storage.folder.parent),
    }  # fmt: skip
    worker = subprocess.Popen([sys.executable, "-m", "headwater", "worker"], env=environment)
    try:
        for _ in range(2):  # the second export is made by another process, or alongside the first
            export_id = exports.ask(date="2026-05-13")
            wait_until(lambda: exports.status(export_id)["status"] == "completed")  # noqa: B023
            assert len(exports.lines(export_id)) == 1
    finally:
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(PATIENCE_SECONDS) == 0
