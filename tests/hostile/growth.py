"""Growth of time and output with hostile input. Time is CPU time, the best of several runs. Every run gets an
input of a different length, so that neither a busy machine nor a cache affects the result.
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
"""Seconds that one input may take at the largest size that its door accepts."""
AT_REST = 0.008
"""Seconds that an idle machine needs to add up half a million numbers."""
NOTICED = 0.003
"""Seconds above which growth differs from noise."""
FASTER_THAN_INPUT = 2.75
"""The largest ratio between the growth of time and of input. Four times the input takes 4 to 11 times as
long, because larger data no longer fits a processor's cache. Quadratic growth would take 16 times as long.
"""
SCREEN = 4096
"""Number of characters. At this size, quadratic time amounts to several milliseconds."""
STEP = 4
APART = 16
"""The difference in length between inputs of one size: longer than their repeated unit."""
AGAIN = 4
UNMEASURED = 8
FIRST = 12
ONCE = 64
SMALL_STEP = 4
"""Sizes up to ONCE increase in small steps, because time that doubles with each character would not end at
the next size.
"""
LEAST_FRESH = ONCE + APART * (AGAIN + 1)
"""Number of characters. Above it, ever shorter inputs never match a cached one."""
FAR = 4
"""This many times the limit is a fault without a second measurement, which would take as long again."""
LONGEST_ANSWER = 64 * 1024
"""The most bytes of an explanation, for any input."""


@dataclass(frozen=True)
class Door:
    """A reader of untrusted input, and the largest size that reaches it."""

    name: str
    run: Run[Any]
    longest: int
    slow: float = SLOW
    is_explanation: bool = False
    """Whether a returned text is an explanation. A raised refusal always is."""


def seconds(run: Run[T], make: Make[T], size: int, times: int, first_turn: int = 0) -> float:
    """Return the best time for inputs of about this size. Each input is a little shorter than the previous
    one, because a reader may use only the beginning of a longer one and have it cached.
    """
    best = float("inf")
    for turn in range(first_turn, first_turn + times):
        value = make(size - APART * turn if size > ONCE else size)
        start = time.thread_time()
        _run_quietly(run, value)
        best = min(best, time.thread_time() - start)
        if best < NOTICED / 10:
            break
    return best


def _run_quietly(run: Run[T], value: T) -> object:
    try:
        return run(value)
    except Exception as error:  # noqa: BLE001 - a refusal is an answer, too
        return error


def complaint(door: Door, make: Make[Any]) -> str | None:
    """Return what is wrong with how a door handles inputs of increasing size, or None. The first call is not
    measured, because it may import a library.
    """
    _run_quietly(door.run, make(UNMEASURED))
    reader = _MeasuredReader(door)
    fault = _find_slow_size(replace(door, run=reader), make)
    if fault is None and reader.answer_bytes > LONGEST_ANSWER:
        fault = f"an answer of {reader.answer_bytes} bytes to {door.longest}"
    return fault


class _MeasuredReader:
    """A door's reader that records the length of its longest explanation. It keeps no answer, because objects
    in memory would be traversed by garbage collection during the next measurement.
    """

    def __init__(self, door: Door) -> None:
        self._door = door
        self.answer_bytes = 0

    def __call__(self, value: Any) -> None:
        length = answer_length(_run_quietly(self._door.run, value), is_explanation=self._door.is_explanation)
        self.answer_bytes = max(self.answer_bytes, length)


def _find_slow_size(door: Door, make: Make[Any]) -> str | None:
    """Judge sizes that increase in small steps, then by STEP. After SCREEN, linear readers continue with the
    largest size. The sizes between are measured if its time is longer than its length explains.
    """
    before, last = 0.0, 0
    for size in _sizes(min(door.longest, SCREEN)):
        fault, duration = _judge(door, make, size, before)
        if fault:
            return fault
        before, last = duration, size
    if last == door.longest:
        return None
    if before <= NOTICED:
        duration = seconds(door.run, make, door.longest, 1)
        linear = before * door.longest / last * FASTER_THAN_INPUT
        if duration <= min(door.slow, max(NOTICED, linear)):
            return None
    for size in _sizes(door.longest):
        if size > last:
            fault, before = _judge(door, make, size, before)
            if fault:
                return fault
    return None


def _judge(door: Door, make: Make[Any], size: int, former_seconds: float) -> tuple[str | None, float]:
    """Return the fault at a size, if any, and the seconds it takes. `former_seconds` is the time of a smaller
    size.
    """
    duration = seconds(door.run, make, size, 1)
    if duration > door.slow * FAR and size <= ONCE:
        return f"{duration * 1000:.1f} ms for {size} characters", duration
    if _is_fault(door, duration, former_seconds, size):  # once more, with patience
        pace = measure_pace()
        duration = min(duration, seconds(door.run, make, size, AGAIN, 1))
        door = replace(door, slow=door.slow * max(1.0, pace, measure_pace()))
        smaller_size = max(size // STEP, LEAST_FRESH)
        smaller = seconds(door.run, make, smaller_size, AGAIN, 1) if size > ONCE else former_seconds
        if _is_fault(door, duration, smaller, size):
            comparison = f"{smaller * 1000:.1f} ms for {smaller_size}"
            return f"{duration * 1000:.1f} ms for {size} characters, {comparison}", duration
    return None, duration


def measure_pace() -> float:
    """Return how many times slower than at rest the machine currently is."""
    best = float("inf")
    for _ in range(3):
        start = time.thread_time()
        sum(range(500_000))
        best = min(best, time.thread_time() - start)
    return best / AT_REST


def _is_fault(door: Door, seconds_taken: float, former_seconds: float, size: int) -> bool:
    if seconds_taken > door.slow:
        return True
    grows = seconds_taken > former_seconds * STEP * FASTER_THAN_INPUT
    return seconds_taken > NOTICED and grows and size > ONCE


def _sizes(longest: int) -> Iterator[int]:
    size = FIRST
    while size < longest:
        yield size
        size = size + SMALL_STEP if size < ONCE else size * STEP
    yield longest


def answer_length(answer: object, *, is_explanation: bool) -> int:
    """Return the bytes of an explanation: of a refusal's body, or else of its text."""
    body = getattr(answer, "body", None)
    if callable(body):
        return len(body())  # type: ignore[arg-type]
    if isinstance(answer, BaseException):
        return len(str(answer)) + sum(len(str(argument)) for argument in answer.args)
    return len(answer) if is_explanation and isinstance(answer, str) else 0


def clear_caches() -> None:
    """Clear all caches of our functions, because a cached result is no measurement. Exclude existing objects
    from garbage collection, like the API's process.
    """
    gc.collect()
    gc.freeze()
    for name, module in list(sys.modules.items()):
        if name.startswith("headwater"):
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()
