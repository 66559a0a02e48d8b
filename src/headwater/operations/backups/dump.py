"""Make a backup: pg_dump reads a snapshot of the running database, whose rows are counted too, and its SQL is
compressed into the file.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from uuid import uuid4

from headwater import __version__
from headwater.operations.backups.archive import CHUNK_BYTES, ArchiveWriter, create, refuse_existing
from headwater.operations.backups.errors import BackupError
from headwater.operations.backups.manifest import Dump, Manifest
from headwater.operations.backups.programs import Program, connected, find_dump_program
from headwater.operations.backups.snapshot import NOT_DUMPED, Snapshot, take_snapshot

Progress = Callable[[int, str], object]

OPTIONS = (
    "--encoding=UTF8",
    "--no-owner",
    "--no-privileges",
    "--no-tablespaces",
    "--no-publications",
    "--no-subscriptions",
    "--no-security-labels",
    "--no-unlogged-table-data",
    "--exclude-extension=*",
    f"--exclude-table-data={NOT_DUMPED}",
    "--verbose",
)
AT_TABLE = "dumping contents of table"
NEW_SETTING = b"\nSET transaction_timeout = 0;\n"
"""A line of pg_dump's that PostgreSQL 16 does not know."""


def make_backup(
    url: str, target: Path, secret_key: str | None, progress: Progress, *, overwrite: bool
) -> Manifest:
    """Write a complete backup of a database to a file, or nothing. Raises BackupError."""
    if not overwrite:
        refuse_existing(target)
    if not target.parent.is_dir():
        raise BackupError(f"there is no folder {target.parent}")
    with take_snapshot(url) as snapshot, create(target, overwrite=overwrite) as archive:
        program = find_dump_program(snapshot.server_major)
        _write_dump(url, snapshot, program, archive, progress)
        manifest = Manifest(
            id=uuid4(),
            installation=snapshot.installation,
            headwater=__version__,
            migrations=snapshot.migrations,
            made_at=snapshot.taken_at,
            tables=snapshot.tables,
            dump=Dump(archive.bytes, archive.sha256, snapshot.server_version, program.version),
            has_secret_key=secret_key is not None,
            schema=snapshot.schema,
        )
        archive.finish(manifest, secret_key)
    return manifest


def _write_dump(
    url: str, snapshot: Snapshot, program: Program, archive: ArchiveWriter, progress: Progress
) -> None:
    arguments, environment = connected(program.path, url)
    command = [*arguments, f"--snapshot={snapshot.name}", *OPTIONS]
    with _running(command, environment) as (output, report), archive.dump() as stream:
        first = True
        while data := output.read(CHUNK_BYTES):
            stream.write(data.replace(NEW_SETTING, b"\n", 1) if first else data)
            first = False
            progress(archive.bytes, report.table)


class _Report:
    def __init__(self, stream: IO[bytes]) -> None:
        self.table = ""
        self.errors: list[str] = []
        self._stream = stream
        self.thread = threading.Thread(target=self._follow, daemon=True)

    def _follow(self) -> None:
        for line in self._stream:
            text = line.decode(errors="replace").strip()
            if AT_TABLE in text:
                self.table = text.rpartition(".")[2].strip('"')
            elif "error:" in text:
                self.errors.append(text)


@contextmanager
def _running(command: list[str], environment: dict[str, str]) -> Generator[tuple[IO[bytes], _Report]]:
    """Raises BackupError if pg_dump fails."""
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        report = _Report(process.stderr)
        report.thread.start()
        try:
            yield process.stdout, report
        except BaseException:
            process.kill()
            raise
        finally:
            process.wait()
            report.thread.join()
        if process.returncode:
            reason = "; ".join(report.errors) or f"exit code {process.returncode}"
            raise BackupError(f"pg_dump failed: {reason}")
