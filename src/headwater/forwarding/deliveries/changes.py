"""Change and remove destinations and events with their deliveries."""

from __future__ import annotations

from psycopg import AsyncConnection

from headwater.attribution.history.revisions import ChangeCause
from headwater.database.queries import Queries
from headwater.events import updates
from headwater.events.models import EventChange
from headwater.forwarding.deliveries.corrections import correct_orders, fetch_orders
from headwater.forwarding.deliveries.outbox import withdraw_deliveries
from headwater.forwarding.destinations.destinations import end_destination
from headwater.forwarding.platforms.models import SkipReason

queries = Queries(__name__, "changes.sql")


async def remove_destination(connection: AsyncConnection, space_id: int, destination_id: int) -> None:
    """Remove tokens and queued deliveries, too. Raises NotFound."""
    await end_destination(connection, space_id, destination_id)
    values = {"space_id": space_id, "destination_id": destination_id}
    await connection.execute(queries["skip_queued"], values | {"reason": SkipReason.REMOVED})
    await connection.execute(queries["forget_requests"], values)


async def change_event(
    connection: AsyncConnection, space_id: int, event_id: int, change: EventChange
) -> None:
    """Change an event, and correct its amount at platforms. Raises NotFound."""
    orders = await fetch_orders(connection, space_id, event_id)
    await updates.update_event(connection, space_id, event_id, change)
    await correct_orders(connection, space_id, orders)


async def remove_event(connection: AsyncConnection, space_id: int, event_id: int) -> None:
    """Delete an event if it exists, and take it back from platforms that allow it."""
    await updates.save_state(connection, space_id, event_id, ChangeCause.DELETIONS)
    orders = await fetch_orders(connection, space_id, event_id)
    await withdraw_deliveries(connection, space_id, event_id)
    await updates.delete_event(connection, space_id, event_id)
    await correct_orders(connection, space_id, orders)
