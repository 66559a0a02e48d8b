"""Train, store and verify a Space's data-driven models."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from psycopg import AsyncConnection
from psycopg.sql import SQL
from psycopg.types.json import Jsonb

from headwater.attribution.models import FEWEST_CONVERSIONS
from headwater.attribution.trained_models.counts import compute_weights, count_journeys, make_digest
from headwater.attribution.trained_models.estimation import Estimate, estimate
from headwater.attribution.trained_models.journeys import Journey, JourneyKinds, gather_journeys
from headwater.attribution.trained_models.models import TrainedModel, TrainedWeight, TrainingRequest
from headwater.database.bulk_values import array
from headwater.database.queries import Queries, fetch_all, fetch_optional, make_cursor
from headwater.http.errors import Invalid, require_any, require_found
from headwater.http.inputs.timerange import TimeRange
from headwater.spaces.networks import fetch_sources

queries = Queries(__name__, "trained_models.sql")
IS_CONVERSION = queries["is_conversion"]
_CONVERTED, _LOST = (queries[name].format(is_conversion=IS_CONVERSION) for name in ("converted", "lost"))

Rows = Sequence[tuple[Any, ...]]

MAKING_SECONDS = 19.5
"""A request that trains a model holds its connection this long."""
_SEED_DIGITS = 16
_STEP = Decimal("1e-9")
_TOLERANCE = Decimal("2e-9")
"""Doubles differ in their last digits between machines."""


@dataclass(frozen=True)
class ModelCheck:
    reproduced: bool
    """True if its weights follow from its counts."""
    same_data: bool
    """True if the current journeys have the same counts."""


async def train_model(
    connection: AsyncConnection, space_id: int, name: str, request: TrainingRequest
) -> TrainedModel:
    """Train and store a model; an event name's first model becomes current. Needs a fresh transaction.

    Raises Invalid for too few conversions or a taken name.
    """
    await connection.execute(queries["snapshot"])
    journeys, untouched_count = await _read_journeys(connection, space_id, request)
    if journeys.conversions < FEWEST_CONVERSIONS:
        raise _too_few(request, journeys.conversions)
    sources = await fetch_sources(connection, space_id)
    counts = await asyncio.to_thread(count_journeys, journeys, sources.get_name)
    digest = make_digest(request, counts)
    row = await fetch_optional(
        connection,
        queries["put"],
        {
            "space_id": space_id,
            "name": name,
            "event_name": request.event_name,
            "start": request.time.start,
            "end": request.time.end,
            "window_days": request.window_days,
            "conversions": journeys.conversions,
            "lost": journeys.lost,
            "untouched": untouched_count,
            "counts": Jsonb(counts),
            "digest": digest,
        },
    )
    if row is None:
        raise Invalid({"name": [f"There is already a trained model named {name}."]})
    model_values = {"space_id": space_id, "trained_model_id": row[0]}
    rows = await asyncio.to_thread(_weigh, journeys, counts, digest, sources.get_name)
    await connection.execute(queries["put_weights"], model_values | rows)
    await connection.execute(queries["choose_first"], model_values)
    return await fetch_trained_model(connection, space_id, row[0])


async def list_trained_models(connection: AsyncConnection, space_id: int) -> list[TrainedModel]:
    return await fetch_all(
        make_cursor(connection, TrainedModel),
        queries["list"].format(condition=SQL("true")),
        {"space_id": space_id},
    )


async def fetch_trained_model(
    connection: AsyncConnection, space_id: int, trained_model_id: int
) -> TrainedModel:
    """Raises NotFound."""
    query = queries["list"].format(condition=SQL("f.id = %(trained_model_id)s"))
    values = {"space_id": space_id, "trained_model_id": trained_model_id}
    return require_found(
        await fetch_optional(make_cursor(connection, TrainedModel), query, values), "Trained model"
    )


async def find_trained_model(connection: AsyncConnection, space_id: int, name: str) -> int:
    """Raises NotFound."""
    return require_found(
        await fetch_optional(connection, queries["find"], {"space_id": space_id, "name": name}),
        "Trained model",
    )[0]


async def fetch_weights(
    connection: AsyncConnection, space_id: int, trained_model_id: int
) -> list[TrainedWeight]:
    """Order weights by model, largest first."""
    return await fetch_all(
        make_cursor(connection, TrainedWeight),
        queries["weights"],
        {"space_id": space_id, "trained_model_id": trained_model_id},
    )


async def check_trained_model(
    connection: AsyncConnection, space_id: int, trained_model: TrainedModel
) -> ModelCheck:
    """Recompute the weights from the counts, and the counts from current data. Needs a fresh transaction."""
    request = TrainingRequest(
        trained_model.event_name,
        TimeRange(trained_model.start_at, trained_model.end_at),
        trained_model.window_days,
    )
    journeys, _ = await _read_journeys(connection, space_id, request)
    sources = await fetch_sources(connection, space_id)
    digest = make_digest(request, count_journeys(journeys, sources.get_name))
    weights = compute_weights(trained_model.counts)
    stored_weights = await fetch_weights(connection, space_id, trained_model.id)
    return ModelCheck(
        reproduced=make_digest(request, trained_model.counts) == trained_model.digest
        and all(
            abs(weight.weight - weights[weight.model].get(weight.source, Decimal())) <= _TOLERANCE
            for weight in stored_weights
        ),
        same_data=digest == trained_model.digest,
    )


async def choose_trained_model(
    connection: AsyncConnection, space_id: int, trained_model_id: int
) -> TrainedModel:
    """Raises NotFound."""
    await connection.execute(queries["choose"], {"space_id": space_id, "trained_model_id": trained_model_id})
    return await fetch_trained_model(connection, space_id, trained_model_id)


async def remove_trained_model(connection: AsyncConnection, space_id: int, trained_model_id: int) -> None:
    """Leave the event name without a current trained model if it was. Raises NotFound."""
    values = {"space_id": space_id, "trained_model_id": trained_model_id}
    cursor = await connection.execute(queries["remove"], values)
    require_any(cursor.rowcount, "Trained model")


def _too_few(request: TrainingRequest, conversions: int) -> Invalid:
    reason = (
        f"{request.event_name} has {conversions} conversions with a touchpoint in this time and"
        f" window; training needs {FEWEST_CONVERSIONS}."
    )
    return Invalid({"event_name": [reason]})


def _weigh(
    journeys: JourneyKinds, counts: dict[str, Any], digest: str, name_of: Callable[[int], str]
) -> dict[str, str]:
    """Seed the resamples by the digest."""
    exact_weights = compute_weights(counts)
    estimates = estimate(journeys, int(digest[:_SEED_DIGITS], 16), name_of)
    rows = [(model, weight) for model, model_weights in estimates.items() for weight in model_weights]
    return {
        "models": array([model for model, _ in rows]),
        "sources": array([weight.source for _, weight in rows]),
        "weights": array([_text(_weight(exact_weights[model], weight)) for model, weight in rows]),
        "lows": array([_text(Decimal(weight.low)) for _, weight in rows]),
        "highs": array([_text(Decimal(weight.high)) for _, weight in rows]),
    }


def _weight(exact_weights: dict[str, Decimal], estimate: Estimate) -> Decimal:
    return exact_weights.get(estimate.source, Decimal())


def _text(weight: Decimal) -> str:
    return f"{weight.quantize(_STEP):f}"


async def _read_journeys(
    connection: AsyncConnection, space_id: int, request: TrainingRequest
) -> tuple[JourneyKinds, int]:
    bound = {
        "space_id": space_id,
        "event_name": request.event_name,
        "start": request.time.start,
        "end": request.time.end,
        "lookback": request.window_days * 86_400,
    }
    cursor = connection.cursor(binary=True)
    converted_rows = await fetch_all(cursor, _CONVERTED, bound)
    lost_rows = await fetch_all(cursor, _LOST, bound)
    untouched_count = sum(sources is None for _, sources in converted_rows)
    return await asyncio.to_thread(_gather, converted_rows, lost_rows), untouched_count


def _gather(converted_rows: Rows, lost_rows: Rows) -> JourneyKinds:
    return gather_journeys(
        [*_journeys(converted_rows, converted=True), *_journeys(lost_rows, converted=False)]
    )


def _journeys(rows: Rows, *, converted: bool) -> list[Journey]:
    return [
        Journey(contact_id, tuple(np.frombuffer(sources, dtype=">i2").tolist()), converted)
        for contact_id, sources in rows
        if sources is not None
    ]
