"""`headwater worker`: one worker. Any number may run; they share out the Spaces."""

from __future__ import annotations

import signal
import threading
from argparse import Namespace
from contextlib import suppress
from typing import Any

import psycopg

from headwater import logs
from headwater.backups.journal_duty import make_journal_duty
from headwater.deliveries.duty import make_forwarding_duty
from headwater.exports.duties import make_export_duty, make_export_tidying_duty
from headwater.files import keep_private
from headwater.jobs import leash
from headwater.jobs.worker import Worker
from headwater.oauth.cleanup import make_cleanup_duty
from headwater.paths.builder import make_paths_duty
from headwater.pipeline.duty import make_pipeline_duty
from headwater.pipeline.reclassification import RECLASSIFICATION_DUTY
from headwater.privacy.erasure_job import ERASURE_DUTY
from headwater.reports.backlog_watch import make_backlog_duty
from headwater.settings import Settings
from headwater.terminal.command import Command
from headwater.terminal.connection import database_url, refuse_unfinished
from headwater.terminal.options import LEASH


def worker(settings: Settings, arguments: Namespace) -> int:
    """Process, erase, and run exports and forwarding, until stopped."""
    keep_private()
    logs.configure(settings.log_level, settings.log_format)
    stop = threading.Event()

    def end(_: int, __: Any) -> None:
        # From another thread, as this one may be inside a wait on the event, holding its lock.
        threading.Thread(target=stop.set).start()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    leash.hold(arguments)
    duties = [
        make_pipeline_duty(merge_alert=settings.merge_alert),
        ERASURE_DUTY,
        RECLASSIFICATION_DUTY,
        make_paths_duty(),
        make_forwarding_duty(settings),
        make_export_duty(settings),
        make_export_tidying_duty(settings),
        make_cleanup_duty(),
        make_backlog_duty(),
        make_journal_duty(settings),
    ]
    url = database_url(settings)
    with suppress(psycopg.OperationalError):  # a database that is away is waited for
        refuse_unfinished(url)
    Worker(url, stop, duties).run()
    return 0


command = Command(worker, LEASH)
