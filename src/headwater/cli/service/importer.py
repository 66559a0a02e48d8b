"""`headwater importer`: process uploaded files until none waits. Workers start it."""

from __future__ import annotations

from functools import partial

from headwater.intake.imports.job_worker import work
from headwater.operations.terminal.command import Command
from headwater.operations.terminal.job_process import work_on_jobs
from headwater.operations.terminal.options import LEASH

command = Command(partial(work_on_jobs, work), LEASH)
