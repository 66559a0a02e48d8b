"""`headwater model …`: train data-driven models, stored as snapshots."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from psycopg import AsyncConnection

from headwater.attribution.models import WINDOWS
from headwater.attribution.trained_models.models import TrainedModel, TrainingRequest
from headwater.attribution.trained_models.nightly_runs import (
    PURCHASE,
    list_automatic_training,
    start_automatic_training,
    stop_automatic_training,
)
from headwater.attribution.trained_models.store import (
    check_trained_model,
    choose_trained_model,
    fetch_trained_model,
    fetch_weights,
    find_trained_model,
    list_trained_models,
    remove_trained_model,
    train_model,
)
from headwater.base.failure import Failure
from headwater.base.settings import Settings
from headwater.http.inputs.timerange import TimeRange, parse_day, whole_days
from headwater.operations.terminal.audited import change, note_change
from headwater.operations.terminal.command import CommandGroup, Option
from headwater.operations.terminal.connection import transaction
from headwater.operations.terminal.execution import prints
from headwater.operations.terminal.options import JSON, NAME, SPACE
from headwater.operations.terminal.output import Output, Row
from headwater.spaces.audit.entries import AuditChange
from headwater.spaces.models import Space
from headwater.spaces.spaces import fetch_space

group = CommandGroup()


@group.command(
    "train",
    "train a model, and store it",
    SPACE,
    NAME,
    Option("--event", required=True, metavar="E", help="the name of the conversions' events"),
    Option("--start-date", required=True, metavar="D", help="the first day, YYYY-MM-DD"),
    Option("--end-date", required=True, metavar="D", help="the last day"),
    Option("--window", type=int, choices=WINDOWS, default=30, help="days before a conversion (30)"),
    JSON,
)
@prints
async def make(settings: Settings, arguments: Namespace) -> Output:
    async with transaction(settings) as connection:
        space = await fetch_space(connection, arguments.space)
    request = TrainingRequest(arguments.event, _time(space, arguments), arguments.window)
    async with change(settings, arguments) as connection:
        trained_model = await train_model(connection, arguments.space, arguments.name, request)
        weights = await fetch_weights(connection, arguments.space, trained_model.id)
        audit_change = AuditChange("trained_model", trained_model.id, after={"name": trained_model.name})
        await note_change(connection, arguments, audit_change)
    return [asdict(weight) for weight in weights]


@group.command("list", "list the trained models of a Space", SPACE, JSON)
@prints
async def list_all(settings: Settings, arguments: Namespace) -> Output:
    async with transaction(settings) as connection:
        return [
            _describe(trained_model)
            for trained_model in await list_trained_models(connection, arguments.space)
        ]


@group.command("show", "print the weights of a trained model", SPACE, NAME, JSON)
@prints
async def show(settings: Settings, arguments: Namespace) -> Output:
    async with transaction(settings) as connection:
        trained_model = await _find(connection, arguments)
        weights = await fetch_weights(connection, arguments.space, trained_model.id)
    return [asdict(weight) for weight in weights]


@group.command("choose", "make a trained model the current one of its event name", SPACE, NAME, JSON)
@prints
async def choose(settings: Settings, arguments: Namespace) -> Output:
    async with change(settings, arguments, "current_model") as connection:
        found_model = await find_trained_model(connection, arguments.space, arguments.name)
        trained_model = await choose_trained_model(connection, arguments.space, found_model)
    return {"chosen": trained_model.name, "event_name": trained_model.event_name}


@group.command(
    "automatic",
    "train models at night, or stop it",
    SPACE,
    Option("--event", default=PURCHASE, metavar="E", help="the name of the conversions' events (purchase)"),
    Option("--off", action="store_true", help="stop training"),
    JSON,
)
@prints
async def automatic(settings: Settings, arguments: Namespace) -> Output:
    async with change(settings, arguments, "automatic_training") as connection:
        space = await fetch_space(connection, arguments.space)
        if arguments.off:
            await stop_automatic_training(connection, space.id, arguments.event)
        else:
            await start_automatic_training(connection, space, arguments.event, datetime.now(UTC))
        return [asdict(training) for training in await list_automatic_training(connection, space.id)]


@group.command("check", "recalculate a trained model and compare", SPACE, NAME, JSON)
@prints
async def check(settings: Settings, arguments: Namespace) -> Output:
    async with transaction(settings) as connection:
        trained_model = await _find(connection, arguments)
        return asdict(await check_trained_model(connection, arguments.space, trained_model))


@group.command("remove", "remove a trained model", SPACE, NAME, JSON)
@prints
async def remove(settings: Settings, arguments: Namespace) -> Output:
    async with change(settings, arguments, "trained_model", "current_model") as connection:
        removed_model = await find_trained_model(connection, arguments.space, arguments.name)
        await remove_trained_model(connection, arguments.space, removed_model)
    return {"removed": arguments.name}


async def _find(connection: AsyncConnection, arguments: Namespace) -> TrainedModel:
    trained_model_id = await find_trained_model(connection, arguments.space, arguments.name)
    return await fetch_trained_model(connection, arguments.space, trained_model_id)


def _time(space: Space, arguments: Namespace) -> TimeRange:
    try:
        first, last = (parse_day(text) for text in (arguments.start_date, arguments.end_date))
    except ValueError as error:
        raise Failure(f"--start-date and --end-date: each {error}") from None
    if last < first:
        raise Failure("--end-date must not be before --start-date")
    return whole_days(first, last, space.zone)


def _describe(trained_model: TrainedModel) -> Row:
    members: dict[str, Any] = asdict(trained_model)
    return {name: value for name, value in members.items() if name not in ("id", "counts")}
