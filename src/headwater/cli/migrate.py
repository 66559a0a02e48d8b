"""`headwater migrate`: the schema of this version, for databases that `serve` does not run on."""

from __future__ import annotations

from argparse import Namespace

from headwater.cli.connect import database_url, told
from headwater.cli.failure import Failure
from headwater.cli.output import show
from headwater.database import migrator as migrations
from headwater.settings import Settings


def migrate(settings: Settings, arguments: Namespace) -> int:
    """Apply what is missing and print its names."""
    try:
        with told(settings):
            applied = migrations.migrate(database_url(settings))
    except migrations.MigrationError as error:
        raise Failure(str(error)) from None
    show({"applied": applied}, as_json=arguments.json)
    return 0
