"""`headwater exporter`: works on the exports of the API until none waits. Workers start it."""

from __future__ import annotations

import signal
from argparse import Namespace
from typing import Any

import psycopg

from headwater import logs
from headwater.exports.worker import StopRequested, work
from headwater.files import keep_private
from headwater.jobs import leash
from headwater.settings import Settings
from headwater.storage import open_storage
from headwater.terminal.command import Command
from headwater.terminal.connection import database_url, refuse_unfinished
from headwater.terminal.options import LEASH


def exporter(settings: Settings, arguments: Namespace) -> int:
    """Work on the API's exports until none waits."""
    keep_private()
    logs.configure(settings.log_level, settings.log_format)

    def end(_: int, __: Any) -> None:
        raise StopRequested

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    leash.hold(arguments)
    url = database_url(settings)
    try:
        refuse_unfinished(url)
        with psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
            work(connection, open_storage(settings), url)
    except (StopRequested, psycopg.OperationalError):
        return 0  # the worker starts another when there is still something to do
    return 0


command = Command(exporter, LEASH)
