"""`headwater worker`: one of any number of workers, which share the Spaces."""

from __future__ import annotations

import os
import signal
import threading
from argparse import Namespace
from contextlib import suppress
from typing import Any

import psycopg

from headwater.base import logs
from headwater.base.failure import Failure
from headwater.base.files import keep_private
from headwater.base.settings import Settings
from headwater.base.succession import RETIRE, announce
from headwater.base.telemetry.counter_files import child_variables, make_directory
from headwater.base.telemetry.otlp import exported
from headwater.base.telemetry.shared_counters import serve_counters, share_counters
from headwater.database.jobs import leash
from headwater.operations.terminal.command import Command, Option
from headwater.operations.terminal.connection import database_url, refuse_unfinished
from headwater.operations.terminal.options import ANNOUNCE, LEASH
from headwater.operations.terminal.values import address

GRACE_SECONDS = 5.0


def worker(settings: Settings, arguments: Namespace) -> int:
    """Process, erase, and run exports, imports and forwarding, until stopped."""
    keep_private()
    logs.configure(settings.log_level, settings.log_format)
    stop_event = threading.Event()

    def end(_: int, __: Any) -> None:
        # From another thread, because this one may be waiting on the event and hold its lock.
        threading.Thread(target=stop_event.set).start()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    signal.signal(RETIRE, end)
    leash.hold(arguments)
    if arguments.metrics is not None:
        _serve_metrics(settings, *arguments.metrics)
    with exported():
        _work(settings, stop_event, arguments.announce)
    return 0


def _work(settings: Settings, stop: threading.Event, announcement: int | None) -> None:
    from headwater.database.jobs.worker import Worker  # noqa: PLC0415 - it makes counters
    from headwater.worker_duties import make_duties, make_side_duties  # noqa: PLC0415 - likewise

    duties, side_duties = make_duties(settings), make_side_duties(settings)
    url = database_url(settings)
    with suppress(psycopg.OperationalError):  # wait for an unavailable database
        refuse_unfinished(url)
    watching = threading.Thread(target=Worker(url, stop, side_duties).run, name="watch", daemon=True)
    watching.start()
    announce(announcement)
    Worker(url, stop, duties).run()
    watching.join(GRACE_SECONDS)


def _serve_metrics(settings: Settings, host: str, port: int) -> None:
    """Raise Failure."""
    folder = settings.data_dir.absolute() / f"metrics-{port}"
    try:
        os.environ.update(make_directory(folder) | child_variables("worker"))
        share_counters("worker")
        serve_counters(host, port)
    except OSError as error:
        raise Failure(f"cannot serve metrics on {host}:{port}: {error.strerror}") from None


command = Command(
    worker,
    Option(
        "--metrics",
        type=address,
        metavar="HOST:PORT",
        help="serve the counters of this worker and its processes there",
    ),
    LEASH,
    ANNOUNCE,
)
