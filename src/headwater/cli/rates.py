"""`headwater rates …`: exchange rates for all Spaces."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from headwater.rates.ecb import read_file
from headwater.rates.store import put_reference_rates
from headwater.settings import Settings
from headwater.terminal.command import CommandGroup, Option
from headwater.terminal.connection import transaction
from headwater.terminal.execution import prints
from headwater.terminal.failure import Failure
from headwater.terminal.options import JSON
from headwater.terminal.output import Row

group = CommandGroup()


def _content(file: str) -> bytes:
    return Path(file).read_bytes()


@group.command(
    "import",
    "the European Central Bank's reference rates",
    Option("file", metavar="FILE", help="its CSV, ZIP or XML, of a day or of all"),
    JSON,
)
@prints
async def import_rates(settings: Settings, arguments: Namespace) -> Row:
    """Store the rates of a file. Raises Failure for one that holds none."""
    try:
        rates = read_file(_content(arguments.file))
    except ValueError as error:
        raise Failure(f"{arguments.file}: {error}") from None
    except OSError as error:
        raise Failure(f"{arguments.file}: {error.strerror}") from None
    async with transaction(settings) as connection:
        await put_reference_rates(connection, rates)
    days = [rate.date for rate in rates]
    return {"rates": len(rates), "first_day": min(days), "last_day": max(days)}
