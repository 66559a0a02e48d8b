"""Figures that a long run measures repeatedly, and when their increase counts as growth.

├── warming up ──┼── before ──┼── after ──┤      the medians of the last two are compared
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Measure:
    """A figure, and how much it may increase from one third of a run to the next."""

    unit: str
    factor: float
    allowance: float

    def has_grown(self, start: float, end: float) -> bool:
        return end > start * self.factor + self.allowance


MEMORY, PROCESS = Measure("MB", 1.03, 5), Measure("MB", 1.05, 0.25)
"""Memory of all processes of a role, whose number may increase, and the average of a process."""
DESCRIPTORS = Measure("descriptors", 1.03, 8)
QUEUE, DEAD = Measure("MB on disk", 1.2, 16), Measure("% dead rows", 1.2, 10)
LATENCY = Measure("ms", 1.2, 5)


@dataclass
class Samples:
    """The measured values, by name and in order of time."""

    figures: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    measures: dict[str, Measure] = field(default_factory=dict[str, Measure])

    def add(self, name: str, measure: Measure, value: float) -> None:
        self.measures[name] = measure
        self.figures.setdefault(name, []).append(value)

    def third_medians(self) -> Iterator[tuple[str, Measure, float, float]]:
        """Yield the medians of the second and the last third of each figure."""
        for name, values in self.figures.items():
            third = len(values) // 3
            before, after = values[third : 2 * third], values[2 * third :]
            yield name, self.measures[name], statistics.median(before), statistics.median(after)

    def growing_figures(self) -> set[str]:
        """Return the names of figures that have grown by more than they may."""
        return {name for name, measure, *values in self.third_medians() if measure.has_grown(*values)}
