"""The duties of a worker: kinds of work, each for one Space at a time."""

from __future__ import annotations

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
    """Returns the Spaces where it waits, or some of them."""
    attend: Callable[[Connection[Any], int], bool]
    """Does a piece of it for a Space; returns whether there was one."""
    turn_seconds: float = TURN_SECONDS
    """After this time in a pass no further Space is started. The remaining ones come first in the next pass.
    """
    pause_seconds: float = 0.0
    """The pause after a look that led to no work: it may read much, and in a cluster goes to every
    node. A duty with a pause also spends no more than a share of its time on looks.
    """
    name: str = ""
    """What a problem of a Space calls it."""
    channel: str | None = None
    """Where the database notifies workers that some has come in: they look again at once."""
