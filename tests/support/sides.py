"""Fixtures of two Spaces, one with twins of the other's rows. A test module that imports them defines how its
sides are made (`making_sides`) and which of its tests only read (`only_reads`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tests.conftest import Running

MakeSide = Callable[..., Any]


@pytest.fixture
def make_side(
    request: pytest.FixtureRequest, server: Running, connection: psycopg.Connection
) -> Iterator[MakeSide]:
    """Makes a Space, with twins of another Space's rows if one is given."""
    with request.module.making_sides(server, connection) as make:
        yield make


@pytest.fixture(scope="module")
def shared_sides(
    request: pytest.FixtureRequest, server: Running, database_url: str
) -> Iterator[tuple[Any, Any]]:
    """Two Spaces shared by all tests that only read."""
    with (
        psycopg.connect(database_url, autocommit=True) as connection,
        request.module.making_sides(server, connection) as make,
    ):
        first_side = make()
        yield first_side, make(original=first_side)


@pytest.fixture
def sides(request: pytest.FixtureRequest, make_side: MakeSide) -> tuple[Any, Any]:
    """Two Spaces: new ones unless the test only reads."""
    if request.module.only_reads(request):
        return request.getfixturevalue("shared_sides")
    first_side = make_side()
    return first_side, make_side(original=first_side)


@pytest.fixture
def side(sides: tuple[Any, Any]) -> Any:
    return sides[0]


@pytest.fixture
def other_side(sides: tuple[Any, Any]) -> Any:
    return sides[1]
