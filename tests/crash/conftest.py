"""The stage of the crash tests: one service of its own, killed and started again many times."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.service import Service

if not Path("/proc/self/stat").exists():  # where processes cannot be found, none can be killed
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The service all tests of a file share. Not more of them: the supervisor waits ever longer
    before it starts again what keeps dying.
    """
    with Service(tmp_path_factory.mktemp("crash")).installed() as service:
        yield service


@pytest.fixture
def service(running: Service) -> Service:
    """The shared service, started again if a test had stopped it."""
    if not running.running:
        running.start()
    return running
