"""Data directories, copied."""

from __future__ import annotations

import subprocess
from pathlib import Path


def copy_with_owners(data_dir: Path, copy: Path) -> None:
    """Copy the data directory of a server that is stopped, whose files may be another account's."""
    subprocess.run(["cp", "-a", str(data_dir), str(copy)], check=True)
