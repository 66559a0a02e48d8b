"""Build the wheel, and environments that contain only it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import environment
from tests.support.sizes import ROOT

SOURCES = (
    "src", "requirements", "sdks", "LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md", "pyproject.toml",
    "project.toml",
)  # fmt: skip
"""The files that a build reads."""

from_the_index = pytest.mark.skipif(
    os.environ.get("HEADWATER_TEST_INSTALL") != "required",
    reason="installs from the package index; HEADWATER_TEST_INSTALL=required runs it",
)


def uv(*arguments: str, **variables: str) -> None:
    """Run uv to its end."""
    command = [sys.executable, "-m", "uv", "--quiet", *arguments]
    result = subprocess.run(
        command, cwd=ROOT, env=environment(**variables), capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def build(source: Path, folder: Path) -> None:
    """Build a tree's wheel and source archive into `folder`, offline."""
    uv("build", "--sdist", "--wheel", "--no-build-isolation", "--offline",
       "--out-dir", str(folder), str(source))  # fmt: skip


def copy_sources(target: Path, mode: int, seconds: float) -> Path:
    """Copy the files that a build reads, and give every file this mode and time."""
    target.mkdir()
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, target / name, ignore=shutil.ignore_patterns("*.pyc", "node_modules")
            )
        else:
            shutil.copyfile(ROOT / name, target / name)
    for path in target.rglob("*"):
        if path.is_file():
            path.chmod(mode)
            os.utime(path, (seconds, seconds))
    return target
