"""`headwater exporter`: works on the exports of the API until none waits. Workers start it."""

from __future__ import annotations

from argparse import Namespace

from headwater.exports.worker import work
from headwater.settings import Settings
from headwater.terminal.command import Command
from headwater.terminal.job_process import work_on_jobs
from headwater.terminal.options import LEASH


def exporter(settings: Settings, arguments: Namespace) -> int:
    """Work on the API's exports until none waits."""
    return work_on_jobs(settings, arguments, work)


command = Command(exporter, LEASH)
