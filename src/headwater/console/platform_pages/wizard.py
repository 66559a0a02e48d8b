"""Connecting an ad platform, and changing what is connected: its account, its events, its test.

A new destination is paused until somebody starts it, so that nothing is sent before it was tested.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from psycopg import AsyncConnection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.flash import FlashMessage
from headwater.console.forms import once_token, read_form, read_form_once, spend
from headwater.console.pages import hidden_token, redirect, render
from headwater.console.platform_pages import destination_state as standing
from headwater.console.platform_pages.event_names_form import name_fields, read_names
from headwater.console.platform_pages.settings_form import (
    FieldGroup,
    read_secrets,
    read_settings,
    secret_fields,
    setting_fields,
    worded,
)
from headwater.console.visitor import HOME, SpaceVisitor, enter, read_id, require_visitor
from headwater.endpoints.services import services
from headwater.forwarding.destinations import destinations
from headwater.forwarding.destinations.destination_check import check_destination
from headwater.forwarding.destinations.destinations import DestinationRow
from headwater.forwarding.destinations.event_names import effective, warnings
from headwater.forwarding.destinations.inputs import read_new
from headwater.forwarding.platforms.platform import Platform
from headwater.forwarding.platforms.registry import PLATFORMS
from headwater.http.errors import Errors, Invalid, NotFound
from headwater.spaces.accounts.roles import Permission

CONNECTING = "connecting"
"""The parameter of addresses that says that the page is a step of connecting."""
FORM = "destination"


@dataclass(frozen=True)
class Typed:
    """Contents of the form of an account."""

    name: str
    settings: dict[str, Any]
    errors: Errors


def base_of(inside: SpaceVisitor) -> str:
    """Return the path of the Space's ad platforms."""
    return f"{HOME}/spaces/{inside.space.id}/platforms"


async def enter_destination(
    connection: AsyncConnection, request: Request, permission: Permission = Permission.READ
) -> tuple[SpaceVisitor, DestinationRow]:
    """Return the visitor in the Space of the path, and the destination that it names. Raises as
    `enter` does, and NotFound.
    """
    inside = await enter(connection, request, await require_visitor(request), permission)
    destination_id = read_id(request, "destination_id")
    row = await destinations.fetch_destination(connection, inside.space.id, destination_id, most_counted=0)
    return inside, row


def known_platform(row: DestinationRow) -> Platform:
    """Return a destination's platform. Raises NotFound for one that this version does not know."""
    platform = standing.platform_of(row)
    if platform is None:
        raise NotFound("Page")
    return platform


def _is_account(group: FieldGroup) -> bool:
    return group is not FieldGroup.CONDITION


def _is_condition(group: FieldGroup) -> bool:
    return group is FieldGroup.CONDITION


def _is_step(request: Request) -> bool:
    return CONNECTING in request.query_params


# ------------------------------------------------------------------------------------- account


async def show_new(request: Request) -> Response:
    """Show the form of a new destination."""
    visitor = await require_visitor(request)
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor, Permission.CHANGE_SETTINGS)
    platform = _named_platform(request)
    return _account_page(request, inside, platform, Typed(platform.title, {}, {}))


async def post_new(request: Request) -> Response:
    """Create a destination, which is paused at first."""
    visitor = await require_visitor(request)
    form = await read_form_once(request, visitor.form_key, FORM)
    platform, shared = _named_platform(request), services(request)
    settings = read_settings(form, platform, {}, _is_account)
    body: dict[str, Any] = {
        "platform": platform.name,
        "name": form.text("name"),
        "settings": settings,
        "secrets": read_secrets(form, platform),
    }
    async with shared.database.transaction() as connection:
        inside = await enter(connection, request, visitor, Permission.CHANGE_SETTINGS)
        try:
            new = read_new(body, as_text=True)
            row = await destinations.create_destination(connection, inside.space.id, new, shared.sealing_key)
        except Invalid as error:
            typed = Typed(form.text("name"), settings, error.errors)
            return _account_page(request, inside, platform, typed)
        await destinations.pause_destination(connection, inside.space.id, row.id)
        await spend(connection, form)
    return redirect(request, f"{base_of(inside)}/{row.id}/events?{CONNECTING}")


async def show_account(request: Request) -> Response:
    """Show the form of a destination's account."""
    async with services(request).database.connection() as connection:
        inside, row = await enter_destination(connection, request, Permission.CHANGE_SETTINGS)
    return _account_page(request, inside, known_platform(row), Typed(row.name, row.settings, {}), row)


async def post_account(request: Request) -> Response:
    """Change a destination's name, settings and tokens; a token that is left empty stays."""
    visitor = await require_visitor(request)
    form = await read_form(request, visitor.form_key, FORM)
    shared = services(request)
    async with shared.database.transaction() as connection:
        inside, row = await enter_destination(connection, request, Permission.CHANGE_SETTINGS)
        platform = known_platform(row)
        settings = read_settings(form, platform, row.settings, _is_account)
        body: dict[str, Any] = {"name": form.text("name")}
        if _differ(settings, row.settings):
            body["settings"] = settings
        if secrets := read_secrets(form, platform):
            body["secrets"] = secrets
        try:
            await destinations.change_destination(
                connection, inside.space.id, row.id, body, shared.sealing_key, as_text=True
            )
        except Invalid as error:
            typed = Typed(form.text("name"), settings, error.errors)
            return _account_page(request, inside, platform, typed, row)
    return _next(request, inside, row, "events", FlashMessage.SETTINGS_SAVED)


def _differ(settings: dict[str, Any], stored: dict[str, Any]) -> bool:
    """Return whether settings as they were typed differ from those that are stored: what is the
    same is not changed, as that would forget the last test.
    """
    return any(
        str("" if value is None else value) != str("" if stored.get(name) is None else stored[name])
        for name, value in settings.items()
    )


def _named_platform(request: Request) -> Platform:
    try:
        return PLATFORMS[request.path_params["platform"]]
    except KeyError:
        raise NotFound("Page") from None


def _account_page(
    request: Request,
    inside: SpaceVisitor,
    platform: Platform,
    typed: Typed,
    row: DestinationRow | None = None,
) -> Response:
    fields = setting_fields(platform, typed.settings)
    key = inside.visitor.form_key
    return render(
        request,
        "platform_account.html",
        status=422 if typed.errors else 200,
        platform=platform,
        row=row,
        name=typed.name,
        errors=worded(typed.errors),
        needed=[field for field in fields if field.group is FieldGroup.ACCOUNT],
        advanced=[field for field in fields if field.group is FieldGroup.ADVANCED],
        secrets=secret_fields(platform),
        base=base_of(inside),
        is_step=row is None or _is_step(request),
        connecting=CONNECTING,
        once=hidden_token(once_token(key, FORM)) if row is None else None,
    )


# -------------------------------------------------------------------------------------- events


async def show_events(request: Request) -> Response:
    """Show which events a destination gets, under which names and conditions."""
    async with services(request).database.connection() as connection:
        inside, row = await enter_destination(connection, request, Permission.CHANGE_SETTINGS)
    return _events_page(request, inside, row, {})


async def post_events(request: Request) -> Response:
    """Change the names of events, and the conditions under which they are sent."""
    visitor = await require_visitor(request)
    form = await read_form(request, visitor.form_key, FORM)
    shared = services(request)
    async with shared.database.transaction() as connection:
        inside, row = await enter_destination(connection, request, Permission.CHANGE_SETTINGS)
        platform, labels = known_platform(row), inside.space.event_labels
        names = read_names(form, platform, row.event_names, labels)
        settings = read_settings(form, platform, row.settings, _is_condition)
        all_events = form.text("all_events") == "yes"
        body: dict[str, Any] = {"all_events": all_events}
        if names != row.event_names:
            body["event_names"] = names
        if _differ(settings, row.settings):
            body["settings"] = settings
        try:
            await destinations.change_destination(
                connection, inside.space.id, row.id, body, shared.sealing_key, as_text=True
            )
        except Invalid as error:
            typed = replace(row, event_names=names, settings=settings, all_events=all_events)
            return _events_page(request, inside, typed, error.errors)
    return _next(request, inside, row, "test", FlashMessage.SETTINGS_SAVED)


def _events_page(request: Request, inside: SpaceVisitor, row: DestinationRow, errors: Errors) -> Response:
    platform, labels = known_platform(row), inside.space.event_labels
    fields = setting_fields(platform, row.settings)
    return render(
        request,
        "platform_events.html",
        status=422 if errors else 200,
        platform=platform,
        row=row,
        names=name_fields(platform, row.event_names, labels),
        errors=worded(errors),
        warnings=warnings(platform, effective(platform, row.event_names, labels)),
        conditions=[field for field in fields if field.group is FieldGroup.CONDITION],
        base=base_of(inside),
        is_step=_is_step(request),
        connecting=CONNECTING,
    )


# ---------------------------------------------------------------------------------------- test


async def show_test(request: Request) -> Response:
    """Show how the last test went, and offer another."""
    async with services(request).database.connection() as connection:
        inside, row = await enter_destination(connection, request, Permission.CHANGE_SETTINGS)
    platform = known_platform(row)
    lacks_code = platform.test_code is not None and not row.settings.get(platform.test_code)
    return render(
        request,
        "platform_test.html",
        platform=platform,
        row=row,
        base=base_of(inside),
        lacks_code=lacks_code,
        moment=datetime.fromisoformat,
        is_step=_is_step(request),
        connecting=CONNECTING,
    )


async def post_test(request: Request) -> Response:
    """Send a made-up event that does not count, and show how that went."""
    visitor = await require_visitor(request)
    await read_form(request, visitor.form_key, FORM)
    shared = services(request)
    async with shared.database.connection() as connection:
        inside, row = await enter_destination(connection, request, Permission.CHANGE_SETTINGS)
    try:
        await check_destination(
            shared.database.transaction,
            shared.egress,
            (inside.space.id, row.id),
            shared.settings,
            shared.sealing_key,
        )
    except Invalid:  # its tokens cannot be opened any more
        return redirect(request, f"{base_of(inside)}/{row.id}/settings", FlashMessage.TOKENS_UNREADABLE)
    step = f"?{CONNECTING}" if _is_step(request) else ""
    return redirect(request, f"{base_of(inside)}/{row.id}/test{step}")


def _next(
    request: Request, inside: SpaceVisitor, row: DestinationRow, step: str, message: FlashMessage
) -> Response:
    """Lead on to the next step of connecting, or back to the destination."""
    place = f"{base_of(inside)}/{row.id}"
    if _is_step(request):
        return redirect(request, f"{place}/{step}?{CONNECTING}")
    return redirect(request, place, message)


_PATH = f"{HOME}/spaces/{{space_id}}/platforms"
ROUTES = [
    Route(f"{_PATH}/connect/{{platform}}", show_new, methods=["GET"]),
    Route(f"{_PATH}/connect/{{platform}}", post_new, methods=["POST"]),
    Route(f"{_PATH}/{{destination_id}}/settings", show_account, methods=["GET"]),
    Route(f"{_PATH}/{{destination_id}}/settings", post_account, methods=["POST"]),
    Route(f"{_PATH}/{{destination_id}}/events", show_events, methods=["GET"]),
    Route(f"{_PATH}/{{destination_id}}/events", post_events, methods=["POST"]),
    Route(f"{_PATH}/{{destination_id}}/test", show_test, methods=["GET"]),
    Route(f"{_PATH}/{{destination_id}}/test", post_test, methods=["POST"]),
]
