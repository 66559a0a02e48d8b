"""A copy of this process that dies at a failpoint: a new process would spend a second of CPU time on
imports.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from contextlib import suppress

from headwater.base import failpoints


def die_at(point: str, work: Callable[[], object]) -> int:
    """Run `work` in a copy of this process with the failpoint armed. Return the exit code in `subprocess`'s
    convention.
    """

    def arm() -> None:
        failpoints._ARMED = point

    return run_copy(arm, work)


def run_copy(prepare: Callable[[], object], work: Callable[[], object]) -> int:
    """Run `prepare` and `work` in a copy of this process. Return the exit code in `subprocess`'s
    convention.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about forks with threads, unused in the copy
        process = os.fork()
    if not process:
        prepare()
        with suppress(BaseException):
            work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
