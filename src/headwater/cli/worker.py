"""`headwater worker`: one worker. Any number may run; they share out the Spaces."""

from __future__ import annotations

import signal
import threading
from argparse import Namespace
from typing import Any

from headwater import logs
from headwater.cli import leash
from headwater.cli.connect import database_url
from headwater.cli.exporting import exporting, tidying
from headwater.cli.forwarding import forwarding
from headwater.cli.watching import watching
from headwater.files import keep_private
from headwater.oauth.cleanup import forgetting
from headwater.pipeline.worker import Worker, processing
from headwater.privacy.erasure_job import ERASING
from headwater.settings import Settings


def worker(settings: Settings, arguments: Namespace) -> int:
    """Process, erase, and see to exports and forwarding, until told to stop."""
    keep_private()
    logs.configure(settings.log_level, settings.log_format)
    stop = threading.Event()

    def end(_: int, __: Any) -> None:
        # From another thread, as this one may be inside a wait on the event, holding its lock.
        threading.Thread(target=stop.set).start()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    leash.hold(arguments)
    duties = [
        processing(merge_alert=settings.merge_alert), ERASING, forwarding(settings),
        exporting(settings), tidying(settings), forgetting(), watching(),
    ]  # fmt: skip
    Worker(database_url(settings), stop, duties).run()
    return 0
