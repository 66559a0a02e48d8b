"""API endpoints of scheduled exports. Each handler owns its transaction."""

from __future__ import annotations

from headwater.endpoints.calls import Call
from headwater.endpoints.operations import Operation, PathParameter
from headwater.exports import schedule_inputs as inputs
from headwater.exports import schedules
from headwater.exports.answers import (
    ExportRun,
    ExportRunList,
    ExportScheduleAnswer,
    ExportScheduleList,
    describe_schedule,
)
from headwater.http.answers import Message
from headwater.http.inputs.path_parameters import INTEGER_ID
from headwater.http.rate_limits import RateLimit
from headwater.spaces.audit.entries import AuditChange
from headwater.spaces.spaces import fetch_space


async def list_export_schedules(call: Call) -> ExportScheduleList:
    """List the Space's scheduled exports by name, with the state of their files."""
    async with call.services.database.connection() as connection:
        rows = await schedules.list_schedules(connection, call.space_id)
    return ExportScheduleList([describe_schedule(call.space_id, row) for row in rows])


async def create_export_schedule(call: Call) -> ExportScheduleAnswer:
    """Start writing files of a table to the object store, hourly or daily."""
    body = await call.body()
    async with call.change() as connection:
        space = await fetch_space(connection, call.space_id)
        new = inputs.read_schedule(body, space)
        schedule = await schedules.create_schedule(connection, call.space_id, new)
    return describe_schedule(call.space_id, schedule)


async def delete_export_schedule(call: Call) -> Message:
    """Remove a scheduled export. Its files remain."""
    schedule_id = call.path_id("schedule_id")
    async with call.change() as connection:
        await schedules.remove_schedule(connection, call.space_id, schedule_id)
    return Message("Schedule removed. Its files stay.")


async def list_export_runs(call: Call) -> ExportRunList:
    """List a scheduled export's folders of the last 400 days, with their state."""
    schedule_id = call.path_id("schedule_id")
    async with call.services.database.connection() as connection:
        schedule = await schedules.fetch_schedule(connection, call.space_id, schedule_id)
        rows = await schedules.list_runs(connection, call.space_id, schedule.id)
    return ExportRunList([ExportRun(**row) for row in rows])


async def create_export_runs(call: Call) -> Message:
    """Write days of a scheduled export again, to include later changes."""
    schedule_id = call.path_id("schedule_id")
    days = inputs.read_days(await call.body())
    async with call.change() as connection:
        space = await fetch_space(connection, call.space_id)
        schedule = await schedules.fetch_schedule(connection, call.space_id, schedule_id)
        number = await schedules.rewrite_days(connection, space, schedule, days)
        call.note(AuditChange("export_schedule", schedule_id, after={"rewritten": number}))
    return Message(f"{number} folder{'' if number == 1 else 's'} will be written again.")


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
        answer=ExportScheduleList,
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
        answer=ExportScheduleAnswer,
        changes=("export_schedule",),
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
        answer=Message,
        errors=[404],
        changes=("export_schedule",),
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
        answer=ExportRunList,
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
        answer=Message,
        errors=[404],
        handler=create_export_runs,
    ),
)
