"""`headwater puller`: pull spend from ad platforms while any is due."""

from __future__ import annotations

import asyncio
from argparse import Namespace

from headwater.base.egress.access_tokens import AccessTokens
from headwater.base.egress.client import Egress
from headwater.base.settings import Settings
from headwater.database.pool import Database
from headwater.operations.terminal.command import Command
from headwater.operations.terminal.encryption_key import load_encryption_key
from headwater.operations.terminal.job_process import serve_jobs
from headwater.operations.terminal.options import LEASH
from headwater.spend.connections.pull import PullServices
from headwater.spend.connections.puller import Puller
from headwater.spend.connections.session import Waits
from headwater.spend.platforms.origins import find_urls, list_operator_hosts
from headwater.spend.platforms.registry import PLATFORMS


def puller(settings: Settings, arguments: Namespace) -> int:
    """Pull due connections until none has been due for some seconds."""

    async def pull(database: Database, stopping: asyncio.Event) -> None:
        key = load_encryption_key(settings)
        async with Egress(list_operator_hosts(settings)) as egress:
            services = PullServices(
                database=database,
                egress=egress,
                tokens=AccessTokens(egress),
                platforms=PLATFORMS,
                urls=find_urls(settings),
                sealing_key=key,
                waits=Waits(asyncio.sleep),
            )
            await Puller(services, stopping).run()

    return serve_jobs(settings, arguments, pull)


command = Command(puller, LEASH)
