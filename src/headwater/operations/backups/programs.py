"""PostgreSQL's programs and their connection settings. Passwords go through the environment, because all
users of the machine can see command lines.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import NamedTuple

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from headwater.database.programs import program_path, read_version, to_major
from headwater.operations.backups.errors import BackupError


class Program(NamedTuple):
    path: str
    version: str

    @property
    def major(self) -> int:
        return to_major(self.version)


class ProgramCall(NamedTuple):
    arguments: list[str]
    environment: dict[str, str]


def find_dump_program(server_major: int) -> Program:
    """Return a pg_dump for a server of this major version: the embedded PostgreSQL's, else the one in PATH.
    Raises BackupError.
    """
    programs = list(_dump_programs())
    for program in programs:
        if program.major >= server_major:
            return program
    versions = " and ".join(program.version for program in programs) or "none"
    raise BackupError(
        f"the server is PostgreSQL {server_major}, and pg_dump must not be older ({versions} found);"
        f" install the client programs of PostgreSQL {server_major} so that `pg_dump` is in PATH"
    )


def _dump_programs() -> Iterator[Program]:
    for path in (program_path("pg_dump"), shutil.which("pg_dump")):
        if path is not None and (version := read_version(path)) is not None:
            yield Program(path, version)


def connected(program: str, url: str) -> ProgramCall:
    """Return the call of a program on a database. Raises BackupError for a URL with a secret that needs the
    command line.
    """
    values = {name: value for name, value in conninfo_to_dict(url).items() if value is not None}
    if "sslpassword" in values:
        raise BackupError("pg_dump does not accept sslpassword; use a key without a password")
    environment = dict(os.environ)
    if "password" in values:
        environment["PGPASSWORD"] = str(values.pop("password"))
    environment["PGAPPNAME"] = "headwater backup"
    return ProgramCall([program, "--no-password", f"--dbname={make_conninfo('', **values)}"], environment)
