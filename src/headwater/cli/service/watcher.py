"""`headwater watcher`: check Spaces for alerts, build scheduled reports, train models, and send
messages until nothing is due. Workers start it.
"""

from __future__ import annotations

import asyncio
import os
from argparse import Namespace

from headwater.alerts.notifications.sender import MessageSender, Outlet
from headwater.alerts.notifications.watcher import Watcher, WatcherDuty, alert_duty, message_duty
from headwater.attribution.trained_models.nightly_runs import AutomaticTrainer, due_spaces
from headwater.base.egress.client import Egress
from headwater.base.settings import Settings
from headwater.console.scheduled_reports.runner import report_duty
from headwater.database.installation import fetch_base_url
from headwater.database.pool import Database
from headwater.operations.terminal.command import Command
from headwater.operations.terminal.encryption_key import load_encryption_key
from headwater.operations.terminal.job_process import serve_jobs
from headwater.operations.terminal.options import LEASH

NICENESS = 10
"""On few cores, alert checks wait instead of events and pages."""


def watcher(settings: Settings, arguments: Namespace) -> int:
    """Work until nothing has been due for some seconds."""

    async def watch(database: Database, stopping: asyncio.Event) -> None:
        key = load_encryption_key(settings)
        async with database.connection() as connection:
            base_url = await fetch_base_url(connection, settings)
        async with Egress(settings.notify_hosts) as egress:
            sender = MessageSender(database, Outlet(settings, egress, key, base_url))
            duties = [
                alert_duty(database),
                report_duty(database),
                message_duty(sender),
                WatcherDuty("trained_models", due_spaces.find, AutomaticTrainer(database).run),
            ]
            await Watcher(database, duties, stopping).run()

    os.nice(NICENESS)
    return serve_jobs(settings, arguments, watch)


command = Command(watcher, LEASH)
