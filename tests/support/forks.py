"""A copy of this process that dies at a failpoint: a new process takes a second of the processor to import
all that it runs.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from contextlib import suppress

from headwater.base import failpoints


def die_at(point: str, work: Callable[[], object]) -> int:
    """Work in a copy of this process in which the failpoint is armed. Returns its exit code, as `subprocess`
    has it.
    """

    def arm() -> None:
        failpoints._ARMED = point

    return run_copy(arm, work)


def run_copy(prepare: Callable[[], object], work: Callable[[], object]) -> int:
    """Prepare and work in a copy of this process. Returns its exit code, as `subprocess` has it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, which it does not use
        process = os.fork()
    if not process:
        prepare()
        with suppress(BaseException):
            work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
