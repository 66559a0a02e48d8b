"""`headwater demo`: the complete service with sample data."""

from __future__ import annotations

from argparse import Namespace

from headwater.base.settings import Settings
from headwater.demo.runner import demonstrate
from headwater.operations.terminal.command import Command
from headwater.operations.terminal.options import LISTEN, PROCESSES


def demo(settings: Settings, arguments: Namespace) -> int:
    """Run everything on sample data until stopped."""
    options = ["--host", arguments.host, "--port", str(arguments.port)]
    options += ["--workers", str(arguments.workers), "--pipelines", str(arguments.pipelines)]
    options += ["--data-dir", str(settings.data_dir)]
    return demonstrate(settings, options)


command = Command(demo, *LISTEN, *PROCESSES)
