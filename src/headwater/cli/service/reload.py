"""`headwater reload`: upgrade the running service to the installed version without downtime."""

from __future__ import annotations

import os
import time
from argparse import Namespace

from headwater.base.failure import Failure
from headwater.base.settings import Settings
from headwater.base.succession import RELOAD
from headwater.operations.supervision.record import ServiceRecord, read_record
from headwater.operations.terminal.command import Command, Option
from headwater.operations.terminal.execution import prints
from headwater.operations.terminal.options import JSON
from headwater.operations.terminal.output import Output
from headwater.operations.terminal.values import seconds

LOOK_SECONDS = 0.05
PATIENCE_SECONDS = 600.0


@prints
def reload(settings: Settings, arguments: Namespace) -> Output:
    """Replace the running service's processes, and wait for all of them."""
    before = read_record(settings.data_dir)
    if before is None:
        raise Failure(f"no `headwater serve` that can be reloaded runs on {settings.data_dir}")
    os.kill(before.pid, RELOAD)
    after = _wait(settings, before, arguments.timeout)
    return {"version": after.version, "reloads": after.reloads}


def _wait(settings: Settings, before: ServiceRecord, limit: float) -> ServiceRecord:
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        record = read_record(settings.data_dir)
        if record is not None and record.reloads > before.reloads:
            return record
        if record is not None and record.failures > before.failures:
            raise Failure(f"not reloaded: {record.problem}")
        time.sleep(LOOK_SECONDS)
    raise Failure(f"not reloaded within {limit:g} s; the log has what it waits for")


command = Command(
    reload,
    Option(
        "--timeout",
        type=seconds,
        default=PATIENCE_SECONDS,
        metavar="S",
        help="seconds to wait for its end (600)",
    ),
    JSON,
)
