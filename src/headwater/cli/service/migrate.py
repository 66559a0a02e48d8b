"""`headwater migrate`: migrate the schema, for databases without `serve`."""

from __future__ import annotations

from argparse import Namespace

from headwater.base.settings import Settings
from headwater.database import migrator
from headwater.operations.terminal.command import Command
from headwater.operations.terminal.connection import database_url, explain_failures
from headwater.operations.terminal.options import JSON
from headwater.operations.terminal.output import print_output


def migrate(settings: Settings, arguments: Namespace) -> int:
    """Apply missing migrations and print their names."""
    with explain_failures(settings):
        applied_names = migrator.migrate(database_url(settings))
    print_output({"applied": applied_names}, as_json=arguments.json)
    return 0


command = Command(migrate, JSON)
