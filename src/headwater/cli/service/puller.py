"""`headwater puller`: pull spend from ad platforms, and fetch watched files, while any are due."""

from __future__ import annotations

import asyncio
from functools import partial

from headwater.base.egress.access_tokens import AccessTokens
from headwater.base.egress.client import Egress
from headwater.base.settings import Settings
from headwater.base.storage import open_storage
from headwater.database.pool import Database
from headwater.intake.watched.content import ContentSource
from headwater.intake.watched.fetcher import FetchServices, FileFetcher
from headwater.operations.terminal.command import Command
from headwater.operations.terminal.encryption_key import load_encryption_key
from headwater.operations.terminal.job_process import serve_jobs
from headwater.operations.terminal.options import LEASH
from headwater.spend.connections.pull import PullServices
from headwater.spend.connections.puller import Puller
from headwater.spend.connections.session import Waits
from headwater.spend.platforms.origins import find_urls, list_operator_hosts
from headwater.spend.platforms.registry import PLATFORMS


async def pull(settings: Settings, database: Database, stopping: asyncio.Event) -> None:
    """Run until nothing has been due for some seconds."""
    key = load_encryption_key(settings)
    # Members choose the addresses of watched files, so the operator's hosts are not allowed there.
    async with Egress(list_operator_hosts(settings)) as egress, Egress() as public:
        services = PullServices(
            database=database,
            egress=egress,
            tokens=AccessTokens(egress),
            platforms=PLATFORMS,
            urls=find_urls(settings),
            sealing_key=key,
            waits=Waits(asyncio.sleep),
        )
        file_services = FetchServices(
            database, open_storage(settings), ContentSource(public, settings.watched_dir), key
        )
        await asyncio.gather(Puller(services, stopping).run(), FileFetcher(file_services, stopping).run())


command = Command(partial(serve_jobs, pull), LEASH)
