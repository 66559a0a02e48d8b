"""`headwater backup`: one file with a consistent snapshot of the running installation."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from tqdm import tqdm

from headwater.base.failure import Failure
from headwater.base.files import keep_private
from headwater.base.settings import Settings
from headwater.operations.backups import journal, records
from headwater.operations.backups.archive import SUFFIX, open_archive, remove_leftovers
from headwater.operations.backups.dump import make_backup
from headwater.operations.backups.journal_duty import refresh
from headwater.operations.backups.manifest import Manifest
from headwater.operations.backups.retention import remove_older
from headwater.operations.backups.verification import verify
from headwater.operations.terminal.command import Command, Option
from headwater.operations.terminal.connection import (
    autocommit_connection,
    database_url,
    refuse_unfinished,
    transaction,
)
from headwater.operations.terminal.connection import explain_failures as explain_database_failures
from headwater.operations.terminal.options import JSON
from headwater.operations.terminal.output import print_note, print_output
from headwater.operations.terminal.values import file_count
from headwater.spaces.secret_key import find_secret_key

LIST = "list"
MOST_LISTED = 100
KEY_NOTE = "The file has the secret key, which decrypts its secrets. Keep it where only you can read it."
NO_KEY_NOTE = (
    "The secret key is not in it: keep a copy of it (secret.key in the data directory, or"
    " HEADWATER_SECRET_KEY) at another place."
)


def backup(settings: Settings, arguments: Namespace) -> int:
    keep_private()
    if arguments.target == LIST:
        print_output(asyncio.run(_list(settings)), as_json=arguments.json)
        return 0
    with explain_failures(settings):
        target = _find_target(settings, arguments)
        if arguments.verify and target.is_file() and not arguments.force:
            result = _verify(settings, target)
        else:
            result = _make(settings, arguments, target)
    print_output(result, as_json=arguments.json)
    return 0


async def _list(settings: Settings) -> list[dict[str, Any]]:
    async with transaction(settings) as connection:
        return [asdict(backup) for backup in await records.list_backups(connection, MOST_LISTED)]


def _find_target(settings: Settings, arguments: Namespace) -> Path:
    """Return the file to create or verify; in a folder it is named by time. Raise Failure."""
    if arguments.target is not None:
        target = Path(arguments.target).absolute()
    elif settings.backup_dir is not None:
        target = settings.backup_dir.absolute()
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
    else:
        raise Failure("name a file or a folder, or set HEADWATER_BACKUP_DIR")
    if target.is_dir():
        return target / f"headwater-{datetime.now(UTC):%Y-%m-%dT%H%M%SZ}{SUFFIX}"
    if arguments.keep is not None:
        raise Failure(f"--keep: {target} is no folder")
    if not target.exists() and target.suffix != SUFFIX:
        raise Failure(f"there is no folder {target}: create it, or name a file that ends in {SUFFIX}")
    return target


def _make(settings: Settings, arguments: Namespace, target: Path) -> dict[str, Any]:
    url = database_url(settings)
    refuse_unfinished(url)
    key = find_secret_key(settings, url).text if arguments.with_secret_key else None
    erasures = target.with_name(journal.NAME)
    with autocommit_connection(settings) as connection:
        if target.parent.is_dir():
            refresh(connection, erasures)  # refuses another installation's folder before the work
        with progress_bar() as bar:
            manifest = make_backup(url, target, key, bar, overwrite=arguments.force)
        size = target.stat().st_size
        refresh(connection, erasures)
    _record(settings, manifest, target, size)
    if key is not None:
        print_note(KEY_NOTE)
    elif sys.stderr.isatty():  # a nightly run need not repeat it
        print_note(NO_KEY_NOTE)
    is_verified = _verify(settings, target)["verified"] if arguments.verify else False
    remove_leftovers(target.parent)
    removed_names = _remove_older(settings, manifest, target.parent, arguments.keep)
    return {
        "file": str(target),
        "bytes": size,
        "made_at": manifest.made_at,
        "rows": manifest.rows,
        "tables": len(manifest.tables),
        "secret_key": manifest.has_secret_key,
        "verified": is_verified,
        "removed": removed_names,
    }


def _record(settings: Settings, manifest: Manifest, target: Path, size: int) -> None:
    """Skip a read-only standby."""
    try:
        with autocommit_connection(settings) as connection:
            records.record_backup(connection, manifest, target, size)
    except psycopg.errors.ReadOnlySqlTransaction:
        print_note("The database is read-only: the backup is not recorded there.")


def _remove_older(settings: Settings, manifest: Manifest, folder: Path, keep: int | None) -> list[str]:
    if keep is None:
        return []
    removed_backups = remove_older(folder, manifest.installation_id, keep)
    with suppress(psycopg.errors.ReadOnlySqlTransaction), autocommit_connection(settings) as connection:
        records.forget_backups(connection, [backup_id for backup_id, _ in removed_backups])
    return [name for _, name in removed_backups]


def _verify(settings: Settings, target: Path) -> dict[str, Any]:
    with open_archive(target) as archive:
        manifest = archive.manifest
        with progress_bar(manifest.dump.bytes) as bar:
            verify(archive, partial(bar, word="verified"))
    try:
        with autocommit_connection(settings) as connection:
            records.record_verification(connection, manifest.id)
    except (Failure, psycopg.Error):
        print_note("The installation cannot be reached, so the verification is not recorded.")
    return {
        "file": str(target),
        "verified": True,
        "made_at": manifest.made_at,
        "rows": manifest.rows,
        "tables": len(manifest.tables),
    }


@contextmanager
def progress_bar(total: int | None = None) -> Generator[Callable[..., object]]:
    """Yield a callback that updates a terminal's progress bar with bytes and a word."""
    with tqdm(total=total, unit="B", unit_scale=True, disable=None) as bar:

        def move(done: int, word: str) -> None:
            bar.set_postfix_str(word, refresh=False)
            bar.update(done - bar.n)

        yield move


@contextmanager
def explain_failures(settings: Settings) -> Generator[None]:
    """Turn errors of the database and of files inside the block into a Failure."""
    try:
        with explain_database_failures(settings):
            yield
    except OSError as error:
        raise Failure(f"{error.filename or 'the file'}: {error.strerror or error}") from None


command = Command(
    backup,
    Option(
        "target",
        nargs="?",
        metavar="FILE",
        help="the file to make, or a folder; `list` lists those made (HEADWATER_BACKUP_DIR)",
    ),
    Option("--keep", type=file_count, metavar="N", help="in a folder: keep only the latest N"),
    Option("--verify", action="store_true", help="restore it as a test; also an existing FILE"),
    Option("--force", action="store_true", help="replace an existing file"),
    Option("--with-secret-key", action="store_true", help="include the secret key"),
    JSON,
)
