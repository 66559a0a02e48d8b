"""A data directory: its lock, and the state of an unfinished restore or upgrade of PostgreSQL."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from headwater.base.failpoints import failpoint
from headwater.base.files import sync_directory, try_lock

LOCK = "serve.lock"


class DirectoryInUseError(RuntimeError):
    """Another process holds the data directory."""


def lock_directory(data_dir: Path) -> IO[bytes]:
    """Lock a data directory until the returned file is closed or the process ends. The holder may write into
    the file. Raises DirectoryInUseError, OSError.
    """
    file = (data_dir / LOCK).open("ab")
    if not try_lock(file):
        file.close()
        raise DirectoryInUseError(str(data_dir))
    file.truncate(0)
    return file


def restoration_directory(root: Path) -> Path:
    return root / "postgresql.restoring"


def read_major(cluster: Path) -> int:
    """Raises OSError without a cluster."""
    return int((cluster / "PG_VERSION").read_text())


def explain_other_major(root: Path, major: int) -> str | None:
    """Return why this version of PostgreSQL cannot use a data directory's cluster, with advice; None if it
    can.
    """
    cluster = root / "postgresql"
    made_by = read_major(cluster)
    if made_by == major:
        return None
    explanation = f"{cluster} is of PostgreSQL {made_by}, and this version brings {major}"
    if made_by > major:
        return f"{explanation}: use the version of Headwater that last served it; nothing was changed"
    return f"{explanation}: stop the service and run `headwater upgrade --data-dir {root}`, once"


def upgrading_directory(root: Path) -> Path:
    return root / "postgresql.upgrading"


def upgraded_directory(root: Path) -> Path:
    """Return the directory of an upgrade that only has to be renamed."""
    return root / "postgresql.upgraded"


def kept_directory(root: Path, major: int) -> Path:
    return root / f"postgresql.{major}"


def list_kept(root: Path) -> list[Path]:
    """Include clusters left by killed upgrades."""
    clusters = root.glob("postgresql.[0-9]*")
    unfinished = upgrading_directory(root)
    return [*sorted(clusters), *([unfinished] if unfinished.exists() else [])]


def complete_upgrade(root: Path) -> None:
    """Rename a completed upgrade into place, if any. After a kill the next start continues here.

    postgresql          -> postgresql.16
    postgresql.upgraded -> postgresql
    """
    upgraded, cluster = upgraded_directory(root), root / "postgresql"
    if not upgraded.exists():
        return
    if cluster.exists():
        cluster.rename(kept_directory(root, read_major(cluster)))
        sync_directory(root)
    failpoint("upgrade_between_renames")
    upgraded.rename(cluster)
    sync_directory(root)
