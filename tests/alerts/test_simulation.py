"""Ordinary months hardly ever raise an alert, and planted faults do: within an hour of traffic, and by the
rule that names them.

`HEADWATER_ALERT_MONTHS=1000` makes the run long: this number of months, and every fault ten times.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable

import numpy as np

from tests.alerts.faults import FAULTS, PlantedFault, PlantedResult, run_fault
from tests.alerts.simulation import SIZES, Watch, ordinary_month

MONTHS = int(os.environ.get("HEADWATER_ALERT_MONTHS", "0"))
FEW_MONTHS, FEW_SIZES = 3, (40, 600, 20_000)
ROUNDS = 10
MOST_FALSE = 1.0
"""The average number of alerts allowed in an ordinary month of a Space."""
LEAST_TOLD = 38 / 40


def false_alarms(seed: int, size: int) -> list[str]:
    """Return the rules of the alerts raised in an ordinary month."""
    month = ordinary_month(np.random.default_rng(seed), size)
    return [alert.rule for alert in Watch(month).run()]


def run_faults(faults: list[PlantedFault], base: int) -> list[PlantedResult]:
    return [run_fault(fault, base + index) for index, fault in enumerate(faults)]


def test_it_works() -> None:
    """A removed tag raises an alert in the first hour, and no other alert."""
    fault = next(
        candidate for candidate in FAULTS if (candidate.name, candidate.size) == ("tag removed", 3_000)
    )
    result = run_fault(fault, 1_004)
    assert (result.hours, result.other_alerts) == (1, ())


def test_ordinary_months_are_quiet(record_property: Callable[[str, object], None]) -> None:
    sizes = SIZES if MONTHS else FEW_SIZES
    number = MONTHS or FEW_MONTHS
    raised = [false_alarms(seed, sizes[seed % len(sizes)]) for seed in range(number)]
    rules = Counter(rule for month in raised for rule in month)
    record_property("alarms a month", sum(rules.values()) / number)
    record_property("most in a month", max(map(len, raised)))
    record_property("by rule", str(rules))
    assert sum(rules.values()) / number <= MOST_FALSE, rules


def test_planted_faults_are_told(record_property: Callable[[str, object], None]) -> None:
    faults = FAULTS if MONTHS else FAULTS[1::5]
    results = [
        result for turn in range(ROUNDS if MONTHS else 1) for result in run_faults(faults, 1_000 * turn)
    ]
    missed_results = [result for result in results if not result.is_told]
    record_property("faults", len(results))
    record_property("missed", str([(result.fault.name, result.fault.size) for result in missed_results]))
    few = 0 if MONTHS else 1
    assert len(missed_results) - few <= (1 - LEAST_TOLD) * len(results), missed_results
