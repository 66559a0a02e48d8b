"""`headwater importer`: works on uploaded files until none waits. Workers start it."""

from __future__ import annotations

from argparse import Namespace

from headwater.imports.job_worker import work
from headwater.settings import Settings
from headwater.terminal.command import Command
from headwater.terminal.job_process import work_on_jobs
from headwater.terminal.options import LEASH


def importer(settings: Settings, arguments: Namespace) -> int:
    """Work on uploaded files until none waits."""
    return work_on_jobs(settings, arguments, work)


command = Command(importer, LEASH)
