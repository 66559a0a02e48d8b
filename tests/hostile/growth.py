"""How time and output grow with hostile input. Time is the CPU's, the best of several runs, and
every run gets an input of its own length, so that neither a busy machine nor a cache decides.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

T = TypeVar("T")
Make = Callable[[int], T]
Run = Callable[[T], object]

SLOW = 0.050
"""Seconds that one input may take at the largest size its door lets in."""
AT_REST = 0.008
"""Seconds in which an idle machine adds up half a million numbers."""
NOTICED = 0.003
"""Seconds from which on growth can be told from noise."""
FASTER_THAN_INPUT = 2.75
"""How much more than the input time may grow: four times the input takes 4 to 11 times as long, as
what no longer fits a processor's cache is slower; 16 times is the square.
"""
SCREEN = 4096
"""Characters at which time that grows with the square takes several milliseconds."""
STEP = 4
APART = 16
"""Characters that inputs of one size differ by: more than what they repeat is long."""
AGAIN = 4
UNMEASURED = 8
FIRST = 12
ONCE = 64
SMALL_STEP = 4
"""Sizes up to ONCE are tried in small steps, as time that doubles with each character would not end
at the next size.
"""
LEAST_FRESH = ONCE + APART * (AGAIN + 1)
"""Characters from which on inputs that become shorter are never ones a cache knows from before."""
FAR = 4
"""So many times the bound is a fault without a second look, which would take as long again."""
LONGEST_ANSWER = 64 * 1024
"""Bytes that an explanation may have at most, whatever was sent."""


@dataclass(frozen=True)
class Door:
    """Something that reads strangers' input, at the largest size that comes to it."""

    name: str
    run: Run[Any]
    longest: int
    slow: float = SLOW
    explains: bool = False
    """Whether a text that it returns is an explanation; a refusal that it raises always is."""


def seconds(run: Run[T], make: Make[T], size: int, times: int, first: int = 0) -> float:
    """The best time of inputs of about this size. Each is a little shorter than the one before, as
    a reader may look at a longer one's beginning alone and know that already.
    """
    best = float("inf")
    for turn in range(first, first + times):
        value = make(size - APART * turn if size > ONCE else size)
        started = time.thread_time()
        _quietly(run, value)
        best = min(best, time.thread_time() - started)
        if best < NOTICED / 10:
            break
    return best


def _quietly(run: Run[T], value: T) -> object:
    try:
        return run(value)
    except Exception as error:  # noqa: BLE001 - a refusal is an answer, too
        return error


def complaint(door: Door, make: Make[Any]) -> str | None:
    """What is wrong with how a door takes inputs of growing size; None when nothing is. The first call
    is not measured: it may import a library.
    """
    _quietly(door.run, make(UNMEASURED))
    reader = _MeasuredReader(door)
    fault = _too_slow(replace(door, run=reader), make)
    if fault is None and reader.answer_bytes > LONGEST_ANSWER:
        fault = f"an answer of {reader.answer_bytes} bytes to {door.longest}"
    return fault


class _MeasuredReader:
    """A door's reader that notes how long its longest explanation was. It keeps no answer: what
    stays in memory would be searched for garbage while the next one is timed.
    """

    def __init__(self, door: Door) -> None:
        self._door = door
        self.answer_bytes = 0

    def __call__(self, value: Any) -> None:
        length = answer_length(_quietly(self._door.run, value), explains=self._door.explains)
        self.answer_bytes = max(self.answer_bytes, length)


def _too_slow(door: Door, make: Make[Any]) -> str | None:
    """Sizes become larger by small steps, then by STEP; what is linear at SCREEN goes on with the
    largest size, and comes back to those between when that takes more than its length explains.
    """
    before, last = 0.0, 0
    for size in _sizes(min(door.longest, SCREEN)):
        fault, taken = _judge(door, make, size, before)
        if fault:
            return fault
        before, last = taken, size
    if last == door.longest:
        return None
    if before <= NOTICED:
        taken = seconds(door.run, make, door.longest, 1)
        linear = before * door.longest / last * FASTER_THAN_INPUT
        if taken <= min(door.slow, max(NOTICED, linear)):
            return None
    for size in _sizes(door.longest):
        if size > last:
            fault, before = _judge(door, make, size, before)
            if fault:
                return fault
    return None


def _judge(door: Door, make: Make[Any], size: int, before: float) -> tuple[str | None, float]:
    """What is wrong at a size, and the seconds that it takes; `before` are those of a smaller."""
    taken = seconds(door.run, make, size, 1)
    if taken > door.slow * FAR and size <= ONCE:
        return f"{taken * 1000:.1f} ms for {size} characters", taken
    if _is_fault(door, taken, before, size):  # once more, with patience
        pace = measure_pace()
        taken = min(taken, seconds(door.run, make, size, AGAIN, 1))
        door = replace(door, slow=door.slow * max(1.0, pace, measure_pace()))
        below = max(size // STEP, LEAST_FRESH)
        smaller = seconds(door.run, make, below, AGAIN, 1) if size > ONCE else before
        if _is_fault(door, taken, smaller, size):
            grown = f"{smaller * 1000:.1f} ms for {below}"
            return f"{taken * 1000:.1f} ms for {size} characters, {grown}", taken
    return None, taken


def measure_pace() -> float:
    """How many times slower than at rest the machine computes just now."""
    best = float("inf")
    for _ in range(3):
        started = time.thread_time()
        sum(range(500_000))
        best = min(best, time.thread_time() - started)
    return best / AT_REST


def _is_fault(door: Door, taken: float, before: float, size: int) -> bool:
    if taken > door.slow:
        return True
    grows = taken > before * STEP * FASTER_THAN_INPUT
    return taken > NOTICED and grows and size > ONCE


def _sizes(longest: int) -> Iterator[int]:
    size = FIRST
    while size < longest:
        yield size
        size = size + SMALL_STEP if size < ONCE else size * STEP
    yield longest


def answer_length(answer: object, *, explains: bool) -> int:
    """The bytes of an explanation: of a refusal its body, else its text."""
    body = getattr(answer, "body", None)
    if callable(body):
        return len(body())  # type: ignore[arg-type]
    if isinstance(answer, BaseException):
        return len(str(answer)) + sum(len(str(part)) for part in answer.args)
    return len(answer) if explains and isinstance(answer, str) else 0


def clear_caches() -> None:
    """Empty every cache of our functions: what was asked before is no measure. What is there by now
    is left out of the search for garbage, as in the API's process.
    """
    gc.collect()
    gc.freeze()
    for name, module in list(sys.modules.items()):
        if name.startswith("headwater"):
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()
