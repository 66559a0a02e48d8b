"""A worker's background jobs, from all packages.

Import it only after counter sharing is set up, because it creates counters.
"""

from __future__ import annotations

import time
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
from headwater.console.scheduled_reports import scheduled_reports
from headwater.database.jobs.child_process import make_process_duty
from headwater.database.jobs.duties import INSTALLATION, Duty
from headwater.events.browsing.old_views import make_old_views_job
from headwater.exports.duties import make_export_duty, make_export_schedule_duty, make_export_tidying_duty
from headwater.forwarding.deliveries.duty import make_forwarding_duty
from headwater.intake.imports.duties import make_import_duty, make_import_tidying_duty
from headwater.intake.pipeline.answers import REREADING_DUTY
from headwater.intake.pipeline.duty import make_pipeline_duty
from headwater.intake.pipeline.reclassification import RECLASSIFICATION_DUTY
from headwater.operations.backups.journal_duty import make_journal_duty
from headwater.privacy.erasure_job import ERASURE_JOB

WATCH_SECONDS = 1.0
"""Seconds between checks whether alerts, reports or messages are due."""
RATES_SECONDS = 6 * 3600.0


def make_duties(settings: Settings) -> list[Duty]:
    """Return a worker's background jobs, in running order."""
    return [
        make_pipeline_duty(merge_alert=settings.merge_alert),
        ERASURE_JOB,
        RECLASSIFICATION_DUTY,
        REREADING_DUTY,
        make_paths_duty(),
        make_forgetting_duty(),
        make_old_views_job(),
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


def make_side_duties(settings: Settings) -> list[Duty]:
    """Return background jobs with a thread of their own, so a stalled pipeline doesn't delay them."""
    watch = make_process_duty("watcher", settings, _spaces_to_watch, WATCH_SECONDS)
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


def _spaces_to_watch(connection: Connection[Any]) -> list[int]:
    sorts = (watches.due_spaces, messages.due_spaces, scheduled_reports.due_spaces, nightly_runs.due_spaces)
    return [space_id for due in sorts for space_id in due.find_now(connection)]
