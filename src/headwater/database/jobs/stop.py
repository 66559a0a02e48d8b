"""Stops a process for jobs: a signal interrupts its current work."""

from __future__ import annotations

import signal


class StopRequested(BaseException):
    """The process must stop."""


def stop_on_signals() -> None:
    """Raise StopRequested in the main thread."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)


def _stop(_: int, __: object) -> None:
    raise StopRequested
