"""The trained model of a sample Space."""

from __future__ import annotations

from datetime import datetime

from headwater.attribution.trained_models.choice import find_current
from headwater.attribution.trained_models.nightly_runs import PURCHASE, train_automatic_model
from headwater.base.settings import Settings
from headwater.database.pool import Database
from headwater.operations.terminal.connection import database_url
from headwater.spaces.models import Space


async def train_sample_model(settings: Settings, space: Space, current_time: datetime) -> None:
    """Train the first automatic model without waiting for the night."""
    async with Database(database_url(settings), 1) as database:
        async with database.transaction() as connection:
            current = await find_current(connection, space.id, PURCHASE)
        if current is None:
            await train_automatic_model(database, space, PURCHASE, current_time)
