"""`headwater serve`: the complete service. It imports little because it runs as long as the service."""

from __future__ import annotations

import argparse

from headwater.base.files import keep_private
from headwater.base.log_lines import Log
from headwater.base.settings import Settings
from headwater.base.telemetry.otlp import read_signals
from headwater.database.jobs import leash
from headwater.operations.supervision.announcement import log_migrations
from headwater.operations.supervision.handover import OPTION as HANDOVER
from headwater.operations.supervision.handover import read_handover
from headwater.operations.supervision.preparation import PREPARE, prepare_beside
from headwater.operations.terminal.command import Command, Option
from headwater.operations.terminal.options import LEASH, LISTEN, PROCESSES
from headwater.supervisor import ServePlan, supervise


def serve(settings: Settings, arguments: argparse.Namespace) -> int:
    """Run everything until stopped."""
    keep_private()
    read_signals()  # its children would report them one after the other
    if arguments.prepare:
        log_migrations(Log(settings.log_format), prepare_beside(settings))
        return 0
    leash.hold(arguments)
    handover = None if arguments.handover is None else read_handover(arguments.handover)
    plan = ServePlan(
        settings,
        arguments.host,
        arguments.port,
        arguments.workers,
        arguments.pipelines,
        welcome=not arguments.no_welcome,
    )
    supervise(plan, handover)
    return 0


command = Command(
    serve,
    *LISTEN,
    *PROCESSES,
    LEASH,
    # The demo creates its own login, and prints the address at its end.
    Option("--no-welcome", action="store_true", help=argparse.SUPPRESS),
    # Only prepare the running service's database for this version.
    Option(PREPARE, action="store_true", help=argparse.SUPPRESS),
    # A pipe with the previous version's state.
    Option(HANDOVER, type=int, help=argparse.SUPPRESS),
)
