"""Train models, show weights with intervals, and select an event name's current model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

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
from headwater.console.forms import PostedForm
from headwater.console.report_pages.bar import conversion_title, model_title, window_title
from headwater.console.report_pages.view import ReportView
from headwater.console.visits import PageVisit, SentForm, SpacePages, open_visit, read_sent_form
from headwater.events.accepted import EVENT_NAMES
from headwater.http.csv_table import CsvTable
from headwater.http.errors import Errors, Invalid
from headwater.sources.titles import format_title
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.models import Space

ROUTES = SpacePages("/fits")
_FORM = SentForm("fit", Permission.WRITE_DATA)
FIELDS = ("name", "event_name", "start_date", "end_date", "attribution_window")
USUAL_DAYS = 90
COMPARED = ("last_touch", "linear", *FITTED_MODELS)
CSV_COLUMNS = ("model", "source", "weight", "low", "high")


@ROUTES.page()
async def show_fits(visit: PageVisit) -> Response:
    return await _page(visit, _form_defaults(visit.space), {})


async def post_fit(request: Request) -> Response:
    """Train a model in a long transaction of its own."""
    form = await read_sent_form(request, _FORM)
    async with open_visit(request, _FORM, form) as visit:
        database = visit.services.database
    try:
        fit_request = _read_form(form, visit.space)
        async with database.transaction(MAKING_SECONDS) as connection:
            fit = await make_fit(connection, visit.space.id, fit_request.name, fit_request.request)
    except Invalid as error:
        async with open_visit(request, _FORM, form) as visit:
            return await _page(visit, visit.typed(*FIELDS), error.errors)
    return visit.redirect(f"/fits/{fit.id}", FlashMessage.FIT_MADE)


ROUTES.add("/make", post_fit, "POST")


@ROUTES.page("/{fit_id}")
async def show_fit(visit: PageVisit) -> Response:
    fit, weights = await _load(visit)
    models = {model: [row for row in weights if row.model == model] for model in FITTED_MODELS}
    values: dict[str, Any] = {
        "fit": fit,
        "here": visit.path("/fits"),
        "title": _title(visit.space, fit),
        "models": models,
        "model_title": model_title,
        "source_title": format_title,
        "window_title": window_title,
        "compared": ReportView(fit=fit.name).link(visit.path("/models"), models=COMPARED),
    }
    return visit.render("fit.html", values)


@ROUTES.page("/{fit_id}/weights.csv")
async def send_weights(visit: PageVisit) -> Response:
    fit, weights = await _load(visit)
    table = CsvTable(CSV_COLUMNS)
    for row in weights:
        table.add([row.model, row.source, *(f"{figure:f}" for figure in (row.weight, row.low, row.high))])
    headers = {"Content-Disposition": f'attachment; filename="fit-{fit.id}.csv"'}
    return Response(table.content(), 200, headers, "text/csv; charset=utf-8")


@ROUTES.action("/{fit_id}/choose", _FORM)
async def post_choice(visit: PageVisit) -> Response:
    fit_id = visit.id("fit_id")
    await choose_fit(visit.connection, visit.space.id, fit_id)
    return visit.redirect(f"/fits/{fit_id}", FlashMessage.FIT_CHOSEN)


async def _load(visit: PageVisit) -> tuple[Fit, Sequence[FittedWeight]]:
    """Raise NotFound if missing."""
    fit_id = visit.id("fit_id")
    fit = await fetch_fit(visit.connection, visit.space.id, fit_id)
    return fit, await fetch_weights(visit.connection, visit.space.id, fit_id)


def _read_form(form: PostedForm, space: Space) -> NamedRequest:
    """Validate like the API. Raise Invalid."""
    values: dict[str, Any] = {name: form.text(name) for name in FIELDS}
    return read_fit_request(values, space)


async def _page(visit: PageVisit, typed: Mapping[str, str], errors: Errors) -> Response:
    connection, space = visit.connection, visit.space
    fits = await list_fits(connection, space.id)
    monthly = await list_monthly(connection, space.id)
    values: dict[str, Any] = {
        "typed": typed,
        "errors": errors,
        "fits": [(fit, _title(space, fit)) for fit in fits],
        "here": visit.path("/fits"),
        "monthly": [(fit, conversion_title(space, fit.event_name)) for fit in monthly],
        "fewest": FEWEST_CONVERSIONS,
        "window_title": window_title,
        "events": {
            name: conversion_title(space, name)
            for name in EVENT_NAMES
            if not name.startswith("custom_event_") or name in space.event_labels
        },
        "windows": {str(days): window_title(str(days)) for days in WINDOWS},
    }
    return visit.render("fits.html", values, 422 if errors else 200)


def _form_defaults(space: Space) -> dict[str, str]:
    today = datetime.now(UTC).astimezone(space.zone).date()
    return {
        "event_name": "purchase",
        "start_date": f"{today - timedelta(days=USUAL_DAYS)}",
        "end_date": f"{today - timedelta(days=1)}",
        "attribution_window": str(USUAL_WINDOW),
        "name": f"purchase {today:%Y-%m}",
    }


def _title(space: Space, fit: Fit) -> tuple[str, str]:
    """Return the events' label, and the days in the Space's time zone."""
    last = (fit.end_at - timedelta(seconds=1)).astimezone(space.zone).date()
    days = f"{fit.start_at.astimezone(space.zone).date()} to {last}"
    return conversion_title(space, fit.event_name), days
