"""`headwater forwarder`: sends events to ad platforms while there are some to send; and what a
worker does so that one runs.
"""

from __future__ import annotations

import asyncio
import signal
import time
from argparse import Namespace
from typing import Any

import psycopg
from psycopg import Connection

from headwater import logs
from headwater.cli import leash
from headwater.cli.children import keep_at_work
from headwater.cli.connect import database_url
from headwater.database.pool import UNAVAILABLE, Database
from headwater.forwarding.queue import spaces_due
from headwater.pipeline.worker import Duty
from headwater.settings import Settings
from headwater.spaces.sealing import derive_key
from headwater.webhooks.hooks import fetch_installation_secret

LOOK_SECONDS = 0.5
"""Between two looks at every destination."""


def forwarder(settings: Settings, arguments: Namespace) -> int:
    """Send what is due until nothing has been for some seconds."""
    logs.configure(settings.log_level)
    leash.hold(arguments)
    try:
        asyncio.run(_forward(settings, database_url(settings)))
    except UNAVAILABLE:
        return 0  # the worker starts another when there is still something to do
    return 0


def forwarding(settings: Settings) -> Duty:
    """Have a forwarder at work while deliveries are due."""
    looked = -LOOK_SECONDS

    def waiting(connection: Connection[Any]) -> list[int]:
        nonlocal looked
        now = time.monotonic()
        if now - looked < LOOK_SECONDS:
            return []
        looked = now
        return spaces_due(connection)

    return keep_at_work("forwarder", settings, waiting)


async def _forward(settings: Settings, url: str) -> None:
    # With the client and the platforms, which only the process that sends needs: the worker's
    # memory is without them.
    from headwater.egress.client import Egress  # noqa: PLC0415
    from headwater.forwarding.calling import Caller  # noqa: PLC0415
    from headwater.forwarding.delivering import Tools  # noqa: PLC0415
    from headwater.forwarding.origins import named_hosts, url_of  # noqa: PLC0415
    from headwater.forwarding.platforms.registry import PLATFORMS  # noqa: PLC0415
    from headwater.forwarding.running import Forwarder, open_clock  # noqa: PLC0415

    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    database = Database(url)
    await database.open()
    try:
        async with Egress(named_hosts(settings)) as egress:
            tools = Tools(
                database=database,
                caller=Caller(egress),
                platforms=PLATFORMS,
                urls={name: url_of(settings, platform) for name, platform in PLATFORMS.items()},
                sealing_key=derive_key(settings.secret_key or await _secret(url)),
                clock=await open_clock(database),
            )
            await Forwarder(tools, stopping).run()
    finally:
        await database.close()


async def _secret(url: str) -> str:
    async with await psycopg.AsyncConnection.connect(url, connect_timeout=5) as connection:
        return await fetch_installation_secret(connection)
