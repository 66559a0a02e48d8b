"""The orders that the programs of test_libraries.py send. sending.mjs makes the same orders."""

from __future__ import annotations

REFUND = 0.35


def revenue(number: int) -> float:
    return (100 + number * 37 % 99_900) / 100


def is_refunded(number: int) -> bool:
    return number % 10 == 0
