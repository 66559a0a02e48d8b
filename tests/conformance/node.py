"""Node and the packages of `package-lock.json`, for tests.

The packages are installed once per lock, into pytest's cache. Where the package registry can't be reached,
the tests are skipped, unless HEADWATER_TEST_NODE=required.
"""

from __future__ import annotations

import fcntl
import hashlib
import os

import pytest
from scripts.node import LOCK, Node, NodeError, install_packages

REQUIRED = os.environ.get("HEADWATER_TEST_NODE") == "required"


@pytest.fixture(scope="session")
def node(request: pytest.FixtureRequest) -> Node:
    """Node with every package of the lock."""
    digest = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]
    assert request.config.cache is not None
    folder = request.config.cache.mkdir(f"node-{digest}")
    with (folder / "lock").open("w") as lock_file:
        fcntl.flock(lock_file, fcntl.LOCK_EX)  # the processes of a run share the folder
        try:
            return install_packages(folder)
        except NodeError as error:
            if REQUIRED:
                pytest.fail(f"the Node packages could not be installed: {error}")
            pytest.skip(f"the Node packages could not be installed: {str(error).splitlines()[-1]}")
