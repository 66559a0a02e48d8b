"""`headwater watcher`: looks at Spaces for alerts, makes scheduled reports, and sends messages,
until nothing is due. Workers start it.
"""

from __future__ import annotations

import asyncio
import signal
from argparse import Namespace

from headwater import logs
from headwater.console.scheduled_reports.runner import report_duty
from headwater.database.installation import fetch_base_url
from headwater.database.pool import UNAVAILABLE, Database
from headwater.egress.client import Egress
from headwater.files import keep_private
from headwater.jobs import leash
from headwater.notifications.sender import MessageSender, Outlet
from headwater.notifications.watcher import Watcher, alert_duty, message_duty
from headwater.settings import Settings
from headwater.terminal.command import Command
from headwater.terminal.connection import database_url, refuse_unfinished
from headwater.terminal.encryption_key import load_encryption_key
from headwater.terminal.options import LEASH


def watcher(settings: Settings, arguments: Namespace) -> int:
    """Work until nothing has been due for some seconds."""
    keep_private()
    logs.configure(settings.log_level, settings.log_format)
    leash.hold(arguments)
    url = database_url(settings)
    try:
        refuse_unfinished(url)
        asyncio.run(_watch(settings, url, load_encryption_key(settings)))
    except UNAVAILABLE:
        return 0  # the worker starts another when there is still something to do
    return 0


async def _watch(settings: Settings, url: str, key: bytes) -> None:
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    database = Database(url)
    await database.open()
    try:
        async with database.connection() as connection:
            base_url = await fetch_base_url(connection, settings)
        async with Egress(settings.notify_hosts) as egress:
            sender = MessageSender(database, Outlet(settings, egress, key, base_url))
            duties = [
                alert_duty(database),
                report_duty(database),
                message_duty(sender),
            ]
            await Watcher(database, duties, stopping).run()
    finally:
        await database.close()


command = Command(watcher, LEASH)
