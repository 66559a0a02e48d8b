"""The supervisor's signals."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any

from headwater.base.succession import RELOAD

REQUESTS = (signal.SIGTERM, signal.SIGINT, RELOAD)


class Wakeups:
    """Ends a wait when a child exits or on a stop or reload signal. The interpreter writes every signal into
    a pipe, so none is missed.
    """

    def __init__(self) -> None:
        self.stopping = False
        self.reloading = False
        self._interrupts = False
        self._read, write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in (*REQUESTS, signal.SIGCHLD):
            signal.signal(number, self._note)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, REQUESTS)

    def _note(self, number: int, _: Any) -> None:
        if number == RELOAD:
            self.reloading = True
        elif number != signal.SIGCHLD:
            self.stopping = True
            if self._interrupts:
                self._interrupts = False  # a second signal must not interrupt the end of the block
                raise KeyboardInterrupt

    @contextmanager
    def interruptible(self) -> Generator[None]:
        """Leave the block at a stop signal, because it may wait for a database for any time."""
        self._interrupts = True
        try:
            yield
        except KeyboardInterrupt:
            if not self.stopping:
                raise
        finally:
            self._interrupts = False

    def wait(self, seconds: float | None) -> None:
        select.select([self._read], [], [], seconds)
        with suppress(BlockingIOError):
            os.read(self._read, 4096)


def hold_back() -> None:
    """Block signals until the next program has installed its handlers: before that, each would end it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, REQUESTS)


def listen_again() -> None:
    """Accept signals again after executing the new program failed."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, REQUESTS)
