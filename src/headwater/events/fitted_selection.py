"""Load a model's training run, and apply its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from psycopg import AsyncConnection, Connection
from psycopg.rows import class_row

from headwater.attribution.fits.choice import ChosenFit, candidates_query, choose, fetch_chosen
from headwater.events.models import EventSelection, ListEvents


async def load_listing(
    connection: AsyncConnection, space_id: int, listing: ListEvents
) -> tuple[ListEvents, ChosenFit | None]:
    """Return the listing with its training run and weights; None for models without one. Raises Invalid."""
    fit = await load_fit(connection, space_id, listing.selection)
    return replace(listing, selection=_with_weights(listing.selection, fit)), fit


async def load_fit(connection: AsyncConnection, space_id: int, selection: EventSelection) -> ChosenFit | None:
    """Return None for models without a training run. Raises Invalid."""
    if selection.fit is None:
        return None
    return await fetch_chosen(connection, space_id, selection.fit)


def load_fitted(connection: Connection[Any], space_id: int, selection: EventSelection) -> EventSelection:
    """Apply the weights of the model's training run. Raises Invalid."""
    if selection.fit is None:
        return selection
    cursor = connection.cursor(row_factory=class_row(ChosenFit))
    rows: Sequence[ChosenFit] = cursor.execute(*candidates_query(space_id, selection.fit)).fetchall()
    return _with_weights(selection, choose(selection.fit, rows))


def _with_weights(selection: EventSelection, fit: ChosenFit | None) -> EventSelection:
    if fit is None or selection.attribution is None:
        return selection
    return replace(selection, attribution=replace(selection.attribution, weights=fit.weights))
