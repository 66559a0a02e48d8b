"""PostgreSQL's `pg_upgrade`, which copies the files of tables and indexes into a new cluster of another major
version. The old cluster is only read.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from headwater.base.failure import Failure
from headwater.base.files import close_to_others
from headwater.database.account import give_to_server, server_account, tie
from headwater.database.embedded import USER, Embedded

OUTPUT = "pg_upgrade_output.d"


def copy_cluster(old: Embedded, new: Embedded) -> None:
    """Fill a new cluster from an old one; neither may run. Raises Failure with the message of
    `pg_upgrade`.
    """
    new.make_socket_directory()
    give_to_server(new.root)  # its working directory, for a script
    log = old.root / "postgresql.upgrade.log"
    # Child processes that outlive this one keep the lock, so no second server starts.
    with old.hold() as lock, log.open("wb") as output:
        close_to_others(log)
        process = subprocess.run(
            _command(old, new),
            cwd=new.root,
            env=_environment(old.read_password()),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=(lock,),
            check=False,
        )
        if process.returncode:
            reason = _find_fault(log)
            _add_notes(new.cluster / OUTPUT, log)
            raise Failure(f"pg_upgrade: {reason} ({log} has its full output)")


def _command(old: Embedded, new: Embedded) -> list[str]:
    return [
        *server_account(),
        *tie(),
        new.programs.path("pg_upgrade"),
        f"--old-bindir={old.programs.folder}",
        f"--new-bindir={new.programs.folder}",
        f"--old-datadir={old.cluster}",
        f"--new-datadir={new.cluster}",
        f"--socketdir={new.sockets}",
        f"--username={USER}",
    ]


def _environment(password: str) -> dict[str, str]:
    """Remove variables that point PostgreSQL's programs elsewhere."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return {**environment, "PGPASSWORD": password}


def _add_notes(folder: Path, log: Path) -> None:
    """Append `pg_upgrade`'s logs, which are deleted with the new cluster."""
    with log.open("ab") as output:
        for note in sorted([*folder.rglob("*.txt"), *folder.rglob("*.log")]):
            output.write(f"\n{note.name}:\n".encode() + note.read_bytes())


def _find_fault(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    faults = (line for line in lines if line.endswith("fatal") or "error" in line.lower())
    return " ".join(next(faults, "it failed").split())
