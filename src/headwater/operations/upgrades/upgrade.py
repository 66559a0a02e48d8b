"""Upgrades the embedded PostgreSQL's cluster from an older major version to this one.

postgresql/               the cluster, version 16
    postgresql.upgrading/     where a new one is created, filled and checked; a kill leaves rubbish
    postgresql.upgraded/      the complete new one: after this rename the upgrade is done, and the
                              next start renames the rest into place
    postgresql.16/            the old cluster, until it is removed

Before that rename the old cluster is only read, so the old version can continue with it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from msgspec import Struct

from headwater.base.failpoints import failpoint
from headwater.base.failure import Failure
from headwater.base.files import sync_directory
from headwater.database.data_directory import (
    DirectoryInUseError,
    complete_upgrade,
    kept_directory,
    list_kept,
    lock_directory,
    read_major,
    upgraded_directory,
    upgrading_directory,
)
from headwater.database.embedded import Embedded
from headwater.database.programs import MAJOR
from headwater.operations.upgrades.cluster_copy import copy_cluster
from headwater.operations.upgrades.content import Content, list_left, queries, read_content, require_same
from headwater.operations.upgrades.old_programs import find_programs

FAILURES = (Failure, OSError, psycopg.Error, subprocess.SubprocessError)
OLDEST_MAJOR = 16
MARGIN_BYTES = 256 * 1024**2
"""Disk space for the log of a cluster being filled."""

Progress = Callable[[str], object]
"""Receives a sentence about the step that begins."""


class Upgraded(Struct, frozen=True):
    before: int
    tables: int
    settings_left: list[str]
    """Settings changed in configuration files, now back at their defaults."""
    kept_folder: Path


def upgrade(data_dir: Path, programs: Path | None, progress: Progress) -> Upgraded | None:
    """Upgrade a data directory's cluster, if needed. Raises Failure, which leaves it unchanged."""
    with _alone(data_dir.absolute()) as root:
        complete_upgrade(root)
        before = read_major(root / "postgresql")
        if before == MAJOR:
            _remove(root)
            return None
        if before > MAJOR:
            raise Failure(
                f"the data belongs to PostgreSQL {before}, and this version brings {MAJOR}: use the"
                " version of Headwater that last served it"
            )
        if before < OLDEST_MAJOR:
            raise Failure(
                f"the data belongs to PostgreSQL {before}, which Headwater never supported: the oldest is"
                f" {OLDEST_MAJOR}"
            )
        old = Embedded(root, find_programs(before, programs))
        _refuse_unfit(old)
        with _explained(root):
            _remove(root)
            contents = _make(old, progress)
        failpoint("upgrade_after_commit")
        complete_upgrade(root)
        _remove(root)
    return Upgraded(before, len(contents[0].tables), list_left(*contents), kept_directory(root, before))


def remove_kept(data_dir: Path) -> list[Path]:
    root = data_dir.absolute()
    if upgraded_directory(root).exists():
        raise Failure("an upgrade was not finished: run `headwater upgrade` first")
    names = list_kept(root)
    for name in names:
        shutil.rmtree(name)
    return names


def _make(old: Embedded, progress: Progress) -> tuple[Content, Content]:
    """Build the new cluster; return the content before and after."""
    new = Embedded(upgrading_directory(old.root))
    progress(f"Reading the cluster of PostgreSQL {old.programs.major} holds")
    before = _read(old)
    progress(f"Copying it into one of PostgreSQL {MAJOR}")
    failpoint("upgrade_before_copy")
    new.create(old.read_password())
    failpoint("upgrade_new_cluster")
    copy_cluster(old, new)
    failpoint("upgrade_after_copy")
    progress("Comparing both")
    after = _read(new, analyze=True)
    require_same(before, after)
    failpoint("upgrade_before_commit")
    new.cluster.rename(upgraded_directory(old.root))
    sync_directory(old.root)
    return before, after


def _read(server: Embedded, *, analyze: bool = False) -> Content:
    """Shut the server down cleanly for `pg_upgrade`."""
    try:
        url = server.start(tied=True)
        content = read_content(url)
        if analyze:
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(queries["analyze"])
        return content
    finally:
        server.stop()


@contextmanager
def _alone(root: Path) -> Generator[Path]:
    """Raises Failure."""
    if not (root / "postgresql").exists() and not upgraded_directory(root).exists():
        raise Failure(f"no Headwater data in {root}; name its --data-dir")
    try:
        lock = lock_directory(root)
    except DirectoryInUseError:
        raise Failure(f"`headwater serve` runs on {root}: stop it first") from None
    except OSError as error:
        raise Failure(f"cannot use {root}: {error.strerror or error}") from None
    with lock:
        yield root


def _refuse_unfit(old: Embedded) -> None:
    """Raise Failure if the upgrade could not finish."""
    old_cluster = kept_directory(old.root, old.programs.major)
    if old_cluster.exists():
        raise Failure(f"{old_cluster} exists from an earlier upgrade: move it away")
    if old.cluster.is_symlink() or old.cluster.stat().st_dev != old.root.stat().st_dev:
        raise Failure(
            f"{old.cluster} is on another disk than {old.root}, so that it cannot be renamed:"
            " move it into the data directory, or back up and restore into a new one"
        )
    needed_bytes = _measure(old.cluster) * 11 // 10 + MARGIN_BYTES
    free_bytes = shutil.disk_usage(old.root).free + _measure(upgrading_directory(old.root))
    if free_bytes < needed_bytes:
        raise Failure(
            f"the upgrade needs {needed_bytes // 1024**2} MB beside the old cluster, and"
            f" {free_bytes // 1024**2} MB are free on the disk of {old.root}: make room"
        )


def _measure(folder: Path) -> int:
    """Return bytes, without PostgreSQL's log, which is not copied."""
    total = 0
    for path, folders, files in os.walk(folder):
        if "pg_wal" in folders:
            folders.remove("pg_wal")
        total += sum(Path(path, name).lstat().st_size for name in files)
    return total


def _remove(root: Path) -> None:
    unfinished = upgrading_directory(root)
    if unfinished.exists():
        Embedded(unfinished).end_orphan()
        shutil.rmtree(unfinished)
        sync_directory(root)


@contextmanager
def _explained(root: Path) -> Generator[None]:
    """Clean up a failure. Raises Failure for expected errors."""
    try:
        yield
    except FAILURES as error:
        shutil.rmtree(upgrading_directory(root), ignore_errors=True)
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise Failure(f"{reason}. The cluster is unchanged; the previous version can serve it") from None
