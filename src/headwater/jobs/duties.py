"""The duties of a worker: kinds of work, each for one Space at a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from psycopg import Connection

Waiting = Callable[[Connection[Any]], list[int]]
"""Returns the Spaces where work waits."""

TURN_SECONDS = 0.25
"""How long a duty takes in a worker's turn before the next has its own, more or less."""
INSTALLATION = 0
"""In place of a Space: the work is the whole installation's. No Space has this id."""
SCARCE_SECONDS = 0.25
"""The pause of duties whose work is rare, and is not waited for at a page."""


@dataclass(frozen=True)
class Duty:
    """A kind of work that is done for one Space at a time, each time in a transaction."""

    waiting: Waiting
    """Returns the Spaces where it waits."""
    attend: Callable[[Connection[Any], int], bool]
    """Does a piece of it for a Space; returns whether there was one."""
    turn_seconds: float = TURN_SECONDS
    """The time in a turn after which no other piece is begun. The Spaces that are left come first
    in the next turn.
    """
    pause_seconds: float = 0.0
    """The time for which a look is good that found nothing: in a cluster it goes to every node."""
    channel: str | None = None
    """Where the database notifies workers that some has come in: they look again at once."""


def look_every(seconds: float, waiting: Waiting) -> Waiting:
    """Return `waiting`, called at most every so many seconds; in between it returns no Spaces."""
    looked = -seconds

    def look(connection: Connection[Any]) -> list[int]:
        nonlocal looked
        now = time.monotonic()
        if now - looked < seconds:
            return []
        looked = now
        return waiting(connection)

    return look
