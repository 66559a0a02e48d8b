"""Commands killed at a random moment of their work. HEADWATER_KILLS makes the runs longer."""

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
"""How many there are in each test that kills; 0 leaves the number to the test."""
DRAW = random.Random("kills")


class Victim:
    """A command of Python's whose work takes about as long as the last time it came to its end."""

    def __init__(self, *words: str) -> None:
        self._command: Sequence[str] = [sys.executable, *words]
        self.seconds = 1.0
        self.killed = 0

    def strike(self) -> bool:
        """Start it and kill it at a random moment. Returns whether it had ended by then."""
        started = time.monotonic()
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
        self.seconds = time.monotonic() - started
        return True
