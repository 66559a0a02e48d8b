"""The account of PostgreSQL's programs: ours, unless we are root."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

NOBODY = 65534


def server_account() -> list[str]:
    """Return the prefix of commands that run under the server's account, because PostgreSQL refuses to run as
    root. In a user namespace root appears as the account NOBODY and keeps its access to files; otherwise the
    server runs under that account.
    """
    if not _is_root():
        return []
    if _may_map_users():
        return ["unshare", "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}"]
    group = pwd.getpwuid(NOBODY).pw_gid
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={group}", "--clear-groups"]


def tie() -> list[str]:
    """Return the prefix of a command that gets a fast-shutdown signal when its parent ends; empty if setpriv
    is unavailable or blocked by a system call filter. systemd, whose units have such filters, ends all
    processes of a unit.
    """
    command = ["setpriv", "--pdeathsig", "INT"]
    if sys.platform != "linux" or not shutil.which("setpriv"):
        return []
    process = subprocess.run([*command, "setpriv", "--version"], capture_output=True, check=False)
    return command if process.returncode == 0 else []


def _is_root() -> bool:
    return os.geteuid() == 0


def server_has_our_account() -> bool:
    """Return False if we are root and cannot map users."""
    return not _is_root() or _may_map_users()


def give_to_server(directory: Path | int) -> None:
    if not server_has_our_account():
        os.chown(directory, NOBODY, -1)


@contextmanager
def readable_to_server(text: str) -> Generator[int]:
    """Yield a pipe that the server's account may open by name."""
    reading, writing = os.pipe()
    try:
        with open(writing, "w", encoding="utf-8") as pipe:  # noqa: PTH123 # it is open already
            pipe.write(text)
        give_to_server(reading)
        yield reading
    finally:
        os.close(reading)


@cache
def _may_map_users() -> bool:
    command = ["unshare", "--user", f"--map-user={NOBODY}", "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
