"""Fixtures for the tests of the Python client."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from headwater_client import Client

from tests.support.waiting import PATIENCE_SECONDS


@pytest.fixture
def open_client() -> Iterator[Callable[..., Client]]:
    """A function that opens clients. They are closed at the end, after the buffers that still send through
    them.
    """
    with ExitStack() as stack:

        def open_one(*arguments: str, **options: float) -> Client:
            return stack.enter_context(Client(*arguments, **options))

        yield open_one
        for thread in threading.enumerate():
            if thread.name == "headwater-buffer":
                thread.join(PATIENCE_SECONDS)
