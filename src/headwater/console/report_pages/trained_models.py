"""Train models, show weights with intervals, and select an event name's current model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from headwater.attribution.models import DATA_DRIVEN_MODELS, FEWEST_CONVERSIONS
from headwater.attribution.trained_models.inputs import USUAL_WINDOW, NamedRequest, read_training_request
from headwater.attribution.trained_models.models import TrainedModel, TrainedWeight
from headwater.attribution.trained_models.nightly_runs import (
    PURCHASE,
    TRAINING_DAYS,
    explain_missing_model,
    list_automatic_training,
    start_automatic_training,
    stop_automatic_training,
    train_automatic_model,
)
from headwater.attribution.trained_models.store import (
    MAKING_SECONDS,
    choose_trained_model,
    fetch_trained_model,
    fetch_weights,
    list_trained_models,
    train_model,
)
from headwater.base.dates import format_day, format_days
from headwater.console.audited import note_change
from headwater.console.flash import FlashMessage
from headwater.console.forms import PostedForm
from headwater.console.report_pages.bar import WINDOW_TITLES, conversion_title, describe_window, model_title
from headwater.console.report_pages.view import ReportView
from headwater.console.visits import PageVisit, SentForm, SpacePages, open_visit, read_sent_form
from headwater.events.accepted import EVENT_NAMES
from headwater.http.csv_table import CsvTable
from headwater.http.errors import Errors, Invalid
from headwater.sources.titles import format_title
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.audit.entries import AuditChange
from headwater.spaces.models import Space

ROUTES = SpacePages("/trained-models")
_FORM = SentForm(
    "trained_model", Permission.WRITE_DATA, changes=("trained_model", "current_model", "automatic_training")
)
FIELDS = ("name", "event_name", "start_date", "end_date", "attribution_window")
COMPARED = ("last_touch", "linear", *DATA_DRIVEN_MODELS)
CSV_COLUMNS = ("model", "source", "weight", "low", "high")


@ROUTES.page()
async def show_trained_models(visit: PageVisit) -> Response:
    return await _page(visit, _form_defaults(visit.space), {})


async def post_training(request: Request) -> Response:
    """Train a model in a long transaction of its own."""
    form = await read_sent_form(request, _FORM)
    async with open_visit(request, _FORM, form) as visit:
        database = visit.services.database
    try:
        training_request = _read_form(form, visit.space)
        async with database.transaction(MAKING_SECONDS) as connection:
            trained_model = await train_model(
                connection, visit.space.id, training_request.name, training_request.request
            )
            change = AuditChange("trained_model", trained_model.id, after={"name": trained_model.name})
            await note_change(connection, request, visit.inside, change)
    except Invalid as error:
        async with open_visit(request, _FORM, form) as visit:
            return await _page(visit, visit.typed(*FIELDS), error.errors)
    return visit.redirect(f"/trained-models/{trained_model.id}", FlashMessage.MODEL_TRAINED)


ROUTES.add("/make", post_training, "POST")


@ROUTES.action("/automatic", _FORM)
async def post_automatic_training(visit: PageVisit) -> Response:
    connection, space = visit.connection, visit.space
    if visit.form.text("switch") == "on":
        await start_automatic_training(connection, space, PURCHASE, datetime.now(UTC))
        return visit.redirect("/trained-models", FlashMessage.TRAINING_ON)
    await stop_automatic_training(connection, space.id, PURCHASE)
    return visit.redirect("/trained-models", FlashMessage.TRAINING_OFF)


async def post_training_now(request: Request) -> Response:
    """Train the automatic model without waiting for the night."""
    form = await read_sent_form(request, _FORM)
    async with open_visit(request, _FORM, form) as visit:
        database = visit.services.database
    try:
        trained_model = await train_automatic_model(database, visit.space, PURCHASE, datetime.now(UTC))
        async with database.transaction() as connection:
            change = AuditChange("trained_model", trained_model.id, after={"name": trained_model.name})
            await note_change(connection, request, visit.inside, change)
    except Invalid as error:
        async with open_visit(request, _FORM, form) as visit:
            return await _page(visit, _form_defaults(visit.space), error.errors)
    return visit.redirect(f"/trained-models/{trained_model.id}", FlashMessage.MODEL_TRAINED)


ROUTES.add("/automatic/train", post_training_now, "POST")


@ROUTES.page("/{trained_model_id}")
async def show_trained_model(visit: PageVisit) -> Response:
    trained_model, weights = await _load(visit)
    models = {model: [row for row in weights if row.model == model] for model in DATA_DRIVEN_MODELS}
    values: dict[str, Any] = {
        "trained_model": trained_model,
        "here": visit.path("/trained-models"),
        "title": _title(visit.space, trained_model),
        "models": models,
        "model_title": model_title,
        "source_title": format_title,
        "describe_window": describe_window,
        "compared": ReportView(trained_model=trained_model.name).link(visit.path("/models"), models=COMPARED),
    }
    return visit.render("trained_model.html", values)


@ROUTES.page("/{trained_model_id}/weights.csv")
async def send_weights(visit: PageVisit) -> Response:
    trained_model, weights = await _load(visit)
    table = CsvTable(CSV_COLUMNS)
    for row in weights:
        table.add([row.model, row.source, *(f"{figure:f}" for figure in (row.weight, row.low, row.high))])
    headers = {"Content-Disposition": f'attachment; filename="trained-model-{trained_model.id}.csv"'}
    return Response(table.content(), 200, headers, "text/csv; charset=utf-8")


@ROUTES.action("/{trained_model_id}/choose", _FORM)
async def post_choice(visit: PageVisit) -> Response:
    trained_model_id = visit.id("trained_model_id")
    await choose_trained_model(visit.connection, visit.space.id, trained_model_id)
    return visit.redirect(f"/trained-models/{trained_model_id}", FlashMessage.MODEL_CHOSEN)


async def _load(visit: PageVisit) -> tuple[TrainedModel, Sequence[TrainedWeight]]:
    """Raise NotFound if missing."""
    trained_model_id = visit.id("trained_model_id")
    trained_model = await fetch_trained_model(visit.connection, visit.space.id, trained_model_id)
    return trained_model, await fetch_weights(visit.connection, visit.space.id, trained_model_id)


def _read_form(form: PostedForm, space: Space) -> NamedRequest:
    """Validate like the API. Raise Invalid."""
    values: dict[str, Any] = {name: form.text(name) for name in FIELDS}
    return read_training_request(values, space)


async def _page(visit: PageVisit, typed: Mapping[str, str], errors: Errors) -> Response:
    connection, space = visit.connection, visit.space
    trained_models = await list_trained_models(connection, space.id)
    automatic = {row.event_name: row for row in await list_automatic_training(connection, space.id)}
    current = next((row for row in trained_models if row.is_current and row.event_name == PURCHASE), None)
    missing_model = None if current else await explain_missing_model(connection, space, datetime.now(UTC))
    values: dict[str, Any] = {
        "typed": typed,
        "errors": errors,
        "trained_models": [(trained_model, _title(space, trained_model)) for trained_model in trained_models],
        "here": visit.path("/trained-models"),
        "automatic": automatic.pop(PURCHASE, None),
        "current": current,
        "missing": missing_model,
        "others": [(row, conversion_title(space, row.event_name)) for row in automatic.values()],
        "day": partial(_day, space),
        "fewest": FEWEST_CONVERSIONS,
        "events": {
            name: conversion_title(space, name)
            for name in EVENT_NAMES
            if not name.startswith("custom_event_") or name in space.event_labels
        },
        "windows": WINDOW_TITLES,
    }
    return visit.render("trained_models.html", values, 422 if errors else 200)


def _form_defaults(space: Space) -> dict[str, str]:
    today = datetime.now(UTC).astimezone(space.zone).date()
    return {
        "event_name": PURCHASE,
        "start_date": f"{today - timedelta(days=TRAINING_DAYS)}",
        "end_date": f"{today - timedelta(days=1)}",
        "attribution_window": str(USUAL_WINDOW),
        "name": f"{PURCHASE} {today:%Y-%m}",
    }


def _day(space: Space, moment: datetime) -> str:
    return format_day(moment.astimezone(space.zone))


def _title(space: Space, trained_model: TrainedModel) -> tuple[str, str]:
    """Return the events' label, and the days in the Space's time zone."""
    last = (trained_model.end_at - timedelta(seconds=1)).astimezone(space.zone).date()
    first = trained_model.start_at.astimezone(space.zone).date()
    return conversion_title(space, trained_model.event_name), format_days(first, last)
