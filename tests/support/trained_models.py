"""Trained models for tests, with weights that don't need matching journeys."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import psycopg

BILLION = 10**9


def plant_trained_model(
    connection: psycopg.Connection[Any],
    space_id: int,
    name: str = "May",
    event_name: str = "purchase",
    proportions: Mapping[str, int] = MappingProxyType({"email": 1}),
    *,
    current: bool = True,
) -> int:
    """Store a trained model with markov weights in these proportions, and return its id."""
    row = connection.execute(
        "INSERT INTO trained_models (space_id, name, event_name, start_at, end_at, window_days, conversions,"
        " lost, untouched, counts, digest)"
        " VALUES (%s, %s, %s, '2026-04-01', '2026-05-01', 30, 300, 0, 0, '{}', 'planted')"
        " RETURNING id",
        (space_id, name, event_name),
    ).fetchone()
    assert row is not None
    for source, weight in in_billionths(proportions).items():
        connection.execute(
            "INSERT INTO trained_weights (space_id, trained_model_id, model, source, weight, low, high)"
            " VALUES (%s, %s, 'markov', %s, %s, 0, 1)",
            (space_id, row[0], source, Decimal(weight) / BILLION),
        )
    if current:
        connection.execute(
            "INSERT INTO current_models (space_id, event_name, trained_model_id) VALUES (%s, %s, %s)"
            " ON CONFLICT (space_id, event_name) DO UPDATE SET trained_model_id = excluded.trained_model_id",
            (space_id, event_name, row[0]),
        )
    return row[0]


def in_billionths(proportions: Mapping[str, int]) -> dict[str, int]:
    """Return weights that add up to a billion. The first one includes the rounding difference."""
    total = sum(proportions.values())
    weights = {source: BILLION * proportion // total for source, proportion in proportions.items()}
    first = next(iter(weights))
    weights[first] += BILLION - sum(weights.values())
    return weights
