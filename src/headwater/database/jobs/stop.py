"""Stops a process that works on jobs: a signal interrupts its current work."""

from __future__ import annotations

import signal


class StopRequested(BaseException):
    """The process is to stop."""


def stop_on_signals() -> None:
    """Raise StopRequested in the main thread when the process is asked to end."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)


def _stop(_: int, __: object) -> None:
    raise StopRequested
