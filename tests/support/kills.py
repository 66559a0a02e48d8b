"""Commands killed at a random moment. HEADWATER_KILLS makes the runs longer."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence

from tests.support.processes import environment
from tests.support.waiting import PATIENCE_SECONDS

KILLS = int(os.environ.get("HEADWATER_KILLS", "0"))
"""The number of kills in each such test. With 0, the test chooses."""
DRAW = random.Random("kills")


class Victim:
    """A Python command. It is expected to take as long as its last completed run."""

    def __init__(self, *command: str) -> None:
        self._command: Sequence[str] = [sys.executable, *command]
        self.seconds = 1.0
        self.killed = 0

    def strike(self) -> bool:
        """Start the command and kill it at a random moment. Return whether it had already ended."""
        start = time.monotonic()
        process = subprocess.Popen(
            self._command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            process.wait(DRAW.uniform(0.0, self.seconds))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(PATIENCE_SECONDS)
            self.killed += 1
            self.seconds *= 1.05  # so that the end of its work is reached, too
            return False
        self.seconds = time.monotonic() - start
        return True
