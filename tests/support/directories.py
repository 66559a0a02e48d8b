"""Copies of data directories."""

from __future__ import annotations

import subprocess
from pathlib import Path


def copy_with_owners(data_dir: Path, copy: Path) -> None:
    """Copy the data directory of a stopped server. Its files may belong to another account."""
    subprocess.run(["cp", "-a", str(data_dir), str(copy)], check=True)
