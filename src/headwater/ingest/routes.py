"""GET /receipts/{id}: what became of an accepted request."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from headwater.http.errors import NotFound
from headwater.http.ids import parse_id
from headwater.ingest.inbox import SQL
from headwater.spaces.access import Caller, requires

router = APIRouter(tags=["Ingest"])


@router.get("/receipts/{receipt_id}")
async def get_receipt(
    request: Request, receipt_id: str, caller: Caller = requires("events:write", "receipts")
) -> Any:
    """Tell whether an accepted event is queued, stored, a duplicate or rejected."""
    parameters = {"space_id": caller.space_id, "id": parse_id("receipt_id", receipt_id)}
    async with request.app.state.headwater.database.connection() as connection:
        cursor = await connection.execute(SQL["receipt"], parameters)
        row = await cursor.fetchone()
    if row is None:
        raise NotFound("Receipt")
    status, event_id, reason = row
    return JSONResponse(
        {
            "id": receipt_id,
            "status": status,
            "event_id": None if event_id is None else str(event_id),
            "reason": reason,
        }
    )
