"""The programs of the PostgreSQL that created a cluster: a newer one cannot read it without them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from headwater.base.failure import Failure
from headwater.database.programs import PACKAGE, Programs, own_folder, read_version, to_major

NEEDED_PROGRAMS = ("pg_controldata", "pg_ctl", "pg_resetwal", "postgres")
"""The programs of the old version that `pg_upgrade` calls."""
SYSTEM_FOLDERS = (
    "/usr/lib/postgresql/{major}/bin",
    "/usr/pgsql-{major}/bin",
    "/usr/libexec/postgresql{major}",
    "/opt/homebrew/opt/postgresql@{major}/bin",
    "/usr/local/opt/postgresql@{major}/bin",
)
"""Where system packages install the server's programs."""
SITE = f"lib/python*/site-packages/{PACKAGE}/pginstall*/bin"
INSTALLED = ("", "bin", SITE, f".venv/{SITE}", f"{PACKAGE}/pginstall*/bin")
"""Their folders below a given one: PostgreSQL's own, or an older Headwater's."""


def find_programs(major: int, named_path: Path | None) -> Programs:
    """Return the programs of a major version, from the given folder, Headwater or the system. Raises
    Failure.
    """
    folders = list(_named_folders(named_path) if named_path else _usual_folders(major))
    for folder in folders:
        version = read_version(folder / "postgres")
        if version is not None and to_major(version) == major:
            missing_programs = [name for name in NEEDED_PROGRAMS if not (folder / name).exists()]
            if missing_programs:
                raise Failure(f"{folder} has no {missing_programs[0]}, which the upgrade needs")
            return Programs(folder, major)
    raise Failure(_explain_missing(major, named_path))


def _named_folders(named_path: Path) -> Iterator[Path]:
    for pattern in INSTALLED:
        yield from sorted(named_path.glob(pattern)) if pattern else (named_path,)


def _usual_folders(major: int) -> Iterator[Path]:
    yield own_folder(major)
    for folder in SYSTEM_FOLDERS:
        yield Path(folder.format(major=major))


def _explain_missing(major: int, named_path: Path | None) -> str:
    folder_text = f" in {named_path}" if named_path else ""
    return (
        f"the data belongs to PostgreSQL {major}, whose programs were not found{folder_text}: pass the folder"
        f" of the last Headwater version that served it as --programs, or install PostgreSQL {major}"
        f" (Debian and Ubuntu: apt-get install postgresql-{major})"
    )
