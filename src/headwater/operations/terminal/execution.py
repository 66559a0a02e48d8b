"""Run the coroutine of a command, which reads its options, opens a transaction and returns rows, and print
its result.
"""

from __future__ import annotations

import asyncio
import functools
from argparse import Namespace
from collections.abc import Callable, Coroutine
from typing import Any

from headwater.base.settings import Settings
from headwater.operations.terminal.command import Run
from headwater.operations.terminal.connection import explain_failures
from headwater.operations.terminal.output import Noted, Output, print_result

Steps = Callable[[Settings, Namespace], Coroutine[Any, Any, Output | Noted]]


def prints(steps: Steps) -> Run:
    """Return a command that runs a coroutine function and prints its result, as JSON with `--json`. Raises
    Failure.
    """

    @functools.wraps(steps)
    def run(settings: Settings, arguments: Namespace) -> int:
        with explain_failures(settings):
            result = asyncio.run(steps(settings, arguments))
        print_result(result, as_json=arguments.json)
        return 0

    return run
