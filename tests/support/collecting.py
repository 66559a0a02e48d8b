"""Collecting seventeen thousand tests, which every process of a run does: they share what they can."""

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
    """Exclude what collecting makes from the search for garbage, then and later: it lives until the end.
    Tests then collect as seldom as the service, which shares their process.
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
    """Import a share of the test files before the others. In a new clone nothing is compiled: each process
    compiles its share, and finds those of the others done.
    """
    if config.args != ["tests"]:
        return
    number = int(config.workerinput["workerid"].removeprefix("gw"))  # type: ignore[attr-defined]
    count = int(config.workerinput["workercount"])  # type: ignore[attr-defined]
    for path in sorted((ROOT / "tests").rglob("test_*.py"))[number::count]:
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        with suppress(Exception, pytest.skip.Exception):  # collecting repeats it, and reports it
            importlib.import_module(name)
