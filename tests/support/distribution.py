"""Distribution of tests over processes: by file, so that a file's tests can share an expensive fixture. The
longest files start first, so that no process ends long after the others. Files whose tests share nothing are
distributed test by test. Several machines share the files in the same order: HEADWATER_TEST_SHARE=2/6 is the
second of six.
"""

from __future__ import annotations

import pytest
from xdist.scheduler import LoadFileScheduling

LONGEST = (
    "tests/hostile/test_schemathesis.py", "tests/hostile/test_growth.py",
    "tests/crash/", "tests/jobs/test_supervisor.py", "tests/browser/test_accessibility.py",
    "tests/http/test_reference_page.py", "tests/telemetry/", "tests/cli/test_service_addresses.py",
    "tests/demo/", "tests/console/test_roles_and_spaces.py", "tests/http/test_isolation.py",
    "tests/database/test_first_start.py", "tests/spaces/test_secret_key.py",
    "tests/test_private_files.py", "tests/notifications/test_", "tests/privacy/test_erasure.py",
    "tests/browser/",
    "tests/packaging/", "tests/upgrades/", "tests/backups/", "tests/hostile/", "tests/reports/",
    "tests/merging/", "tests/browsing/", "tests/jobs/test_running_supervisor.py", "tests/webhooks/",
)  # fmt: skip
"""Slow files and tests, in their starting order."""
ALONE = (
    "tests/hostile/test_schemathesis.py", "tests/jobs/test_supervisor.py",
    "tests/browser/test_accessibility.py", "tests/database/test_first_start.py",
    "tests/privacy/test_erasure.py", "tests/backups/test_killed.py",
)  # fmt: skip
"""Files whose tests share no fixture except those of the whole run."""
MARKS = {
    "crash": ("tests/crash/",),
    "browser": ("tests/browser/",),
    "packaging": ("tests/packaging/",),
    "sdks": ("tests/sdks/", "tests/conformance/"),
}
"""Folders with a mark to deselect them, because they are slow or need other programs."""


class Scheduling(LoadFileScheduling):
    """Distribute by file, or by test where a file's tests share nothing."""

    def _split_scope(self, nodeid: str) -> str:
        return nodeid if nodeid.startswith(ALONE) else super()._split_scope(nodeid)


def put_longest_first(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _place(item.nodeid))


def _place(nodeid: str) -> int:
    for position, begin in enumerate(LONGEST):
        if nodeid.startswith(begin):
            return position
    return len(LONGEST)


def keep_share(config: pytest.Config, items: list[pytest.Item], share: str) -> None:
    """Keep the files of one machine's share, such as `2/6`, and deselect the others."""
    number, count = map(int, share.split("/"))
    assert 1 <= number <= count, f"HEADWATER_TEST_SHARE={share}"
    files = list(dict.fromkeys(item.path for item in items))
    files_of_share = set(files[number - 1 :: count])
    config.hook.pytest_deselected(items=[item for item in items if item.path not in files_of_share])
    items[:] = [item for item in items if item.path in files_of_share]


def mark_by_folder(item: pytest.Item) -> None:
    for mark, folders in MARKS.items():
        if item.nodeid.startswith(folders):
            item.add_marker(mark)
