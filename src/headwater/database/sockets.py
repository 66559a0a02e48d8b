"""The directory of the embedded PostgreSQL's socket. It must be ours alone: another account's socket there
would receive the database's traffic.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Collection
from pathlib import Path

NAME = ".s.PGSQL.5432"
MAX_PATH = 90
"""sockaddr_un holds 108 bytes, and PostgreSQL appends "/" and the name."""


def inside(root: Path) -> Path:
    return root / "postgresql.sockets"


def choose_directory(root: Path) -> Path:
    """Return the directory for the socket: in the data directory, or, if that path is too long, in the
    account's own runtime directory, else in the temporary one.
    """
    if len(str(inside(root))) <= MAX_PATH:
        return inside(root)
    name = f"headwater-{hashlib.sha256(str(root).encode()).hexdigest()[:16]}"
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR", ""))
    if _is_usable(runtime) and len(str(runtime / name)) <= MAX_PATH:
        return runtime / name
    return Path(tempfile.gettempdir()) / name


def recorded_directory(cluster: Path) -> Path | None:
    """Return a running server's recorded directory: its environment may differ."""
    try:
        lines = (cluster / "postmaster.pid").read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    return Path(lines[4]) if len(lines) > 4 and lines[4].startswith("/") else None


def find_fault(directory: Path, owners: Collection[int]) -> str | None:
    """Return why a directory must not be used; a missing one is fine."""
    try:
        status = directory.lstat()
    except FileNotFoundError:
        return None
    if not stat.S_ISDIR(status.st_mode):
        return "is not a directory"
    if status.st_uid not in owners:
        return f"belongs to another account (uid {status.st_uid})"
    if status.st_mode & 0o077:
        return "is open to other accounts"
    return None


def _is_usable(runtime: Path) -> bool:
    return runtime.is_absolute() and runtime.is_dir() and not find_fault(runtime, {os.geteuid()})
