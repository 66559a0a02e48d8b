"""`headwater worker`: one worker. Any number may run; they share out the Spaces."""

from __future__ import annotations

import signal
import threading
from argparse import Namespace
from contextlib import suppress
from typing import Any

import psycopg
from psycopg import Connection

from headwater import logs
from headwater.alerts import watches
from headwater.alerts.backlog_watch import make_backlog_duty
from headwater.backups.journal_duty import make_journal_duty
from headwater.console.scheduled_reports import scheduled_reports
from headwater.deliveries.duty import make_forwarding_duty
from headwater.exports.duties import (
    make_export_duty,
    make_export_schedule_duty,
    make_export_tidying_duty,
)
from headwater.files import keep_private
from headwater.fits import monthly_fits
from headwater.imports.duties import make_import_duty, make_import_tidying_duty
from headwater.jobs import leash
from headwater.jobs.child_process import make_process_duty
from headwater.jobs.duties import INSTALLATION, Duty, look_every
from headwater.jobs.worker import Worker
from headwater.notifications import messages
from headwater.oauth.cleanup import make_cleanup_duty
from headwater.paths.builder import make_paths_duty
from headwater.pipeline.answers import REREADING_DUTY
from headwater.pipeline.duty import make_pipeline_duty
from headwater.pipeline.reclassification import RECLASSIFICATION_DUTY
from headwater.privacy.erasure_job import ERASURE_DUTY
from headwater.settings import Settings
from headwater.succession import RETIRE, announce
from headwater.terminal.command import Command
from headwater.terminal.connection import database_url, refuse_unfinished
from headwater.terminal.options import ANNOUNCE, LEASH

WATCH_SECONDS = 1.0
"""Between two looks whether alerts, reports or messages are due."""
RATES_SECONDS = 6 * 3600.0
"""Between two fetches of reference rates."""
GRACE_SECONDS = 5.0


def _spaces_to_watch(connection: Connection[Any]) -> list[int]:
    sorts = (
        watches.due_spaces, messages.due_spaces, scheduled_reports.due_spaces,
        monthly_fits.due_spaces,
    )  # fmt: skip
    return [space_id for due in sorts for space_id in due.find_now(connection)]


def worker(settings: Settings, arguments: Namespace) -> int:
    """Process, erase, and run exports, imports and forwarding, until stopped."""
    keep_private()
    logs.configure(settings.log_level, settings.log_format)
    stop = threading.Event()

    def end(_: int, __: Any) -> None:
        # From another thread, as this one may be inside a wait on the event, holding its lock.
        threading.Thread(target=stop.set).start()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    signal.signal(RETIRE, end)
    leash.hold(arguments)
    duties = [
        make_pipeline_duty(merge_alert=settings.merge_alert),
        ERASURE_DUTY,
        RECLASSIFICATION_DUTY,
        REREADING_DUTY,
        make_paths_duty(),
        make_forwarding_duty(settings),
        make_export_schedule_duty(),
        make_export_duty(settings),
        make_export_tidying_duty(settings),
        make_import_duty(settings),
        make_import_tidying_duty(settings),
        make_cleanup_duty(),
        make_backlog_duty(),
        make_journal_duty(settings),
    ]
    url = database_url(settings)
    with suppress(psycopg.OperationalError):  # a database that is away is waited for
        refuse_unfinished(url)
    # In a thread of its own, so that alerts do not wait for a pipeline that stands.
    watch = make_process_duty("watcher", settings, look_every(WATCH_SECONDS, _spaces_to_watch))
    aside = [watch, *([make_rates_duty(settings)] if settings.fetch_rates else [])]
    watching = threading.Thread(target=Worker(url, stop, aside).run, name="watch", daemon=True)
    watching.start()
    announce(arguments.announce)
    Worker(url, stop, duties).run()
    watching.join(GRACE_SECONDS)
    return 0


def make_rates_duty(settings: Settings) -> Duty:
    """Return the duty to fetch reference rates, which the bank publishes once a working day."""
    return make_process_duty(
        "rates fetch", settings, look_every(RATES_SECONDS, lambda _: [INSTALLATION])
    )


command = Command(worker, LEASH, ANNOUNCE)
