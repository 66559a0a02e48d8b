"""`headwater migrate`: the schema of this version, for databases that `serve` does not run on."""

from __future__ import annotations

from argparse import Namespace

from headwater.database import migrator as migrations
from headwater.settings import Settings
from headwater.terminal.connection import database_url, told
from headwater.terminal.failure import Failure
from headwater.terminal.output import show


def migrate(settings: Settings, arguments: Namespace) -> int:
    """Apply what is missing and print its names."""
    try:
        with told(settings):
            applied = migrations.migrate(database_url(settings))
    except migrations.MigrationError as error:
        raise Failure(str(error)) from None
    show({"applied": applied}, as_json=arguments.json)
    return 0
