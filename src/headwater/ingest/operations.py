"""GET /receipts/{id}: what became of an accepted request."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.responses import JSONResponse

from headwater.http.errors import NotFound
from headwater.http.ids import TEXT_ID, parse_id
from headwater.http.openapi import problems
from headwater.ingest.inbox import queries
from headwater.ingest.schemas import RECEIPT
from headwater.spaces.access import Caller, requires

router = APIRouter(tags=["Ingest"])

ReceiptId = Annotated[str, Path(description="The receipt's id.", json_schema_extra=TEXT_ID)]


@router.get(
    "/receipts/{receipt_id}",
    operation_id="get_receipt",
    responses={200: RECEIPT, **problems(401, 403, 404, 422, 429, 503)},
)
async def get_receipt(
    request: Request, receipt_id: ReceiptId, caller: Caller = requires("events:write", "receipts")
) -> Any:
    """Tell whether an accepted event is queued, stored, a duplicate or rejected."""
    parameters = {"space_id": caller.space_id, "id": parse_id("receipt_id", receipt_id)}
    async with request.app.state.headwater.database.connection() as connection:
        cursor = await connection.execute(queries["receipt"], parameters)
        row = await cursor.fetchone()
    if row is None:
        raise NotFound("Receipt")
    status, event_id, reason, sender, warnings = row
    return JSONResponse(
        {
            "id": receipt_id,
            "status": status,
            "event_id": None if event_id is None else str(event_id),
            "reason": reason,
            "sender": sender,
            "warnings": warnings or [],
        }
    )
