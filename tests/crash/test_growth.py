"""The verdict of a long run detects each kind of growth and ignores fluctuation."""

from __future__ import annotations

import pytest

from tests.crash.growth import DEAD, DESCRIPTORS, LATENCY, MEMORY, QUEUE, Measure, Samples

MINUTES, SAMPLES_A_MINUTE = 30, 12


def half_an_hour(measure: Measure, start: float, a_minute: float) -> set[str]:
    """Return the verdict on a figure that grows evenly, with fluctuation."""
    samples = Samples()
    for number in range(MINUTES * SAMPLES_A_MINUTE):
        deviation = start * 0.1 * (-1) ** number
        samples.add("it", measure, start + deviation + a_minute * number / SAMPLES_A_MINUTE)
    return samples.growing_figures()


# For each figure: its start, and two growth rates per minute: one too small to count, one large enough.
@pytest.mark.parametrize(("measure", "start", "small_growth", "large_growth"), [
    (MEMORY, 270, 1.0, 1.6),
    (MEMORY, 70, 0.6, 0.9),
    (DESCRIPTORS, 58, 0.9, 1.2),
    (QUEUE, 40, 3, 4),
    (DEAD, 8, 1.4, 2.0),
    (LATENCY, 8, 0.8, 1.2),
])  # fmt: skip
def test_it_works(measure: Measure, start: float, small_growth: float, large_growth: float) -> None:
    assert half_an_hour(measure, start, 0) == set()
    assert half_an_hour(measure, start, small_growth) == set()
    assert half_an_hour(measure, start, large_growth) == {"it"}


def test_warming_up_is_no_growth() -> None:
    samples = Samples()
    for number in range(90):
        samples.add("memory", MEMORY, min(300.0, 60.0 + 12 * number))
    assert samples.growing_figures() == set()
