"""`headwater forwarder`: send events to ad platforms while any are due."""

from __future__ import annotations

import asyncio
from functools import partial

from headwater.base.egress.client import Egress
from headwater.base.settings import Settings
from headwater.database.pool import Database
from headwater.forwarding.deliveries.delivery_loop import DeliveryServices
from headwater.forwarding.deliveries.forwarder import Forwarder, open_clock
from headwater.forwarding.destinations.destinations import make_token_keeper
from headwater.forwarding.platforms.origins import find_url, list_operator_hosts
from headwater.forwarding.platforms.platform_client import PlatformClient
from headwater.forwarding.platforms.registry import PLATFORMS
from headwater.operations.terminal.command import Command
from headwater.operations.terminal.encryption_key import load_encryption_key
from headwater.operations.terminal.job_process import serve_jobs
from headwater.operations.terminal.options import LEASH


async def forward(settings: Settings, database: Database, stopping: asyncio.Event) -> None:
    """Send due deliveries until none has been due for some seconds."""
    key = load_encryption_key(settings)
    async with Egress(list_operator_hosts(settings)) as egress:
        tools = DeliveryServices(
            database=database,
            caller=PlatformClient(egress, make_token_keeper(database.transaction, key)),
            platforms=PLATFORMS,
            urls={name: find_url(settings, platform) for name, platform in PLATFORMS.items()},
            sealing_key=key,
            clock=await open_clock(database),
        )
        await Forwarder(tools, stopping).run()


command = Command(partial(serve_jobs, forward), LEASH)
