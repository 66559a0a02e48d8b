"""The state of an accepted item: queued, stored, duplicate or rejected."""

from __future__ import annotations

from psycopg import AsyncConnection

from headwater.database.queries import Queries, fetch_optional
from headwater.http.errors import require_found
from headwater.intake.ingest.answers import Receipt

queries = Queries(__name__, "receipts.sql")


async def fetch_receipt(connection: AsyncConnection, space_id: int, receipt_id: int) -> Receipt:
    """Raise NotFound if missing."""
    values = {"space_id": space_id, "id": receipt_id}
    row = require_found(await fetch_optional(connection, queries["receipt"], values), "Receipt")
    status, event_id, reason, sender, warnings = row
    return Receipt(
        id=str(receipt_id),
        status=status,
        event_id=None if event_id is None else str(event_id),
        reason=reason,
        sender=sender,
        warnings=warnings or [],
    )
