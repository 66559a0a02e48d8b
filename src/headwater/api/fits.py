"""API endpoints of trained models. Each handler owns its transaction."""

from __future__ import annotations

from headwater.attribution.fits.answers import FitAnswer, FitList, describe_fit
from headwater.attribution.fits.inputs import FIT_REQUEST, read_fit_request
from headwater.attribution.fits.store import (
    MAKING_SECONDS,
    choose_fit,
    fetch_fit,
    fetch_weights,
    list_fits,
    make_fit,
)
from headwater.endpoints.calls import Call
from headwater.endpoints.operations import Operation, PathParameter
from headwater.http.inputs.path_parameters import INTEGER_ID
from headwater.http.openapi import body
from headwater.http.rate_limits import RateLimit
from headwater.spaces.spaces import fetch_space


async def list_all_fits(call: Call) -> FitList:
    """List the Space's trained models without their weights, newest first."""
    async with call.services.database.connection() as connection:
        fits = await list_fits(connection, call.space_id)
    return FitList([describe_fit(fit) for fit in fits])


async def create_fit(call: Call) -> FitAnswer:
    """Train a model: estimate the weights of sources from the journeys of a period, and store them under a
    name. Needs at least 300 conversions with a touchpoint.
    """
    body, database = await call.body(), call.services.database
    async with database.connection() as connection:
        space = await fetch_space(connection, call.space_id)
    request = read_fit_request(body, space)
    async with database.transaction(MAKING_SECONDS) as connection:
        fit = await make_fit(connection, call.space_id, request.name, request.request)
        if request.current:
            fit = await choose_fit(connection, call.space_id, fit.id)
        weights = await fetch_weights(connection, call.space_id, fit.id)
    return describe_fit(fit, weights)


async def get_fit(call: Call) -> FitAnswer:
    """Get a trained model, with each source's weight and interval."""
    fit_id = call.path_id("fit_id")
    async with call.services.database.connection() as connection:
        fit = await fetch_fit(connection, call.space_id, fit_id)
        weights = await fetch_weights(connection, call.space_id, fit_id)
    return describe_fit(fit, weights)


async def choose_current_fit(call: Call) -> FitAnswer:
    """Make a trained model the current one of its event name."""
    fit_id = call.path_id("fit_id")
    async with call.services.database.transaction() as connection:
        fit = await choose_fit(connection, call.space_id, fit_id)
    return describe_fit(fit)


FIT_ID = PathParameter("fit_id", "The fit's id.", INTEGER_ID)

OPERATIONS = (
    Operation(
        id="list_fits",
        method="GET",
        path="/fits",
        tag="Reports",
        summary="List Fits",
        scope="reports:read",
        limit=RateLimit("list_fits", 30),
        answer=FitList,
        handler=list_all_fits,
    ),
    Operation(
        id="create_fit",
        method="POST",
        path="/fits",
        tag="Reports",
        summary="Create Fit",
        scope="events:write",
        limit=RateLimit("create_fit", 5),
        body=body(FIT_REQUEST.schema),
        status=201,
        answer=FitAnswer,
        handler=create_fit,
    ),
    Operation(
        id="get_fit",
        method="GET",
        path="/fits/{fit_id}",
        tag="Reports",
        summary="Get Fit",
        scope="reports:read",
        limit=RateLimit("get_fit", 30),
        path_parameters=[FIT_ID],
        answer=FitAnswer,
        errors=[404],
        handler=get_fit,
    ),
    Operation(
        id="choose_fit",
        method="POST",
        path="/fits/{fit_id}/choose",
        tag="Reports",
        summary="Choose Fit",
        scope="events:write",
        limit=RateLimit("choose_fit", 30),
        path_parameters=[FIT_ID],
        answer=FitAnswer,
        errors=[404],
        handler=choose_current_fit,
    ),
)
