"""Processes that a worker starts for jobs on files or calls of other services, and that exit when idle."""

from __future__ import annotations

import asyncio
import signal
from argparse import Namespace
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import psycopg
from psycopg import Connection

from headwater.base import logs
from headwater.base.files import keep_private
from headwater.base.settings import Settings
from headwater.base.storage import Storage, open_storage
from headwater.base.telemetry.otlp import exported
from headwater.database.jobs import leash
from headwater.database.jobs.connection import STAY_CONNECTED
from headwater.database.jobs.stop import StopRequested, stop_on_signals
from headwater.database.pool import UNAVAILABLE, Database
from headwater.operations.terminal.connection import database_url, refuse_unfinished

Work = Callable[[Connection[Any], Storage, str], int]
"""Runs jobs until none waits, with a connection in autocommit, the file storage and the database's address.
"""
Service = Callable[[Settings, Database, asyncio.Event], Awaitable[None]]
"""Runs until idle for some seconds, or until the event is set."""


def work_on_jobs(work: Work, settings: Settings, arguments: Namespace) -> int:
    """Run jobs until none waits, or the process is stopped."""
    _begin(settings)
    stop_on_signals()
    leash.hold(arguments)
    url = database_url(settings)
    # The worker starts another when needed.
    with suppress(StopRequested, psycopg.OperationalError), exported():
        refuse_unfinished(url)
        with psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
            connection.execute(STAY_CONNECTED)
            work(connection, open_storage(settings), url)
    return 0


def serve_jobs(service: Service, settings: Settings, arguments: Namespace) -> int:
    """Run a service in an event loop, with its own database pool."""
    _begin(settings)
    leash.hold(arguments)
    url = database_url(settings)
    # The worker starts another while there is work.
    with suppress(*UNAVAILABLE), exported():
        refuse_unfinished(url)
        asyncio.run(_serve(service, settings, url))
    return 0


def _begin(settings: Settings) -> None:
    keep_private()
    logs.configure(settings.log_level, settings.log_format)


async def _serve(service: Service, settings: Settings, url: str) -> None:
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    async with Database(url) as database:
        await service(settings, database, stopping)
