"""Speed up collection: every process of a run collects seventeen thousand tests, so processes share the
work.
"""

from __future__ import annotations

import gc
import importlib
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest

from headwater.http.server import NEW_OBJECTS

ROOT = Path(__file__).parents[2]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Exclude collected tests from garbage collection, because they live until the end of the run.
    Afterwards, garbage is collected as rarely as in the service, which shares the process with the tests.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(NEW_OBJECTS)
        gc.enable()


def pytest_collectstart(collector: pytest.Collector) -> None:
    if isinstance(collector, pytest.Session) and hasattr(collector.config, "workerinput"):
        _import_own_share(collector.config)


def _import_own_share(config: pytest.Config) -> None:
    """Import a share of the test files before the others. A new clone has no compiled files: each process
    compiles its share and finds the other files compiled.
    """
    if config.args != ["tests"]:
        return
    number = int(config.workerinput["workerid"].removeprefix("gw"))  # type: ignore[attr-defined]
    count = int(config.workerinput["workercount"])  # type: ignore[attr-defined]
    for path in sorted((ROOT / "tests").rglob("test_*.py"))[number::count]:
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        with suppress(Exception, pytest.skip.Exception):  # collection repeats it and reports errors
            importlib.import_module(name)
