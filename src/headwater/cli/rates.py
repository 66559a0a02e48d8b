"""`headwater rates …`: exchange rates for all Spaces."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import structlog

from headwater.base import logs
from headwater.base.failure import Failure
from headwater.base.settings import Settings
from headwater.base.telemetry.otlp import exported
from headwater.base.telemetry.spans import span
from headwater.database.jobs import leash
from headwater.operations.terminal.audited import change, note_change
from headwater.operations.terminal.command import CommandGroup, Option
from headwater.operations.terminal.connection import transaction
from headwater.operations.terminal.execution import prints
from headwater.operations.terminal.options import JSON, LEASH
from headwater.operations.terminal.output import Row, print_output
from headwater.spaces.audit.entries import AuditChange
from headwater.spend.rates.ecb import read_file
from headwater.spend.rates.store import ReferenceRate, fetch_reference_day, fetches, put_reference_rates

group = CommandGroup()
log = structlog.get_logger()


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
    """Store a file's rates. Raise Failure for a file without any."""
    try:
        rates = read_file(_content(arguments.file))
    except ValueError as error:
        raise Failure(f"{arguments.file}: {error}") from None
    except OSError as error:
        raise Failure(f"{arguments.file}: {error.strerror}") from None
    async with change(settings, arguments) as connection:
        await put_reference_rates(connection, rates)
        await note_change(connection, arguments, AuditChange("reference_rates", after={"rows": len(rates)}))
    return _count_stored(rates)


@group.command("fetch", "the same from the bank's own server", JSON, LEASH)
def fetch(settings: Settings, arguments: Namespace) -> int:
    """Store the latest rates; under a worker the result is logged. Raise Failure if fetching fails."""
    # The client is slow to import, and only this command sends anything.
    from headwater.spend.rates.download import RatesUnavailableError  # noqa: PLC0415

    leash.hold(arguments)
    if arguments.leash:
        logs.configure(settings.log_level, settings.log_format)
    try:
        with exported(), _count_fetch():
            result = asyncio.run(_fetch(settings))
    except RatesUnavailableError as error:
        if not arguments.leash:
            raise Failure(f"{settings.rates_url}: {error}") from None
        log.warning("rates not fetched", reason=str(error))
        return 1
    if arguments.leash:
        log.info("rates fetched", rates=result["rates"], last_day=str(result["last_day"]))
    else:
        print_output(result, as_json=arguments.json)
    return 0


@contextmanager
def _count_fetch() -> Generator[None]:
    outcome = "failed"
    try:
        with span("rates"):
            yield
        outcome = "stored"
    finally:
        fetches.labels(outcome).inc()


async def _fetch(settings: Settings) -> Row:
    from headwater.base.egress.client import Egress  # noqa: PLC0415
    from headwater.spend.rates.download import fetch_reference_rates  # noqa: PLC0415

    async with transaction(settings) as connection:
        latest_day = await fetch_reference_day(connection)
    is_own_source = settings.rates_url != Settings().rates_url
    hosts = [urlsplit(settings.rates_url).hostname or ""] if is_own_source else []
    async with Egress(hosts) as egress:
        today = datetime.now(UTC).date()
        rates = await fetch_reference_rates(egress, settings.rates_url, latest_day, today)
    async with transaction(settings) as connection:
        await put_reference_rates(connection, rates)
    return _count_stored(rates)


def _count_stored(rates: list[ReferenceRate]) -> Row:
    days = [rate.date for rate in rates]
    return {"rates": len(rates), "first_day": min(days), "last_day": max(days)}
