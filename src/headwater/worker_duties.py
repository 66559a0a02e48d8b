"""A worker's background jobs, from all packages.

Import it only after counter sharing is set up, because it creates counters.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from psycopg import Connection

from headwater.alerts import watches
from headwater.alerts.backlog_watch import make_backlog_duty
from headwater.alerts.notifications import messages
from headwater.assistants.oauth.cleanup import make_cleanup_duty
from headwater.attribution.history.revisions import make_forgetting_duty
from headwater.attribution.paths.builder import make_paths_duty
from headwater.attribution.trained_models import nightly_runs
from headwater.base.settings import Settings
from headwater.base.storage import Storage, open_storage
from headwater.console.scheduled_reports import scheduled_reports
from headwater.database.jobs.child_process import make_process_duty
from headwater.database.jobs.duties import INSTALLATION, Duty, Waiting
from headwater.events.browsing.old_views import make_old_views_job
from headwater.exports import jobs as exports
from headwater.exports import schedules
from headwater.forwarding.deliveries.queue import spaces_due
from headwater.intake.imports import jobs as imports
from headwater.intake.pipeline.answers import REREADING_DUTY
from headwater.intake.pipeline.duty import make_pipeline_duty
from headwater.intake.pipeline.reclassification import RECLASSIFICATION_DUTY
from headwater.intake.watched import leases as file_leases
from headwater.operations.backups.journal_duty import make_journal_duty
from headwater.privacy.erasure_job import ERASURE_JOB
from headwater.privacy.retention import make_retention_duty
from headwater.spaces.audit import collectors
from headwater.spaces.audit.upkeep import make_audit_duty
from headwater.spend.connections import leases as spend_leases

FORWARDING_SECONDS = 0.5
PULLING_SECONDS = 2.0
EXPORT_SECONDS = 0.25
"""Between two polls for waiting exports, which visit every node of a cluster."""
SCHEDULE_SECONDS = 1.0
EXPORT_TIDY_SECONDS = 2.0
"""Between two searches for expired files, which read the rows of all files."""
IMPORT_SECONDS, IMPORT_TIDY_SECONDS = 0.5, 5.0
WATCH_SECONDS = 1.0
"""Seconds between checks whether alerts, reports or messages are due."""
RATES_SECONDS = 6 * 3600.0


def make_duties(settings: Settings) -> list[Duty]:
    """Return a worker's background jobs, in running order."""
    storage = open_storage(settings)
    return [
        make_pipeline_duty(merge_alert=settings.merge_alert),
        ERASURE_JOB,
        RECLASSIFICATION_DUTY,
        REREADING_DUTY,
        make_paths_duty(),
        make_forgetting_duty(),
        make_old_views_job(),
        make_retention_duty(),
        make_audit_duty(settings),
        make_process_duty("forwarder", settings, spaces_due, FORWARDING_SECONDS),
        make_process_duty("puller", settings, _find_spaces_to_pull, PULLING_SECONDS),
        Duty(
            schedules.due_spaces,
            schedules.queue_runs,
            pause_seconds=SCHEDULE_SECONDS,
            name="scheduled exports",
        ),
        make_process_duty("exporter", settings, exports.waiting_spaces, EXPORT_SECONDS),
        _make_tidying_duty("exports", exports.spaces_to_tidy, exports.tidy, storage, EXPORT_TIDY_SECONDS),
        make_process_duty("importer", settings, imports.waiting_spaces, IMPORT_SECONDS),
        _make_tidying_duty("imports", imports.spaces_to_tidy, imports.tidy, storage, IMPORT_TIDY_SECONDS),
        make_cleanup_duty(),
        make_backlog_duty(),
        make_journal_duty(settings),
    ]


def _find_spaces_to_pull(connection: Connection[Any]) -> list[int]:
    return [*spend_leases.find_due_spaces(connection), *file_leases.find_due_spaces(connection)]


def _make_tidying_duty(
    name: str,
    waiting: Waiting,
    tidy: Callable[[Connection[Any], Storage, int], None],
    storage: Storage,
    pause_seconds: float,
) -> Duty:
    def attend(connection: Connection[Any], space_id: int) -> bool:
        tidy(connection, storage, space_id)
        return False

    return Duty(waiting, attend, pause_seconds=pause_seconds, name=name)


def make_side_duties(settings: Settings) -> list[Duty]:
    """Return background jobs with a thread of their own, so a stalled pipeline doesn't delay them."""
    find = _find_spaces_to_audit if settings.sends_audit else _spaces_to_watch
    watch = make_process_duty("watcher", settings, find, WATCH_SECONDS)
    return [watch, make_rates_duty(settings)] if settings.fetch_rates else [watch]


def make_rates_duty(settings: Settings) -> Duty:
    """Return the job that fetches reference rates, published once a working day."""
    next_fetch = 0.0

    def waiting(_: Connection[Any]) -> list[int]:
        nonlocal next_fetch
        current_time = time.monotonic()
        if current_time < next_fetch:
            return []
        next_fetch = current_time + RATES_SECONDS
        return [INSTALLATION]

    return make_process_duty("rates fetch", settings, waiting, WATCH_SECONDS)


def _find_spaces_to_audit(connection: Connection[Any]) -> list[int]:
    return [*_spaces_to_watch(connection), *collectors.due_spaces.find_now(connection)]


def _spaces_to_watch(connection: Connection[Any]) -> list[int]:
    sorts = (watches.due_spaces, messages.due_spaces, scheduled_reports.due_spaces, nightly_runs.due_spaces)
    return [space_id for due in sorts for space_id in due.find_now(connection)]
