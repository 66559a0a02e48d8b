"""API endpoints of watched files. Each handler owns its transaction."""

from __future__ import annotations

from functools import partial

from headwater.database.jobs.due_tasks import AccountKey
from headwater.endpoints.calls import Call
from headwater.endpoints.operations import Handler, Operation, PathParameter, changes_row
from headwater.http.answers import Message
from headwater.http.inputs.path_parameters import INTEGER_ID
from headwater.http.rate_limits import RateLimit
from headwater.intake.imports.jobs import list_watched_jobs
from headwater.intake.watched import inputs, watched_files
from headwater.intake.watched.answers import (
    MOST_IMPORTS,
    WatchedFileAnswer,
    WatchedFileList,
    describe_watched_file,
)
from headwater.spaces.keys import Scope

_SCOPES: dict[str, Scope] = {
    "events": "events:write",
    "orders": "events:write",
    "touchpoints": "events:write",
    "contacts": "contacts:write",
    "ads": "events:write",
    "spend": "spend:write",
}
"""What a key also needs for a kind of import."""


async def list_watched_files(call: Call) -> WatchedFileList:
    """List the Space's watched files, oldest first."""
    async with call.services.database.connection() as connection:
        rows = await watched_files.list_watched_files(connection, call.space_id)
    return WatchedFileList([describe_watched_file(row) for row in rows])


async def create_watched_file(call: Call) -> WatchedFileAnswer:
    """Watch an address: its file is imported now, and again whenever it changes. Needs the scope of the kind
    of import, too.
    """
    new = inputs.read_new(await call.body(), allows_files=_allows_files(call))
    call.caller.authorize(_SCOPES[new.kind])
    async with call.change() as connection:
        row = await watched_files.create_watched_file(
            connection, call.space_id, new, call.services.sealing_key
        )
    return describe_watched_file(row)


async def get_watched_file(call: Call) -> WatchedFileAnswer:
    """Get a watched file and its latest imports."""
    watched_file_id = call.path_id("watched_file_id")
    async with call.services.database.connection() as connection:
        row = await watched_files.fetch_watched_file(connection, call.space_id, watched_file_id)
        jobs = await list_watched_jobs(connection, call.space_id, watched_file_id, MOST_IMPORTS)
    return describe_watched_file(row, jobs)


async def update_watched_file(call: Call) -> WatchedFileAnswer:
    """Change a watched file. `settings` are replaced as a whole, secrets one by one. For another host, the
    secrets must be sent again.
    """
    row_key = AccountKey(call.space_id, call.path_id("watched_file_id"))
    body = await call.body()
    async with call.change() as connection:
        row = await watched_files.change_watched_file(
            connection, row_key, body, call.services.sealing_key, allows_files=_allows_files(call)
        )
        call.caller.authorize(_SCOPES[row.kind])
    return describe_watched_file(row)


async def delete_watched_file(call: Call) -> Message:
    """Stop watching an address, and delete its secrets. What was imported stays."""
    watched_file_id = call.path_id("watched_file_id")
    async with call.change() as connection:
        await watched_files.delete_watched_file(connection, call.space_id, watched_file_id)
    return Message("Watched file removed.")


def _allows_files(call: Call) -> bool:
    return call.services.settings.watched_dir is not None


WATCHED_FILE_ID = PathParameter("watched_file_id", "The watched file's id.", INTEGER_ID)
LISTING = RateLimit("list_watched_files", 30)
CHANGING = RateLimit("change_watched_file", 30)
_change = partial(changes_row, WATCHED_FILE_ID.name, describe=describe_watched_file)


def _state_operation(verb: str, summary: str, description: str, handler: Handler) -> Operation:
    return Operation(
        id=f"{verb}_watched_file",
        method="POST",
        path=f"/watched-files/{{watched_file_id}}/{verb}",
        tag="Imports",
        summary=summary,
        description=description,
        scope="destinations:write",
        limit=CHANGING,
        path_parameters=[WATCHED_FILE_ID],
        answer=WatchedFileAnswer,
        errors=[404],
        changes=("watched_file",),
        handler=handler,
    )


OPERATIONS = (
    Operation(
        id="list_watched_files",
        method="GET",
        path="/watched-files",
        tag="Imports",
        summary="List watched files",
        scope="destinations:read",
        limit=LISTING,
        answer=WatchedFileList,
        handler=list_watched_files,
    ),
    Operation(
        id="create_watched_file",
        method="POST",
        path="/watched-files",
        tag="Imports",
        summary="Watch an address",
        scope="destinations:write",
        limit=CHANGING,
        body=inputs.BODY,
        status=201,
        answer=WatchedFileAnswer,
        changes=("watched_file",),
        handler=create_watched_file,
    ),
    Operation(
        id="get_watched_file",
        method="GET",
        path="/watched-files/{watched_file_id}",
        tag="Imports",
        summary="Get a watched file",
        scope="destinations:read",
        limit=LISTING,
        path_parameters=[WATCHED_FILE_ID],
        answer=WatchedFileAnswer,
        errors=[404],
        handler=get_watched_file,
    ),
    Operation(
        id="update_watched_file",
        method="PUT",
        path="/watched-files/{watched_file_id}",
        tag="Imports",
        summary="Change a watched file",
        scope="destinations:write",
        limit=CHANGING,
        path_parameters=[WATCHED_FILE_ID],
        body=inputs.BODY_OF_CHANGE,
        answer=WatchedFileAnswer,
        errors=[404],
        changes=("watched_file",),
        handler=update_watched_file,
    ),
    Operation(
        id="delete_watched_file",
        method="DELETE",
        path="/watched-files/{watched_file_id}",
        tag="Imports",
        summary="Stop watching an address",
        scope="destinations:write",
        limit=CHANGING,
        path_parameters=[WATCHED_FILE_ID],
        answer=Message,
        errors=[404],
        changes=("watched_file",),
        handler=delete_watched_file,
    ),
    _state_operation(
        "pause",
        "Pause a watched file",
        "Stop fetching. A fetch under way imports nothing.",
        _change(watched_files.pause_watched_file),
    ),
    _state_operation(
        "resume",
        "Resume a watched file",
        "Fetch again, now, after a pause or a hold.",
        _change(watched_files.resume_watched_file),
    ),
    _state_operation(
        "fetch",
        "Fetch a watched file now",
        "Fetch an active file now instead of at its next turn.",
        _change(watched_files.fetch_file_now),
    ),
)
