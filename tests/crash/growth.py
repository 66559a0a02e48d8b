"""What a long run measures again and again, and when that is more than it was.

├── warming up ──┼── before ──┼── after ──┤      the medians of the last two are compared
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Measure:
    """A figure, and how much of it may come on top from one third of a run to the next."""

    unit: str
    factor: float
    more: float

    def grows(self, before: float, after: float) -> bool:
        return after > before * self.factor + self.more


MEMORY, PROCESS = Measure("MB", 1.03, 5), Measure("MB", 1.05, 0.25)
"""Of all processes of a role, which may become more, and of one of them on average."""
DESCRIPTORS = Measure("descriptors", 1.03, 8)
QUEUE, DEAD = Measure("MB on disk", 1.2, 16), Measure("% dead rows", 1.2, 10)
LATENCY = Measure("ms", 1.2, 5)


@dataclass
class Samples:
    """What was measured, by name and in the order of time."""

    figures: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    measures: dict[str, Measure] = field(default_factory=dict[str, Measure])

    def add(self, name: str, measure: Measure, value: float) -> None:
        self.measures[name] = measure
        self.figures.setdefault(name, []).append(value)

    def thirds(self) -> Iterator[tuple[str, Measure, float, float]]:
        """The median of the second and of the last third of each figure."""
        for name, values in self.figures.items():
            third = len(values) // 3
            before, after = values[third : 2 * third], values[2 * third :]
            yield name, self.measures[name], statistics.median(before), statistics.median(after)

    def growing(self) -> set[str]:
        """The names of what has grown by more than it may."""
        return {name for name, measure, *values in self.thirds() if measure.grows(*values)}
