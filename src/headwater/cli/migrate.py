"""`headwater migrate`: the schema of this version, for databases that `serve` does not run on."""

from __future__ import annotations

from argparse import Namespace

from headwater.database import migrator
from headwater.settings import Settings
from headwater.terminal.command import Command
from headwater.terminal.connection import database_url, explain_failures
from headwater.terminal.failure import Failure
from headwater.terminal.options import JSON
from headwater.terminal.output import print_output


def migrate(settings: Settings, arguments: Namespace) -> int:
    """Apply the missing migrations and print their names."""
    try:
        with explain_failures(settings):
            applied = migrator.migrate(database_url(settings))
    except migrator.MigrationError as error:
        raise Failure(str(error)) from None
    print_output({"applied": applied}, as_json=arguments.json)
    return 0


command = Command(migrate, JSON)
