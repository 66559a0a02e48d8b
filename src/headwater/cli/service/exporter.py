"""`headwater exporter`: process API exports until none waits. Workers start it."""

from __future__ import annotations

from argparse import Namespace

from headwater.base.settings import Settings
from headwater.exports.worker import work
from headwater.operations.terminal.command import Command
from headwater.operations.terminal.job_process import work_on_jobs
from headwater.operations.terminal.options import LEASH


def exporter(settings: Settings, arguments: Namespace) -> int:
    return work_on_jobs(settings, arguments, work)


command = Command(exporter, LEASH)
