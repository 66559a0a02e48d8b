"""Run the steps of a command, which read its options, open a transaction and return rows, and print their
result.
"""

from __future__ import annotations

import asyncio
import functools
from argparse import Namespace
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from psycopg import AsyncConnection

from headwater.base.settings import Settings
from headwater.operations.terminal.audited import change
from headwater.operations.terminal.command import Run
from headwater.operations.terminal.connection import explain_failures
from headwater.operations.terminal.output import Noted, Output, print_result
from headwater.spaces.audit.kinds import Kind

Result = Output | Noted
Steps = Callable[[Settings, Namespace], Coroutine[Any, Any, Result] | Result]
Row = TypeVar("Row")


def prints(steps: Steps) -> Run:
    """Return a command that runs a function or a coroutine function, and prints its result, as JSON with
    `--json`. Raises Failure.
    """

    @functools.wraps(steps)
    def run(settings: Settings, arguments: Namespace) -> int:
        with explain_failures(settings):
            result = steps(settings, arguments)
            if isinstance(result, Coroutine):
                result = asyncio.run(result)
        print_result(result, as_json=arguments.json)
        return 0

    return run


def acts_on_row(
    kind: Kind,
    option: str,
    describe: Callable[[Row, Namespace], Output],
    act: Callable[[AsyncConnection, int, int], Awaitable[Row]],
) -> Run:
    """Return a command that acts on the row with the id in `option`, records changes, and prints the row."""

    @prints
    async def run(settings: Settings, arguments: Namespace) -> Output:
        async with change(settings, arguments, kind) as connection:
            row = await act(connection, arguments.space, getattr(arguments, option))
        return describe(row, arguments)

    return run
