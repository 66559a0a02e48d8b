"""The duties of a worker: kinds of work, each for one Space at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct
from psycopg import Connection

Waiting = Callable[[Connection[Any]], list[int]]

TURN_SECONDS = 0.25
"""A duty's approximate time per turn."""
INSTALLATION = 0
"""Passed instead of a Space id for work of the whole installation. No Space has this id."""
SCARCE_SECONDS = 0.25
"""Pause of rare work that no page waits for."""


class Duty(Struct, frozen=True):
    """A kind of work, done for one Space at a time in a transaction."""

    waiting: Waiting
    """Returns all or some Spaces with waiting work."""
    attend: Callable[[Connection[Any], int], bool]
    """Does one unit of work; returns whether there was any."""
    turn_seconds: float = TURN_SECONDS
    """After this time in a pass no further Space is started. The remaining ones come first in the next pass.
    """
    pause_seconds: float = 0.0
    """The pause after a poll that found no work, because polls may read much, and go to every node of a
    cluster. It also limits a duty's share of time for polls.
    """
    name: str = ""
    channel: str | None = None
    """Its notifications start the next poll early."""
