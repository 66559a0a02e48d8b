"""Risks of the files and the disk, decided on facts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from headwater.base.name_lists import list_names
from headwater.base.settings import Settings
from headwater.operations.safety.file_facts import DiskFacts, FileFacts
from headwater.operations.safety.models import Risk, RiskSeverity

LOW_BYTES = 2 * 1024**3
"""Warn below this free space,"""
LOW_SHARE, PLENTY_BYTES = 0.10, 20 * 1024**3
"""or below this share of the disk, unless this much is free."""
SHORT_BYTES = 256 * 1024**2
"""Below this, the next large report or checkpoint may fail."""
MOST_NAMED = 5


def judge_files(settings: Settings, facts: FileFacts) -> Iterator[Risk]:
    if facts.open_paths:
        yield Risk(
            "open_files",
            RiskSeverity.CRITICAL,
            _name(facts.open_paths),
            "other accounts of this machine may read personal data or keys in it",
            "as its owner, run chmod -R go-rwx on it",
        )
    if facts.foreign_paths:
        yield Risk(
            "foreign_files",
            RiskSeverity.WARNING,
            _name(facts.foreign_paths),
            "it belongs to another account, which may change it at any time",
            "give it to the account that runs Headwater (chown)",
        )
    if facts.is_root:
        yield Risk(
            "root",
            RiskSeverity.NOTICE,
            "Headwater or this command runs as root",
            "a bug could take over the whole machine",
            "run it under its own account",
        )
    if facts.has_key_file and settings.secret_key is None:
        yield Risk(
            "key_beside_data",
            RiskSeverity.NOTICE,
            f"{settings.data_dir / 'secret.key'}",
            "a copy of the data directory contains the encrypted secrets and their key, and losing"
            " the directory loses both",
            "keep a copy elsewhere; to separate them, set HEADWATER_SECRET_KEY for every process"
            " and remove the file",
        )
    if facts.old_clusters:
        yield Risk(
            "old_cluster",
            RiskSeverity.WARNING,
            _name(facts.old_clusters),
            "people who were erased since the upgrade of PostgreSQL are still in it",
            "run headwater upgrade --remove-old once the new version works",
        )
    for disk in facts.disks:
        yield from _judge_disk(disk)
    yield from _judge_backup_dir(facts)


def _judge_disk(disk: DiskFacts) -> Iterator[Risk]:
    is_small_share = disk.free < LOW_SHARE * disk.total and disk.free < PLENTY_BYTES
    if disk.free < SHORT_BYTES:
        severity = RiskSeverity.CRITICAL
    elif is_small_share or disk.free < LOW_BYTES:
        severity = RiskSeverity.WARNING
    else:
        return
    yield Risk(
        "disk_nearly_full",
        severity,
        f"{disk.path}: {disk.free // 1024**2} MB free of {disk.total // 1024**2} MB",
        "on a full disk nothing is acknowledged: senders get 503, and exports and backups fail",
        "free some space, or move to a larger disk",
    )


def _judge_backup_dir(facts: FileFacts) -> Iterator[Risk]:
    if facts.backup_dir is None:
        return
    if facts.shares_disk:
        yield Risk(
            "backups_on_same_disk",
            RiskSeverity.WARNING,
            str(facts.backup_dir),
            "a disk failure loses the data and the backups",
            "put them on another disk, and copy them to another machine",
        )
    if not facts.has_journal:
        yield Risk(
            "no_erasure_journal",
            RiskSeverity.WARNING,
            str(facts.backup_dir),
            "without the journal of erasures a restore brings back erased people",
            "set HEADWATER_BACKUP_DIR to it where the worker runs, or run `headwater backup` again",
        )


def _name(paths: tuple[Path, ...]) -> str:
    return list_names([*map(str, paths)], MOST_NAMED)
