"""What the tests of the Python client share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from headwater_client import Client


@pytest.fixture
def open_client() -> Iterator[Callable[..., Client]]:
    """Open clients that are closed at the end."""
    with ExitStack() as stack:

        def open_one(*arguments: str, **options: float) -> Client:
            return stack.enter_context(Client(*arguments, **options))

        yield open_one
