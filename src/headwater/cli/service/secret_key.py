"""`headwater secret-key …`: replace the installation's secret key."""

from __future__ import annotations

from argparse import Namespace

import msgspec

from headwater.base.settings import Settings
from headwater.operations.secrets.renewal import SEALED_COLUMNS, renew_column
from headwater.operations.terminal.audited import note_change
from headwater.operations.terminal.command import CommandGroup
from headwater.operations.terminal.connection import transaction
from headwater.operations.terminal.encryption_key import load_encryption_key
from headwater.operations.terminal.execution import prints
from headwater.operations.terminal.options import JSON
from headwater.operations.terminal.output import Output
from headwater.spaces.audit.entries import AuditChange

group = CommandGroup()


@group.command("renew", "encrypt all stored secrets with the current key", JSON)
@prints
async def renew(settings: Settings, arguments: Namespace) -> Output:
    """Read secrets of the former key, too, and report those that neither can decrypt."""
    key = load_encryption_key(settings)
    async with transaction(settings) as connection:
        columns = [await renew_column(connection, column, key) for column in SEALED_COLUMNS]
        rows = [msgspec.structs.asdict(column) for column in columns]
        await note_change(connection, arguments, AuditChange("secret_key", after={"columns": rows}))
    return rows
