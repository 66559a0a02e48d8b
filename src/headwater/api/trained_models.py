"""API endpoints of trained models. Each handler owns its transaction."""

from __future__ import annotations

from headwater.attribution.trained_models.answers import (
    TrainedModelAnswer,
    TrainedModelList,
    describe_trained_model,
)
from headwater.attribution.trained_models.inputs import TRAINING_REQUEST, read_training_request
from headwater.attribution.trained_models.store import (
    MAKING_SECONDS,
    choose_trained_model,
    fetch_trained_model,
    fetch_weights,
    list_trained_models,
    train_model,
)
from headwater.endpoints.calls import Call
from headwater.endpoints.operations import Operation, PathParameter
from headwater.http.inputs.path_parameters import INTEGER_ID
from headwater.http.openapi import body
from headwater.http.rate_limits import RateLimit
from headwater.spaces.audit.entries import AuditChange
from headwater.spaces.spaces import fetch_space


async def list_all_trained_models(call: Call) -> TrainedModelList:
    """List the Space's trained models without their weights, newest first."""
    async with call.services.database.connection() as connection:
        trained_models = await list_trained_models(connection, call.space_id)
    return TrainedModelList([describe_trained_model(trained_model) for trained_model in trained_models])


async def create_trained_model(call: Call) -> TrainedModelAnswer:
    """Train a model: estimate the weights of sources from the journeys of a period, and store them under a
    name. Needs at least 300 conversions with a touchpoint.
    """
    body = await call.body()
    async with call.services.database.connection() as connection:
        space = await fetch_space(connection, call.space_id)
    request = read_training_request(body, space)
    async with call.change(MAKING_SECONDS) as connection:
        trained_model = await train_model(connection, call.space_id, request.name, request.request)
        if request.current:
            trained_model = await choose_trained_model(connection, call.space_id, trained_model.id)
        weights = await fetch_weights(connection, call.space_id, trained_model.id)
        call.note(AuditChange("trained_model", trained_model.id, after={"name": trained_model.name}))
    return describe_trained_model(trained_model, weights)


async def get_trained_model(call: Call) -> TrainedModelAnswer:
    """Get a trained model, with each source's weight and interval."""
    trained_model_id = call.path_id("trained_model_id")
    async with call.services.database.connection() as connection:
        trained_model = await fetch_trained_model(connection, call.space_id, trained_model_id)
        weights = await fetch_weights(connection, call.space_id, trained_model_id)
    return describe_trained_model(trained_model, weights)


async def choose_current_model(call: Call) -> TrainedModelAnswer:
    """Make a trained model the current one of its event name."""
    trained_model_id = call.path_id("trained_model_id")
    async with call.change() as connection:
        trained_model = await choose_trained_model(connection, call.space_id, trained_model_id)
    return describe_trained_model(trained_model)


TRAINED_MODEL_ID = PathParameter("trained_model_id", "The trained model's id.", INTEGER_ID)

OPERATIONS = (
    Operation(
        id="list_trained_models",
        method="GET",
        path="/trained-models",
        tag="Reports",
        summary="List Trained Models",
        scope="reports:read",
        limit=RateLimit("list_trained_models", 30),
        answer=TrainedModelList,
        handler=list_all_trained_models,
    ),
    Operation(
        id="create_trained_model",
        method="POST",
        path="/trained-models",
        tag="Reports",
        summary="Create Trained Model",
        scope="events:write",
        limit=RateLimit("create_trained_model", 5),
        body=body(TRAINING_REQUEST.schema),
        status=201,
        answer=TrainedModelAnswer,
        handler=create_trained_model,
    ),
    Operation(
        id="get_trained_model",
        method="GET",
        path="/trained-models/{trained_model_id}",
        tag="Reports",
        summary="Get Trained Model",
        scope="reports:read",
        limit=RateLimit("get_trained_model", 30),
        path_parameters=[TRAINED_MODEL_ID],
        answer=TrainedModelAnswer,
        errors=[404],
        handler=get_trained_model,
    ),
    Operation(
        id="choose_trained_model",
        method="POST",
        path="/trained-models/{trained_model_id}/choose",
        tag="Reports",
        summary="Choose Trained Model",
        scope="events:write",
        limit=RateLimit("choose_trained_model", 30),
        path_parameters=[TRAINED_MODEL_ID],
        answer=TrainedModelAnswer,
        errors=[404],
        changes=("trained_model", "current_model"),
        handler=choose_current_model,
    ),
)
