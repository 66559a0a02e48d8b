"""`headwater import …`: events, orders, touchpoints, contacts, spend and ad names from a file."""

from __future__ import annotations

import asyncio
import time
from argparse import Namespace
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from datetime import time as clock_time
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from psycopg import AsyncConnection
from tqdm import tqdm

from headwater.base.egress.client import Egress
from headwater.base.failure import Failure
from headwater.base.settings import Settings
from headwater.http.errors import Invalid, join_rules
from headwater.http.inputs.instants import parse_iso
from headwater.intake.imports.file_readings import read_file
from headwater.intake.imports.formats.amounts import DECIMALS
from headwater.intake.imports.formats.choices import FileChoices
from headwater.intake.imports.formats.columns import Columns, read_mapping
from headwater.intake.imports.formats.dialects import SEPARATORS
from headwater.intake.imports.formats.encodings import CHOICES as ENCODINGS
from headwater.intake.imports.formats.files import STANDARD_INPUT, RowSource, open_source
from headwater.intake.imports.formats.times import DATES
from headwater.intake.imports.importer import Import
from headwater.intake.imports.kinds import KINDS
from headwater.intake.imports.orders.layouts import BY_NAME as ORDER_LAYOUTS
from headwater.intake.imports.orders.shop_apis import SHOP_APIS, ShopAccess
from headwater.intake.imports.orders.shop_source import open_shop
from headwater.intake.imports.rejected_rows import MOST_LISTED, RejectedRowFile
from headwater.operations.terminal.account_options import read_secrets
from headwater.operations.terminal.audited import note_change
from headwater.operations.terminal.command import CommandGroup, Option
from headwater.operations.terminal.connection import CONNECT_SECONDS, database_url, explain_failures
from headwater.operations.terminal.options import FILE_FORMAT, JSON, SPACE
from headwater.operations.terminal.output import print_note, print_output, print_text
from headwater.spaces.audit.entries import AuditChange
from headwater.spaces.models import Space
from headwater.spaces.settings_input import zone_names
from headwater.spaces.spaces import fetch_space
from headwater.spend.file_formats import BY_NAME
from headwater.spend.inputs import parse_report_time

COLUMN_MAP = Option("--map", action="append", default=[], metavar="COLUMN=FIELD", help="repeatable")
NOTATION = (
    Option("--dates", choices=tuple(DATES), help="how days are written (detected)"),
    Option("--decimals", choices=tuple(DECIMALS), help="how numbers are written (detected)"),
    Option("--separator", choices=tuple(SEPARATORS), help="what separates cells (detected)"),
    Option("--encoding", choices=tuple(ENCODINGS), metavar="E", help="the encoding (detected)"),
)
_FILE = (
    SPACE,
    Option("file", metavar="FILE", help="CSV or NDJSON, or - for standard input"),
    FILE_FORMAT,
    COLUMN_MAP,
)
_WRITTEN = (
    *NOTATION,
    Option("--dry-run", action="store_true", help="check the file, and store nothing"),
    Option("--again", action="store_true", help="import it even if it was imported before"),
    JSON,
)
SHOP_OPTIONS = (
    SPACE,
    Option("platform", choices=tuple(SHOP_APIS), help="the shop's software, or the payment service"),
    Option("--shop", metavar="URL", help="the address of the shop; Stripe needs none"),
    Option("--secret", action="append", default=[], metavar="KEY=@FILE", help="repeatable; it is not stored"),
    Option("--since", metavar="DAY", help="the first day (all)"),
    *_WRITTEN[-3:],
)
OPTIONS = (
    *_FILE,
    Option("--timezone", default="UTC", metavar="Z", help="the time zone of times without an offset (UTC)"),
    *_WRITTEN,
)
EVENT_OPTIONS = (
    *_FILE,
    Option("--event-name", metavar="N", help="default for rows without one"),
    *OPTIONS[len(_FILE) :],
)
ORDER_OPTIONS = (
    *_FILE,
    Option("--layout", choices=tuple(ORDER_LAYOUTS), help="who wrote the export (detected)"),
    *OPTIONS[len(_FILE) :],
)
SPEND_OPTIONS = (
    *_FILE,
    Option("--layout", choices=tuple(BY_NAME), help="the platform that wrote the export (detected)"),
    Option("--currency", metavar="C", help="default for rows without one"),
    Option("--platform", metavar="P", help="default for rows without one"),
    Option("--timezone", metavar="Z", help="the ad account's, which is stored"),
    Option("--as-of", metavar="T", help="when it was exported (the file's time)"),
    *_WRITTEN,
)


def import_file(kind: str, settings: Settings, arguments: Namespace) -> int:
    """Import a file. Return 1 if rows were refused."""
    url = database_url(settings)
    with explain_failures(settings), open_file(arguments) as source:
        refusals = RejectedRowFile(_rejected_file(arguments.file), dry=arguments.dry_run)
        prepare = _prepare_spend if kind == "spend" else _prepare
        return asyncio.run(_import(url, prepare(kind, source, refusals, arguments), arguments))


@contextmanager
def open_file(arguments: Namespace) -> Generator[RowSource]:
    """Yield the rows of the file that the options describe. Raise Failure."""
    try:
        with open_source(
            arguments.file,
            arguments.format,
            ENCODINGS.get(arguments.encoding),
            SEPARATORS.get(arguments.separator),
        ) as source:
            yield source
    except OSError as error:
        raise Failure(f"{error.filename or arguments.file}: {error.strerror}") from None


def import_shop(settings: Settings, arguments: Namespace) -> int:
    """Import the past orders of a shop. Return 1 if orders were refused."""
    with explain_failures(settings):
        return asyncio.run(_import_shop(database_url(settings), arguments))


async def _import_shop(url: str, arguments: Namespace) -> int:
    api, access = SHOP_APIS[arguments.platform], _read_access(arguments)
    refusals = RejectedRowFile(_rejected_file(arguments.platform), dry=arguments.dry_run)
    columns = Columns(KINDS["orders"].fields)
    async with Egress() as egress:
        source = open_shop(api, access, egress, asyncio.get_running_loop())
        prepare = partial(_prepare_shop, source, columns, refusals, dry=arguments.dry_run)
        return await _import(url, prepare, arguments)


def _prepare_shop(
    source: RowSource, columns: Columns, refusals: RejectedRowFile, space: Space, *, dry: bool
) -> Import:
    return Import(space, "orders", source, columns, refusals, dry=dry)


def _read_access(arguments: Namespace) -> ShopAccess:
    """Raise Failure."""
    api, secrets = SHOP_APIS[arguments.platform], read_secrets(arguments.secret)
    if secrets.keys() != {*api.secrets}:
        needed_options = " and ".join(f"--secret {name}=@FILE" for name in api.secrets)
        raise Failure(f"{api.title} needs {needed_options}")
    origin = (arguments.shop or api.origin).rstrip("/")
    if not origin:
        raise Failure("--shop: the address of the shop is needed, such as https://shop.example")
    return ShopAccess(origin, secrets, None if arguments.since is None else _read_day(arguments.since))


def _read_day(text: str) -> datetime:
    """Raise Failure."""
    try:
        return datetime.combine(date.fromisoformat(text), clock_time(tzinfo=UTC))
    except ValueError:
        raise Failure(f"--since {text}: must be a day, such as 2025-11-01") from None


group = CommandGroup()
group.add("events", "events", partial(import_file, "events"), *EVENT_OPTIONS)
group.add("orders", "past orders, from a shop's export", partial(import_file, "orders"), *ORDER_OPTIONS)
group.add("touchpoints", "touchpoints that no event carries", partial(import_file, "touchpoints"), *OPTIONS)
group.add("contacts", "contacts, or more about those there are", partial(import_file, "contacts"), *OPTIONS)
group.add("ads", "names for the ids of ad platforms", partial(import_file, "ads"), *OPTIONS)


group.add("shop", "past orders, from the interface of a shop", import_shop, *SHOP_OPTIONS)
group.add("spend", "what ads have cost", partial(import_file, "spend"), *SPEND_OPTIONS)

Preparation = Callable[[Space], Import]
"""Builds a file's import, given the Space."""


def _prepare(kind: str, source: RowSource, refusals: RejectedRowFile, arguments: Namespace) -> Preparation:
    zone = _read_zone(arguments.timezone)
    event_name = getattr(arguments, "event_name", None)
    constants = {"event_name": event_name} if event_name else {}
    reading = read_file(kind, source, _choices(arguments, getattr(arguments, "layout", None)), constants)
    return lambda space: Import(
        space, kind, reading.source, reading.columns, refusals, zone, reading.notation, dry=arguments.dry_run
    )


def _choices(arguments: Namespace, layout: str | None = None) -> FileChoices:
    return FileChoices(read_mapping(arguments.map), layout, arguments.decimals, arguments.dates)


def _prepare_spend(
    kind: str, source: RowSource, refusals: RejectedRowFile, arguments: Namespace
) -> Preparation:
    fixed = {"currency": arguments.currency, "platform": arguments.platform}
    if arguments.timezone is not None:
        fixed["timezone"] = _read_zone(arguments.timezone).key
    if arguments.as_of is not None:
        fixed["as_of"] = _read_moment(arguments.as_of)
    constants = {name: value for name, value in fixed.items() if value}
    reading = read_file(kind, source, _choices(arguments, arguments.layout), constants)
    return lambda space: Import(
        space,
        kind,
        reading.source,
        reading.columns,
        refusals,
        notation=reading.notation,
        defaults={"as_of": _modification_time(arguments.file)},
        dry=arguments.dry_run,
    )


def _read_moment(text: str) -> str:
    """Raise Failure for an invalid or future time."""
    try:
        parse_report_time(parse_iso(text), datetime.now(UTC))
    except ValueError as error:
        raise Failure(f"--as-of {text}: {error}") from None
    except Invalid as invalid:
        raise Failure(f"--as-of {text}: {invalid.errors['as_of'][0]}") from None
    return text


def _modification_time(file: str) -> str:
    """Use now for standard input."""
    current_time = time.time()
    seconds = current_time if file == STANDARD_INPUT else min(current_time, Path(file).stat().st_mtime)
    return datetime.fromtimestamp(seconds, UTC).isoformat()


async def _import(url: str, prepare: Preparation, arguments: Namespace) -> int:
    async with await AsyncConnection.connect(
        url, autocommit=True, connect_timeout=CONNECT_SECONDS
    ) as connection:
        space = await fetch_space(connection, arguments.space)
        job = prepare(space)
        source = job.source
        is_finished = not await job.begin(connection, again=arguments.again)
        if not is_finished:
            if not arguments.dry_run:
                await note_change(connection, arguments, AuditChange("import", after={"kind": job.name}))
            with tqdm(total=source.size, unit="B", unit_scale=True, disable=None) as bar:
                async for progress in job.chunks(connection):
                    bar.update(source.raw.tell() - bar.n)
                    bar.set_postfix_str(f"{progress.rows_done} rows, {progress.refused} refused")
    _report(job, was_finished=is_finished, as_json=arguments.json)
    return 1 if job.progress.refused else 0


def _read_zone(name: str) -> ZoneInfo:
    """Raise Failure."""
    if name not in zone_names():
        raise Failure(f"--timezone {name}: must be an IANA time zone, such as Europe/Berlin")
    return ZoneInfo(name)


def _rejected_file(file: str) -> Path:
    name = "stdin" if file == STANDARD_INPUT else file
    return Path(f"{name}.refused.ndjson").absolute()


def _report(job: Import, *, was_finished: bool, as_json: bool) -> None:
    progress, refusals = job.progress, job.refusals
    assert isinstance(refusals, RejectedRowFile)
    report: dict[str, Any] = {
        "rows": progress.rows_done,
        job.kind.taken: progress.taken,
        "refused": progress.refused,
        "rows_done_before": job.resumed,
        "dry_run": job.dry,
        "finished_before": progress.finished_at if was_finished else None,
        "reasons": dict(refusals.reasons.most_common(MOST_LISTED)),
        "refused_file": str(refusals.target) if progress.refused else None,
    }
    if job.kind.find_source is not None:
        report |= {
            "sources": {name: count for name, count in progress.sources.items() if name},
            "without_source": progress.sources.get("", 0),
        }
    if job.kind.time is not None:
        report |= {"times_without_offset": job.local_times, "timezone": job.zone.key}
    if not as_json:
        _list_refusals(job, refusals)
        if was_finished:
            print_text("This file is imported already; --again imports it once more.")
        if job.local_times:
            print_text(_explain_local_times(job))
    print_output(report, as_json=as_json)


def _explain_local_times(job: Import) -> str:
    zone, space_zone = job.zone.key, job.space.timezone
    times_text = f"{job.local_times:,} time{'s' * (job.local_times != 1)} had no offset"
    hint = (
        ""
        if zone == space_zone
        else f" The Space's own zone is {space_zone}: --timezone {space_zone} reads them so."
    )
    return f"{times_text} and {'was' if job.local_times == 1 else 'were'} read as {zone}.{hint}"


def _list_refusals(job: Import, refusals: RejectedRowFile) -> None:
    for refusal in refusals.first:
        print_note(f"line {refusal.line}: {join_rules(refusal.errors)}")
    unlisted_count = job.progress.refused - len(refusals.first)
    if unlisted_count > 0 and len(refusals.first) == MOST_LISTED:
        print_note(f"and {unlisted_count} more")
