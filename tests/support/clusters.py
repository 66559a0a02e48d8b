"""The cluster (Citus) that HEADWATER_TEST_CITUS_URL names, and the tests that apply only to a single
PostgreSQL.
"""

from __future__ import annotations

import os

CLUSTER_URL = os.environ.get("HEADWATER_TEST_CITUS_URL")
"""A database on a cluster's first node. It contains the extension citus, its node list and nothing else. None
for the embedded server.
"""

NO_WALL = "there is no second wall in a cluster, as its nodes do not know a session's Space"
OF_SINGLE_SERVERS = {
    "tests/database/test_plans_behind_policies.py": NO_WALL,
    "tests/database/test_role_of_spaces.py": NO_WALL,
    "tests/database/test_row_security.py": NO_WALL,
    "tests/audit/test_append_only.py::test_what_serves_a_space_may_only_add": NO_WALL,
    "tests/safety/test_check.py::test_a_database_is_looked_at": "our own server is set up so",
    "tests/safety/test_check.py::test_the_second_wall_is_looked_at": NO_WALL,
    "tests/privacy/test_personal_columns.py": "it changes tables as no migration does",
    "tests/pipeline/test_plans.py": "a cluster plans each time, by whose rows they are",
    "tests/paths/test_due_days.py::test_the_changes_of_another_space_are_not_read": "a cluster does not hop",
    "tests/database/test_killed_migrations.py": "a cluster copies no database",
    "tests/database/test_two_versions.py": "the version before runs on a single PostgreSQL",
}
"""Tests and test files that a cluster run skips, with the reason."""


def left_out(test: str) -> str | None:
    """Return why a cluster run skips the test with this node id, or None when the test runs."""
    if CLUSTER_URL is None:
        return None
    test = test.partition("[")[0]
    return OF_SINGLE_SERVERS.get(test) or OF_SINGLE_SERVERS.get(test.partition("::")[0])
