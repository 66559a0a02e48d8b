"""`headwater serve`: everything in one. Imports little, as it lives as long as the service."""

from __future__ import annotations

import argparse

from headwater.files import keep_private
from headwater.jobs import leash
from headwater.settings import Settings
from headwater.supervisor import ServeError, ServePlan, supervise
from headwater.terminal.command import Command, Option
from headwater.terminal.failure import Failure
from headwater.terminal.options import LEASH, LISTEN, PROCESSES


def serve(settings: Settings, arguments: argparse.Namespace) -> int:
    """Run everything until stopped."""
    keep_private()
    leash.hold(arguments)
    plan = ServePlan(
        settings,
        arguments.host,
        arguments.port,
        arguments.workers,
        arguments.pipelines,
        welcome=not arguments.no_welcome,
    )
    try:
        supervise(plan)
    except ServeError as error:
        raise Failure(str(error)) from None
    return 0


command = Command(
    serve,
    *LISTEN,
    *PROCESSES,
    LEASH,
    # The demonstration makes a login of its own, and says where to go at its end.
    Option("--no-welcome", action="store_true", help=argparse.SUPPRESS),
)
