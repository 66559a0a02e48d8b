"""`headwater migrate`: migrate the schema, for databases without `serve`."""

from __future__ import annotations

from argparse import Namespace

from headwater.base.settings import Settings
from headwater.database import migrator
from headwater.operations.terminal.command import Command
from headwater.operations.terminal.connection import database_url
from headwater.operations.terminal.execution import prints
from headwater.operations.terminal.options import JSON
from headwater.operations.terminal.output import Output


@prints
def migrate(settings: Settings, _: Namespace) -> Output:
    """Apply missing migrations and print their names."""
    return {"applied": migrator.migrate(database_url(settings))}


command = Command(migrate, JSON)
