"""Prepare the commit that a release tag names: `python -m scripts.prepare_release 1.2.0`, as
`make prepare-release VERSION=1.2.0` does.

It writes the version to every place (`scripts/versions.py`), the date to its heading in the changelog, and
the hash of every migration to `released.sha256`. From then on a released migration cannot change
(`tests/database/test_released_migrations.py`).
"""

# ruff: noqa: INP001 # a script on its own

from __future__ import annotations

import hashlib
import sys
from datetime import UTC, date, datetime
from pathlib import Path

from scripts.versions import ROOT, write_version

CHANGELOG = "CHANGELOG.md"
MIGRATIONS = "src/headwater/database/migrations"
RECORD = "released.sha256"
"""The hashes of released migrations, as `sha256sum --check` reads them."""


def prepare(version: str, day: date, root: Path = ROOT) -> None:
    """Prepare the release. Raises ValueError unless the changelog has the version as unreleased."""
    changelog = root / CHANGELOG
    heading = f"## {version} (unreleased)\n"
    text = changelog.read_text()
    if heading not in text:
        raise ValueError(f"{CHANGELOG} has no heading `{heading.strip()}`")
    write_version(version, root)
    changelog.write_text(text.replace(heading, f"## {version} ({day:%Y-%m-%d})\n"))
    folder = root / MIGRATIONS
    (folder / RECORD).write_text("".join(f"{digest}  {name}\n" for name, digest in hash_migrations(folder)))


def hash_migrations(folder: Path) -> list[tuple[str, str]]:
    """Return the name and hash of every migration, in order."""
    return [
        (path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in sorted(folder.glob("*.sql"))
    ]


def read_record(folder: Path) -> dict[str, str]:
    """Return the hash of every released migration by name; empty before the first release."""
    record = folder / RECORD
    lines = record.read_text().splitlines() if record.exists() else []
    return {name: digest for digest, name in (line.split("  ", 1) for line in lines)}


if __name__ == "__main__":
    prepare(sys.argv[1], datetime.now(UTC).date())
