"""A process that a worker starts for one sort of jobs, and that ends when none waits."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import Any

import psycopg
from psycopg import Connection

from headwater import logs
from headwater.files import keep_private
from headwater.jobs import leash
from headwater.jobs.stop import StopRequested, stop_on_signals
from headwater.settings import Settings
from headwater.storage import Storage, open_storage
from headwater.terminal.connection import database_url, refuse_unfinished

Work = Callable[[Connection[Any], Storage, str], int]
"""Works on jobs until none waits, with a connection in autocommit, the storage of files, and the
database's address.
"""


def work_on_jobs(settings: Settings, arguments: Namespace, work: Work) -> int:
    """Work until no job waits, or somebody stops the process."""
    keep_private()
    logs.configure(settings.log_level, settings.log_format)
    stop_on_signals()
    leash.hold(arguments)
    url = database_url(settings)
    try:
        refuse_unfinished(url)
        with psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
            work(connection, open_storage(settings), url)
    except (StopRequested, psycopg.OperationalError):
        return 0  # the worker starts another when there is still something to do
    return 0
