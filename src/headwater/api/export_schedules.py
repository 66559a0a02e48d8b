"""The endpoints of scheduled exports: parse, call, answer. Each handler owns its transaction."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.responses import Response

from headwater.endpoints.calls import Call, json_response
from headwater.endpoints.operations import Operation, PathParameter
from headwater.exports import schedule_inputs as inputs
from headwater.exports import schedules
from headwater.http.inputs.path_parameters import INTEGER_ID
from headwater.http.rate_limits import RateLimit
from headwater.spaces.spaces import fetch_space


async def list_export_schedules(call: Call) -> Response:
    """List the Space's scheduled exports by name, and how their files stand."""
    async with call.services.database.connection() as connection:
        rows = await schedules.list_schedules(connection, call.space_id)
    return _answer({"data": [inputs.show_schedule(call.space_id, row) for row in rows]})


async def create_export_schedule(call: Call) -> Response:
    """Write files of a table to the object store, hourly or daily, from now on."""
    body = await call.body()
    async with call.services.database.transaction() as connection:
        space = await fetch_space(connection, call.space_id)
        new = inputs.read_schedule(body, space)
        stored = await schedules.create_schedule(connection, call.space_id, new)
    return _answer(inputs.show_schedule(call.space_id, stored), 201)


async def delete_export_schedule(call: Call) -> Response:
    """Remove a scheduled export. Its files stay."""
    schedule_id = call.path_id("schedule_id")
    async with call.services.database.transaction() as connection:
        await schedules.remove_schedule(connection, call.space_id, schedule_id)
    return _answer({"message": "Schedule removed. Its files stay."})


async def list_export_runs(call: Call) -> Response:
    """List the folders of a scheduled export, the latest 400 days, and how each stands."""
    schedule_id = call.path_id("schedule_id")
    async with call.services.database.connection() as connection:
        schedule = await schedules.fetch_schedule(connection, call.space_id, schedule_id)
        rows = await schedules.list_runs(connection, call.space_id, schedule.id)
    return _answer({"data": [{**_run(row)} for row in rows]})


async def create_export_runs(call: Call) -> Response:
    """Write days of a scheduled export again, for what has changed since."""
    schedule_id = call.path_id("schedule_id")
    days = inputs.read_days(await call.body())
    async with call.services.database.transaction() as connection:
        space = await fetch_space(connection, call.space_id)
        schedule = await schedules.fetch_schedule(connection, call.space_id, schedule_id)
        number = await schedules.rewrite_days(connection, space, schedule, days)
    message = f"{number} folder{'' if number == 1 else 's'} will be written again."
    return _answer({"message": message}, 202)


def _run(row: dict[str, Any]) -> dict[str, Any]:
    return {"message": row.pop("error"), **row}


def _answer(content: Any, status: int = 200) -> Response:
    return json_response(msgspec.json.encode(content), status)


SCHEDULE_ID = PathParameter("schedule_id", "The schedule's id.", INTEGER_ID)
LISTING = RateLimit("list_export_schedules", 30)
CHANGING = RateLimit("change_export_schedule", 10)

OPERATIONS = (
    Operation(
        id="list_export_schedules",
        method="GET",
        path="/exports/schedules",
        tag="Exports",
        summary="List scheduled exports",
        scope="exports:read",
        limit=LISTING,
        answer=inputs.SCHEDULES,
        handler=list_export_schedules,
    ),
    Operation(
        id="create_export_schedule",
        method="POST",
        path="/exports/schedules",
        tag="Exports",
        summary="Schedule an export",
        scope="exports:write",
        limit=CHANGING,
        body=inputs.BODY,
        status=201,
        answer=inputs.SCHEDULE,
        handler=create_export_schedule,
    ),
    Operation(
        id="delete_export_schedule",
        method="DELETE",
        path="/exports/schedules/{schedule_id}",
        tag="Exports",
        summary="Remove a scheduled export",
        scope="exports:write",
        limit=CHANGING,
        path_parameters=[SCHEDULE_ID],
        answer=inputs.MESSAGE,
        errors=[404],
        handler=delete_export_schedule,
    ),
    Operation(
        id="list_export_runs",
        method="GET",
        path="/exports/schedules/{schedule_id}/runs",
        tag="Exports",
        summary="List the runs of a scheduled export",
        scope="exports:read",
        limit=LISTING,
        path_parameters=[SCHEDULE_ID],
        answer=inputs.RUNS,
        errors=[404],
        handler=list_export_runs,
    ),
    Operation(
        id="create_export_runs",
        method="POST",
        path="/exports/schedules/{schedule_id}/runs",
        tag="Exports",
        summary="Write days of a scheduled export again",
        scope="exports:write",
        limit=CHANGING,
        path_parameters=[SCHEDULE_ID],
        body=inputs.DAYS_BODY,
        status=202,
        answer=inputs.MESSAGE,
        errors=[404],
        handler=create_export_runs,
    ),
)
