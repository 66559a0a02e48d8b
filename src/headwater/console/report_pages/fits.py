"""Fits: made of the journeys of some days, listed, each shown with its weights and their intervals,
and one of each event name chosen as the current one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.attribution.fits.inputs import USUAL_WINDOW, NamedRequest, read_fit_request
from headwater.attribution.fits.models import FEWEST_CONVERSIONS, FITTED_MODELS, Fit, FittedWeight
from headwater.attribution.fits.monthly_fits import list_monthly
from headwater.attribution.fits.store import (
    MAKING_SECONDS,
    choose_fit,
    fetch_fit,
    fetch_weights,
    list_fits,
    make_fit,
)
from headwater.attribution.models import WINDOWS
from headwater.console.flash import FlashMessage
from headwater.console.forms import PostedForm, read_form
from headwater.console.pages import redirect, render
from headwater.console.report_pages.bar import conversion_title, model_title, window_title
from headwater.console.report_pages.view import ReportView
from headwater.console.visitor import HOME, SpaceVisitor, enter, require_visitor
from headwater.endpoints.services import services
from headwater.events.accepted import EVENT_NAMES
from headwater.http.csv_table import CsvTable
from headwater.http.errors import Errors, Invalid
from headwater.http.inputs.path_parameters import parse_id
from headwater.sources.titles import title_of
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.models import Space

FORM = "fit"
FIELDS = ("name", "event_name", "start_date", "end_date", "attribution_window")
USUAL_DAYS = 90
COMPARED = ("last_touch", "linear", *FITTED_MODELS)
"""The models that a fit's page leads to."""
CSV_COLUMNS = ("model", "source", "weight", "low", "high")


async def show_fits(request: Request) -> Response:
    """Show all fits, and the form for another."""
    visitor = await require_visitor(request)
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor)
        return await _page(request, connection, inside, _usual(inside.space))


async def post_fit(request: Request) -> Response:
    """Make a fit, and show it."""
    visitor = await require_visitor(request)
    form, database = await read_form(request, visitor.form_key, FORM), services(request).database
    async with database.connection() as connection:
        inside = await enter(connection, request, visitor, Permission.WRITE_DATA)
    try:
        wanted = _read_form(form, inside.space)
        async with database.transaction(MAKING_SECONDS) as connection:
            fit = await make_fit(connection, inside.space.id, wanted.name, wanted.request)
    except Invalid as error:
        typed = {name: form.text(name) for name in FIELDS}
        async with database.connection() as connection:
            return await _page(request, connection, inside, typed, error.errors)
    return redirect(request, f"{_path(inside)}/{fit.id}", FlashMessage.FIT_MADE)


async def show_fit(request: Request) -> Response:
    """Show one fit with its weights."""
    inside, fit, weights = await _load(request)
    return render(
        request,
        "fit.html",
        fit=fit,
        here=_path(inside),
        title=_title(inside.space, fit),
        models={model: [each for each in weights if each.model == model] for model in FITTED_MODELS},
        model_title=model_title,
        source_title=title_of,
        window_title=window_title,
        compared=ReportView(fit=fit.name).link(f"{HOME}/spaces/{inside.space.id}/models", models=COMPARED),
    )


async def send_weights(request: Request) -> Response:
    """The weights of a fit as CSV."""
    _, fit, weights = await _load(request)
    table = CsvTable(CSV_COLUMNS)
    for each in weights:
        figures = (f"{figure:f}" for figure in (each.weight, each.low, each.high))
        table.add([each.model, each.source, *figures])
    headers = {"Content-Disposition": f'attachment; filename="fit-{fit.id}.csv"'}
    return Response(table.content(), 200, headers, "text/csv; charset=utf-8")


async def post_choice(request: Request) -> Response:
    """Make a fit the current one of its event name."""
    visitor = await require_visitor(request)
    await read_form(request, visitor.form_key, FORM)
    fit_id = parse_id("fit_id", request.path_params["fit_id"])
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor, Permission.WRITE_DATA)
        await choose_fit(connection, inside.space.id, fit_id)
    return redirect(request, f"{_path(inside)}/{fit_id}", FlashMessage.FIT_CHOSEN)


async def _load(request: Request) -> tuple[SpaceVisitor, Fit, Sequence[FittedWeight]]:
    """Return the visitor, the fit of the path and its weights. Raises NotFound."""
    visitor = await require_visitor(request)
    fit_id = parse_id("fit_id", request.path_params["fit_id"])
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor)
        fit = await fetch_fit(connection, inside.space.id, fit_id)
        return inside, fit, await fetch_weights(connection, inside.space.id, fit_id)


def _read_form(form: PostedForm, space: Space) -> NamedRequest:
    """Return the fit that a form asks for, by the rules of the API. Raises Invalid."""
    values: dict[str, Any] = {name: form.text(name) for name in FIELDS}
    return read_fit_request(values, space)


async def _page(
    request: Request,
    connection: AsyncConnection,
    inside: SpaceVisitor,
    typed: Mapping[str, str],
    errors: Errors | None = None,
) -> Response:
    space = inside.space
    fits = await list_fits(connection, space.id)
    monthly = await list_monthly(connection, space.id)
    return render(
        request,
        "fits.html",
        status=422 if errors else 200,
        typed=typed,
        errors=errors or {},
        fits=[(fit, _title(space, fit)) for fit in fits],
        here=_path(inside),
        monthly=[(each, conversion_title(space, each.event_name)) for each in monthly],
        fewest=FEWEST_CONVERSIONS,
        window_title=window_title,
        events={
            name: conversion_title(space, name)
            for name in EVENT_NAMES
            if not name.startswith("custom_event_") or name in space.event_labels
        },
        windows={str(days): window_title(str(days)) for days in WINDOWS},
    )


def _usual(space: Space) -> dict[str, str]:
    """Return what the form has at first: sales of the last days."""
    today = datetime.now(UTC).astimezone(space.zone).date()
    return {
        "event_name": "purchase",
        "start_date": f"{today - timedelta(days=USUAL_DAYS)}",
        "end_date": f"{today - timedelta(days=1)}",
        "attribution_window": str(USUAL_WINDOW),
        "name": f"purchase {today:%Y-%m}",
    }


def _title(space: Space, fit: Fit) -> tuple[str, str]:
    """Return what people call the events of a fit, and its days on the Space's clock."""
    last = (fit.end_at - timedelta(seconds=1)).astimezone(space.zone).date()
    days = f"{fit.start_at.astimezone(space.zone).date()} to {last}"
    return conversion_title(space, fit.event_name), days


def _path(inside: SpaceVisitor) -> str:
    return f"{HOME}/spaces/{inside.space.id}/fits"


_PATH = f"{HOME}/spaces/{{space_id}}/fits"
ROUTES = [
    Route(_PATH, show_fits, methods=["GET"]),
    Route(f"{_PATH}/make", post_fit, methods=["POST"]),
    Route(f"{_PATH}/{{fit_id}}", show_fit, methods=["GET"]),
    Route(f"{_PATH}/{{fit_id}}/weights.csv", send_weights, methods=["GET"]),
    Route(f"{_PATH}/{{fit_id}}/choose", post_choice, methods=["POST"]),
]
