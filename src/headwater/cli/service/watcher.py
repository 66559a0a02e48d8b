"""`headwater watcher`: check Spaces for alerts, build scheduled reports, train models, and send
messages until nothing is due. Workers start it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from urllib.parse import urlsplit

from headwater.alerts.notifications.sender import MessageSender, Outlet
from headwater.alerts.notifications.watcher import Watcher, WatcherDuty, alert_duty, message_duty
from headwater.attribution.trained_models.nightly_runs import AutomaticTrainer, due_spaces
from headwater.base.egress.client import Egress
from headwater.base.settings import Settings
from headwater.base.syslog_server import read_syslog_server
from headwater.console.scheduled_reports.runner import report_duty
from headwater.database.installation import fetch_base_url
from headwater.database.pool import Database
from headwater.operations.terminal.command import Command
from headwater.operations.terminal.encryption_key import load_encryption_key
from headwater.operations.terminal.job_process import serve_jobs
from headwater.operations.terminal.options import LEASH
from headwater.spaces.audit.collectors import AuditSender, Collectors
from headwater.spaces.audit.collectors import due_spaces as audit_spaces

NICENESS = 10
"""On few cores, alert checks wait instead of events and pages."""


async def watch(settings: Settings, database: Database, stopping: asyncio.Event) -> None:
    """Work until nothing has been due for some seconds."""
    os.nice(NICENESS)
    key = load_encryption_key(settings)
    async with database.connection() as connection:
        base_url = await fetch_base_url(connection, settings)
    async with Egress(settings.notify_hosts) as egress, _open_collectors(settings) as collectors:
        sender = MessageSender(database, Outlet(settings, egress, key, base_url))
        duties = [
            alert_duty(database),
            report_duty(database),
            message_duty(sender),
            WatcherDuty("trained_models", due_spaces.find, AutomaticTrainer(database).run),
        ]
        if settings.sends_audit:
            audit = AuditSender(database, collectors)
            duties.append(WatcherDuty("audit log", audit_spaces.find, audit.send_due))
        await Watcher(database, duties, stopping).run()


@asynccontextmanager
async def _open_collectors(settings: Settings) -> AsyncGenerator[Collectors]:
    """Yield the collectors of the audit log, whose hosts the operator has named."""
    url, syslog = settings.audit_otlp_url, settings.audit_syslog
    async with Egress([] if url is None else [urlsplit(url).hostname or ""]) as egress:
        server = None if syslog is None else read_syslog_server(syslog)
        yield Collectors(egress, server, url, dict(settings.audit_otlp_headers))


command = Command(partial(serve_jobs, watch), LEASH)
