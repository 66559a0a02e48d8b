"""The verdict of a long run finds each kind of growth, and does not mind what goes up and down."""

from __future__ import annotations

import pytest

from tests.crash.growth import DEAD, DESCRIPTORS, LATENCY, MEMORY, QUEUE, Measure, Samples

MINUTES, SAMPLES_A_MINUTE = 30, 12


def half_an_hour(measure: Measure, start: float, a_minute: float) -> set[str]:
    """The verdict on a figure that grows evenly, and swings around that."""
    samples = Samples()
    for number in range(MINUTES * SAMPLES_A_MINUTE):
        swing = start * 0.1 * (-1) ** number
        samples.add("it", measure, start + swing + a_minute * number / SAMPLES_A_MINUTE)
    return samples.growing()


# Of each, where it starts, and how much it grows by in a minute: too little, and enough.
@pytest.mark.parametrize(("measure", "start", "slow", "fast"), [
    (MEMORY, 270, 1.0, 1.6),
    (MEMORY, 70, 0.6, 0.9),
    (DESCRIPTORS, 58, 0.9, 1.2),
    (QUEUE, 40, 3, 4),
    (DEAD, 8, 1.4, 2.0),
    (LATENCY, 8, 0.8, 1.2),
])  # fmt: skip
def test_it_works(measure: Measure, start: float, slow: float, fast: float) -> None:
    assert half_an_hour(measure, start, 0) == set()
    assert half_an_hour(measure, start, slow) == set()
    assert half_an_hour(measure, start, fast) == {"it"}


def test_warming_up_is_no_growth() -> None:
    samples = Samples()
    for number in range(90):
        samples.add("memory", MEMORY, min(300.0, 60.0 + 12 * number))
    assert samples.growing() == set()
