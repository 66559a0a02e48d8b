"""`headwater importer`: process uploaded files until none waits. Workers start it."""

from __future__ import annotations

from argparse import Namespace

from headwater.base.settings import Settings
from headwater.intake.imports.job_worker import work
from headwater.operations.terminal.command import Command
from headwater.operations.terminal.job_process import work_on_jobs
from headwater.operations.terminal.options import LEASH


def importer(settings: Settings, arguments: Namespace) -> int:
    return work_on_jobs(settings, arguments, work)


command = Command(importer, LEASH)
