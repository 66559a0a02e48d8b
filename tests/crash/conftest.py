"""The environment of the crash tests: a separate service that is killed and restarted many times."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.service import Service

if not Path("/proc/self/stat").exists():  # without /proc, processes can't be found or killed
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="module")
def shared_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The service that all tests of a file share. There is only one because the supervisor waits longer each
    time before it restarts a process that keeps dying.
    """
    with Service(tmp_path_factory.mktemp("crash")).run_installed() as service:
        yield service


@pytest.fixture
def service(shared_service: Service) -> Service:
    """The shared service, restarted if a test has stopped it."""
    if not shared_service.is_running:
        shared_service.start()
    return shared_service
