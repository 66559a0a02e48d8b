"""Load a model's training run, and apply its weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from psycopg import AsyncConnection, Connection

from headwater.attribution.trained_models.choice import ChosenModel, candidates_query, choose, fetch_chosen
from headwater.database.queries import make_cursor
from headwater.events.models import EventSelection, ListEvents


async def load_listing(
    connection: AsyncConnection, space_id: int, listing: ListEvents
) -> tuple[ListEvents, ChosenModel | None]:
    """Return the listing with its training run and weights; None for models without one. Raises Invalid."""
    trained_model = await load_trained_model(connection, space_id, listing.selection)
    return replace(listing, selection=_with_weights(listing.selection, trained_model)), trained_model


async def load_trained_model(
    connection: AsyncConnection, space_id: int, selection: EventSelection
) -> ChosenModel | None:
    """Return None for models without a training run. Raises Invalid."""
    if selection.trained_model is None:
        return None
    return await fetch_chosen(connection, space_id, selection.trained_model)


def apply_trained_model(
    connection: Connection[Any], space_id: int, selection: EventSelection
) -> EventSelection:
    """Apply the weights of the model's training run. Raises Invalid."""
    if selection.trained_model is None:
        return selection
    cursor = make_cursor(connection, ChosenModel).execute(
        *candidates_query(space_id, selection.trained_model)
    )
    return _with_weights(selection, choose(selection.trained_model, cursor.fetchall()))


def _with_weights(selection: EventSelection, trained_model: ChosenModel | None) -> EventSelection:
    if trained_model is None or selection.attribution is None:
        return selection
    return replace(selection, attribution=replace(selection.attribution, weights=trained_model.weights))
