"""The page of a Space's settings: those that its members look after. The subscription and the
rate limits are the operator's, at a terminal; hosts that are no source are on the page of sources.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.console.flash import FlashMessage
from headwater.console.forms import read_form, without_keys
from headwater.console.link_pages.source_changes import HOST_LISTS
from headwater.console.pages import redirect, render
from headwater.console.visitor import HOME, enter, require_visitor
from headwater.endpoints.services import services
from headwater.http.errors import Errors, Invalid
from headwater.spaces.accounts.roles import Permission
from headwater.spaces.custom_fields import SLOT_NAMES
from headwater.spaces.models import Space
from headwater.spaces.settings_input import CUSTOM_EVENTS, SETTINGS, read_changes, zone_names
from headwater.spaces.spaces import change_space

OPERATORS = ("subscription",)
OFFERED = tuple(key for key in SETTINGS if key not in (*OPERATORS, *HOST_LISTS))


def as_typed(space: Space) -> dict[str, str]:
    """The values of the page's fields: every setting as a person would type it."""
    typed = {key: _text(getattr(space, key)) for key in OFFERED}
    typed |= {f"event_label.{slot}": space.event_labels.get(slot, "") for slot in CUSTOM_EVENTS}
    typed |= {f"field_label.{slot}": space.field_labels.get(slot, "") for slot in SLOT_NAMES}
    return typed


async def show_settings(request: Request) -> Response:
    """Show the settings."""
    visitor = await require_visitor(request)
    async with services(request).database.connection() as connection:
        inside = await enter(connection, request, visitor)
    return _page(request, as_typed(inside.space), {})


async def post_settings(request: Request) -> Response:
    """Change the settings that were changed on the page, all or none."""
    visitor = await require_visitor(request)
    form = await read_form(request, visitor.form_key, "settings")
    async with services(request).database.transaction() as connection:
        inside = await enter(connection, request, visitor, Permission.CHANGE_SETTINGS)
        before = as_typed(inside.space)
        typed = {key: value.strip() for key, value in form.pairs if key in before}
        changed = {key: value for key, value in typed.items() if value != before[key]}
        try:
            changes = read_changes(changed)
        except Invalid as error:
            errors = without_keys(error.errors)
            return _page(request, before | typed, errors, status=422)
        if changed:
            await change_space(connection, inside.space.id, changes)
    message = FlashMessage.SETTINGS_SAVED if changed else FlashMessage.NOTHING_CHANGED
    return redirect(request, f"{HOME}/spaces/{inside.space.id}/settings", message)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))  # type: ignore[reportUnknownArgumentType]
    if isinstance(value, Decimal):
        return f"{value:f}"
    return "" if value is None else str(value)


def _page(request: Request, typed: dict[str, str], errors: Errors, status: int = 200) -> Response:
    return render(
        request,
        "settings.html",
        status=status,
        typed=typed,
        errors=errors,
        zones=sorted(zone_names()),
        custom_events=CUSTOM_EVENTS,
        profile_fields=SLOT_NAMES,
    )


_PATH = f"{HOME}/spaces/{{space_id}}/settings"
ROUTES = [Route(_PATH, show_settings, methods=["GET"]), Route(_PATH, post_settings, methods=["POST"])]
