"""The removal of a destination: its own end, and that of the deliveries queued for it."""

from __future__ import annotations

from psycopg import AsyncConnection

from headwater.database.queries import Queries
from headwater.destinations.destinations import end_destination
from headwater.platforms.models import SkipReason

queries = Queries(__name__, "removal.sql")


async def remove_destination(
    connection: AsyncConnection, space_id: int, destination_id: int
) -> None:
    """End a destination, delete its tokens and skip what is queued for it. Raises NotFound."""
    await end_destination(connection, space_id, destination_id)
    values = {"space_id": space_id, "destination_id": destination_id}
    await connection.execute(queries["skip_queued"], values | {"reason": SkipReason.REMOVED})
