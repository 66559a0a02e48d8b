"""The endpoints of destinations: parse, call, answer. Each owns its transaction."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path, Request, Response

from headwater.forwarding import destinations, schemas
from headwater.forwarding.destination_check import try_destination
from headwater.forwarding.inputs import read_new
from headwater.forwarding.platforms import registry
from headwater.http.bodies import read_json
from headwater.http.ids import parse_id
from headwater.http.openapi import problems
from headwater.spaces.access import Caller, requires

router = APIRouter(tags=["Destinations"])

JSON = "application/json"

DestinationId = Annotated[
    str, Path(description="The destination's id.", json_schema_extra={"pattern": "^[0-9]{1,18}$"})
]

Lister = Annotated[Caller, requires("destinations:read", "list_destinations")]
Getter = Annotated[Caller, requires("destinations:read", "get_destination")]
Changer = Annotated[Caller, requires("destinations:write", "change_destination")]
Tester = Annotated[Caller, requires("destinations:write", "test_destination")]


@router.get(
    "/platforms",
    operation_id="list_platforms",
    summary="List ad platforms",
    responses={200: schemas.PLATFORMS, **problems(401, 403, 422, 429, 503)},
)
async def list_platforms(_: Lister) -> Response:
    """List the ad platforms that events can be forwarded to, and what each asks for."""
    return _answer({"data": [schemas.show_platform(each) for each in _platforms()]})


@router.get(
    "/destinations",
    operation_id="list_destinations",
    summary="List Destinations",
    responses={200: schemas.DESTINATIONS, **problems(401, 403, 422, 429, 503)},
)
async def list_destinations(request: Request, caller: Lister) -> Response:
    """List the Space's destinations, the oldest first."""
    async with request.app.state.headwater.database.connection() as connection:
        listed = await destinations.list_destinations(connection, caller.space_id)
    return _answer({"data": [schemas.show_destination(each) for each in listed]})


@router.post(
    "/destinations",
    operation_id="create_destination",
    summary="Create Destination",
    status_code=201,
    responses={201: schemas.DESTINATION, **problems(401, 403, 413, 415, 422, 429, 503)},
    openapi_extra={"requestBody": schemas.body_of_creation()},
)
async def create_destination(request: Request, caller: Changer) -> Response:
    """Forward events to an account of an ad platform from now on."""
    headwater = request.app.state.headwater
    new = read_new(await read_json(request))
    async with headwater.database.transaction() as connection:
        stored = await destinations.create_destination(
            connection, caller.space_id, new, headwater.sealing_key
        )
    return _answer(schemas.show_destination(stored), 201)


@router.get(
    "/destinations/{destination_id}",
    operation_id="get_destination",
    summary="Get Destination",
    responses={200: schemas.DESTINATION, **problems(401, 403, 404, 422, 429, 503)},
)
async def get_destination(
    request: Request, destination_id: DestinationId, caller: Getter
) -> Response:
    """Get one destination."""
    number = parse_id("destination_id", destination_id)
    async with request.app.state.headwater.database.connection() as connection:
        stored = await destinations.fetch_destination(connection, caller.space_id, number)
    return _answer(schemas.show_destination(stored))


@router.put(
    "/destinations/{destination_id}",
    operation_id="update_destination",
    summary="Update Destination",
    responses={200: schemas.DESTINATION, **problems(401, 403, 404, 413, 415, 422, 429, 503)},
    openapi_extra={"requestBody": schemas.BODY_OF_CHANGE},
)
async def update_destination(
    request: Request, destination_id: DestinationId, caller: Changer
) -> Response:
    """Change a destination. Settings and event names are replaced whole, secrets one by one."""
    headwater = request.app.state.headwater
    number = parse_id("destination_id", destination_id)
    body = await read_json(request)
    async with headwater.database.transaction() as connection:
        stored = await destinations.change_destination(
            connection, caller.space_id, number, body, headwater.sealing_key
        )
    return _answer(schemas.show_destination(stored))


@router.delete(
    "/destinations/{destination_id}",
    operation_id="delete_destination",
    summary="Remove Destination",
    responses={200: schemas.REMOVED, **problems(401, 403, 404, 422, 429, 503)},
)
async def delete_destination(
    request: Request, destination_id: DestinationId, caller: Changer
) -> Response:
    """Remove a destination and its secrets. What is queued for it is skipped."""
    number = parse_id("destination_id", destination_id)
    async with request.app.state.headwater.database.transaction() as connection:
        await destinations.remove_destination(connection, caller.space_id, number)
    return _answer({"message": "Destination removed."})


@router.post(
    "/destinations/{destination_id}/pause",
    operation_id="pause_destination",
    summary="Pause Destination",
    responses={200: schemas.DESTINATION, **problems(401, 403, 404, 422, 429, 503)},
)
async def pause_destination(
    request: Request, destination_id: DestinationId, caller: Changer
) -> Response:
    """Send nothing any more. Events that arrive meanwhile are skipped; what is queued waits."""
    number = parse_id("destination_id", destination_id)
    async with request.app.state.headwater.database.transaction() as connection:
        stored = await destinations.pause_destination(connection, caller.space_id, number)
    return _answer(schemas.show_destination(stored))


@router.post(
    "/destinations/{destination_id}/resume",
    operation_id="resume_destination",
    summary="Resume Destination",
    responses={200: schemas.DESTINATION, **problems(401, 403, 404, 422, 429, 503)},
)
async def resume_destination(
    request: Request, destination_id: DestinationId, caller: Changer
) -> Response:
    """Send again, whether people had paused it or the platform had refused its credentials."""
    number = parse_id("destination_id", destination_id)
    async with request.app.state.headwater.database.transaction() as connection:
        stored = await destinations.resume_destination(connection, caller.space_id, number)
    return _answer(schemas.show_destination(stored))


@router.post(
    "/destinations/{destination_id}/test",
    operation_id="test_destination",
    summary="Test Destination",
    responses={200: schemas.TRIED, **problems(401, 403, 404, 422, 429, 503)},
)
async def test_destination(
    request: Request, destination_id: DestinationId, caller: Tester
) -> Response:
    """Send one made-up event in the platform's test mode, where it does not count."""
    headwater = request.app.state.headwater
    number = parse_id("destination_id", destination_id)
    async with headwater.database.transaction() as connection:
        platform, destination = await destinations.open_destination(
            connection, caller.space_id, number, headwater.settings, headwater.sealing_key
        )
    trial = await try_destination(headwater.egress, destination, platform)
    return _answer({"ok": trial.ok, "http_status": trial.status, "message": trial.words})


def _platforms() -> list[Any]:
    return list(registry.PLATFORMS.values())


def _answer(content: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(content), status, media_type=JSON)
