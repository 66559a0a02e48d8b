"""Counters that are 0 from the start: Prometheus sees no increase in a series whose first sample is 1."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from prometheus_client import Counter


def make_counter(name: str, documentation: str, **label_values: Iterable[str]) -> Counter:
    """Return a counter that is 0 for every combination of these values of its labels."""
    counter = Counter(name, documentation, [*label_values])
    for values in product(*label_values.values()):
        counter.labels(*values)
    return counter
