"""An upgrade of PostgreSQL that is killed at any moment leaves a complete data directory. Either this version
or the previous one starts on it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from headwater.database.data_directory import complete_upgrade, read_major
from headwater.database.programs import MAJOR
from headwater.operations.upgrades.upgrade import upgrade
from tests.support.kills import KILLS, Victim
from tests.support.old_postgresql import OLDEST
from tests.support.processes import environment
from tests.upgrades.conftest import Installation, read, serve_data

BEFORE = (
    "upgrade_before_copy", "upgrade_new_cluster", "upgrade_after_copy", "upgrade_before_commit",
)  # fmt: skip
AFTER = ("upgrade_after_commit", "upgrade_between_renames")
POINTS = (*BEFORE, *AFTER) if KILLS else ("upgrade_new_cluster",)


def assert_starts(old_installation: Installation) -> int:
    """Start on it and check that everything is there. Return the major version."""
    root = old_installation.data_dir
    complete_upgrade(root)  # as each start does, for any version
    major = read_major(root / "postgresql")
    with serve_data(root, None if major == MAJOR else OLDEST) as connection:
        assert read(connection) == old_installation.contents
    return major


def test_it_works(old_installation: Installation) -> None:
    for point in POINTS:
        words = [sys.executable, "-m", "headwater", "upgrade", "--data-dir", str(old_installation.data_dir)]
        result = subprocess.run(
            words, env=environment(HEADWATER_FAILPOINT=point), capture_output=True, check=False
        )
        assert result.returncode < 0, result.stderr
        assert assert_starts(old_installation) == (MAJOR if point in AFTER else 16)
        if point in AFTER:
            assert upgrade(old_installation.data_dir, None, print) is None
            assert not (old_installation.data_dir / "postgresql.upgrading").exists()
            back(old_installation)


def back(old_installation: Installation) -> None:
    """Go back to the previous version as an operator does."""
    root = old_installation.data_dir
    shutil.rmtree(root / "postgresql")
    (root / "postgresql.16").rename(root / "postgresql")


@pytest.mark.skipif(not KILLS, reason="HEADWATER_KILLS kills at random moments, too")
def test_at_random_moments(old_installation: Installation) -> None:
    victim = Victim("-m", "headwater", "upgrade", "--data-dir", str(old_installation.data_dir))
    victim.seconds = 6.0
    while victim.killed < KILLS:
        victim.strike()
        if assert_starts(old_installation) == MAJOR:
            back(old_installation)
    assert upgrade(old_installation.data_dir, None, print) is not None
    assert assert_starts(old_installation) == MAJOR
