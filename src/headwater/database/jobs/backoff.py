from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Step = TypeVar("Step")

MOST_DOUBLINGS = 60


def climb(ladder: Sequence[Step], failures: int) -> Step:
    """Return the wait; the ladder's last for further failures."""
    return ladder[min(max(failures, 1), len(ladder)) - 1]


def double_pause(first: float, longest: float, failures: int) -> float:
    """Return `first` seconds, doubled per further failure, up to `longest`."""
    doublings = min(max(failures, 1) - 1, MOST_DOUBLINGS)
    return min(longest, first * 2.0**doublings)
