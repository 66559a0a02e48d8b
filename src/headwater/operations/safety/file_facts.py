"""Facts about the data directory and the folders of backups and exports: modes, owners, free space."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headwater.base.settings import Settings
from headwater.base.storage import find_local_folder
from headwater.database.account import server_has_our_account
from headwater.database.data_directory import list_kept
from headwater.database.embedded import OWN_ENTRIES, PASSING_THROUGH
from headwater.operations.backups import journal
from headwater.operations.backups.archive import SUFFIX
from headwater.spaces.secret_key import key_file


@dataclass(frozen=True)
class DiskFacts:
    path: Path
    total: int
    free: int


@dataclass(frozen=True)
class FileFacts:
    is_root: bool
    open_paths: tuple[Path, ...]
    """Headwater's files that other accounts can read or write."""
    foreign_paths: tuple[Path, ...]
    has_key_file: bool
    disks: tuple[DiskFacts, ...]
    """One folder of each disk."""
    backup_dir: Path | None
    shares_disk: bool
    has_journal: bool
    old_clusters: tuple[Path, ...] = ()
    """Clusters kept, or left incomplete, by an upgrade of PostgreSQL."""


def gather_file_facts(settings: Settings, recorded_folder: Path | None) -> FileFacts:
    root = settings.data_dir.absolute()
    folder = settings.backup_dir or recorded_folder
    backup_dir = folder.absolute() if folder is not None and folder.is_dir() else None
    folders = (root, backup_dir, find_local_folder(settings))
    devices = {path: path.stat().st_dev for path in folders if path is not None and path.is_dir()}
    disks = {device: path for path, device in reversed(devices.items())}
    own_paths = [*_entries(root), *(_backups(backup_dir) if backup_dir else ())]
    accounts = _accounts(root)
    return FileFacts(
        is_root=os.geteuid() == 0,
        open_paths=tuple(path for path in own_paths if _is_open(path, root)),
        foreign_paths=tuple(path for path in own_paths if path.lstat().st_uid not in accounts),
        has_key_file=key_file(root).exists(),
        disks=tuple(_measure(path) for path in disks.values()),
        backup_dir=backup_dir,
        shares_disk=backup_dir is not None and devices[backup_dir] == devices.get(root),
        has_journal=backup_dir is not None and (backup_dir / journal.NAME).exists(),
        old_clusters=tuple(list_kept(root)),
    )


def _entries(root: Path) -> Iterator[Path]:
    """Yield the data directory, if it is used by Headwater alone, and Headwater's files directly in it."""
    if not root.is_dir():
        return
    entries = sorted(root.iterdir())
    if all(entry.name.startswith(OWN_ENTRIES) for entry in entries):
        yield root
    yield from (entry for entry in entries if entry.name.startswith(OWN_ENTRIES))


def _backups(folder: Path) -> Iterator[Path]:
    yield from sorted(folder.glob(f"headwater-*{SUFFIX}"))
    if (folder / journal.NAME).exists():
        yield folder / journal.NAME


def _is_open(path: Path, root: Path) -> bool:
    passing = 0 if server_has_our_account() or path != root else PASSING_THROUGH & 0o077
    return bool(stat.S_IMODE(path.lstat().st_mode) & 0o077 & ~passing)


def _accounts(root: Path) -> set[int]:
    """Permit the directory's owner and PostgreSQL's user."""
    cluster = root / "postgresql"
    owners = [path.lstat().st_uid for path in (root, cluster) if path.exists()]
    return {os.geteuid(), *owners}


def _measure(path: Path) -> DiskFacts:
    usage = shutil.disk_usage(path)
    return DiskFacts(path, usage.total, usage.free)
