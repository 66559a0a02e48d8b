"""`headwater forwarder`: sends events to ad platforms while there are some to send."""

from __future__ import annotations

import asyncio
import signal
from argparse import Namespace

from headwater import logs
from headwater.database.pool import UNAVAILABLE, Database
from headwater.deliveries.delivery_loop import DeliveryServices
from headwater.deliveries.forwarder import Forwarder, open_clock
from headwater.egress.client import Egress
from headwater.files import keep_private
from headwater.jobs import leash
from headwater.platforms.origins import named_hosts, url_of
from headwater.platforms.platform_client import PlatformClient
from headwater.platforms.registry import PLATFORMS
from headwater.settings import Settings
from headwater.terminal.command import Command
from headwater.terminal.connection import database_url, refuse_unfinished
from headwater.terminal.encryption_key import load_encryption_key
from headwater.terminal.options import LEASH


def forwarder(settings: Settings, arguments: Namespace) -> int:
    """Send due deliveries until there have been none for some seconds."""
    keep_private()
    logs.configure(settings.log_level, settings.log_format)
    leash.hold(arguments)
    url = database_url(settings)
    try:
        refuse_unfinished(url)
        asyncio.run(_forward(settings, url, load_encryption_key(settings)))
    except UNAVAILABLE:
        return 0  # the worker starts another when there is still something to do
    return 0


async def _forward(settings: Settings, url: str, key: bytes) -> None:
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    database = Database(url)
    await database.open()
    try:
        async with Egress(named_hosts(settings)) as egress:
            tools = DeliveryServices(
                database=database,
                caller=PlatformClient(egress),
                platforms=PLATFORMS,
                urls={name: url_of(settings, platform) for name, platform in PLATFORMS.items()},
                sealing_key=key,
                clock=await open_clock(database),
            )
            await Forwarder(tools, stopping).run()
    finally:
        await database.close()


command = Command(forwarder, LEASH)
