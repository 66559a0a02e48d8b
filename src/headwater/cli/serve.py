"""`headwater serve`."""

from __future__ import annotations

from argparse import Namespace

from headwater.files import keep_private
from headwater.jobs import leash
from headwater.settings import Settings
from headwater.supervisor import ServeError, ServePlan, supervise
from headwater.terminal.failure import Failure


def serve(settings: Settings, arguments: Namespace) -> int:
    """Run everything until told to stop."""
    keep_private()
    leash.hold(arguments)
    try:
        supervise(
            ServePlan(
                settings, arguments.host, arguments.port, arguments.workers,
                set_up_link=not arguments.no_set_up_link,
            )
        )  # fmt: skip
    except ServeError as error:
        raise Failure(str(error)) from None
    return 0
