"""The released versions, from the changelog and from the repository's tags."""

from __future__ import annotations

import io
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.support.sizes import ROOT

HEADING = re.compile(r"^## (\d+\.\d+\.\d+) \((unreleased|\d{4}-\d\d-\d\d)\)$", re.MULTILINE)


def changelog_versions() -> list[tuple[str, str]]:
    """Return every version in the changelog with its date, newest first."""
    return HEADING.findall((ROOT / "CHANGELOG.md").read_text())


def released_versions() -> list[str]:
    return [version for version, date in changelog_versions() if date != "unreleased"]


def former_source(folder: Path) -> Path:
    """Return the sources of the last release, extracted into an empty folder. Before the first release,
    return the current sources.
    """
    releases = released_versions()
    if not releases:
        return ROOT / "src"
    archive = subprocess.run(
        ["git", "archive", f"v{releases[0]}", "src"], cwd=ROOT, capture_output=True, check=False
    )
    if archive.returncode:
        pytest.skip(f"this checkout has no tag v{releases[0]}: {archive.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder / "src"
